//! Base64 with padding (RFC 4648): data URLs of requests, and attachments that clients send.
//!
//! The decoder is strict: no white space, no missing padding, no stray bits behind the last byte. A text
//! that would decode to more bytes than are taken is refused before any of it is decoded.

use crate::content::AttachmentError;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Adds the base64 of bytes to a text.
pub fn push(text: &mut String, bytes: &[u8]) {
    text.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
}

/// Returns the bytes of the base64 of an attachment, which has at most `most` bytes; `name` is what
/// errors call it.
pub fn decode(name: &str, text: &str, most: u64) -> Result<Vec<u8>, AttachmentError> {
    let wrong = |why: &'static str| AttachmentError::Base64 {
        name: name.to_owned(),
        why,
    };
    if !text.len().is_multiple_of(4) {
        return Err(wrong("its length is not a multiple of four"));
    }
    let letters = text.trim_end_matches('=').len();
    let padding = text.len() - letters;
    if padding > 2 {
        return Err(wrong("it has more than two signs of padding"));
    }
    let length = text.len() / 4 * 3 - padding;
    if length as u64 > most {
        return Err(AttachmentError::TooLarge {
            name: name.to_owned(),
            bytes: length as u64,
            most,
        });
    }
    let mut bytes = Vec::with_capacity(length);
    for chunk in text.as_bytes()[..letters].chunks(4) {
        let mut bits = 0;
        for letter in chunk {
            let value =
                value(*letter).ok_or_else(|| wrong("it has a letter that is not base64"))?;
            bits = bits << 6 | value;
        }
        let spare = 4 - chunk.len();
        bits <<= 6 * spare;
        let whole = bits.to_be_bytes();
        bytes.extend_from_slice(&whole[1..4 - spare]);
        if whole[4 - spare..].iter().any(|byte| *byte != 0) {
            return Err(wrong("it has bits behind its last byte"));
        }
    }
    Ok(bytes)
}

/// Returns the six bits of a letter.
fn value(letter: u8) -> Option<u32> {
    let (first, before) = match letter {
        b'A'..=b'Z' => (b'A', 0),
        b'a'..=b'z' => (b'a', 26),
        b'0'..=b'9' => (b'0', 52),
        b'+' => return Some(62),
        b'/' => return Some(63),
        _ => return None,
    };
    Some(u32::from(letter - first) + before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bytes: &[u8]) -> String {
        let mut text = String::new();
        push(&mut text, bytes);
        text
    }

    #[test]
    fn the_examples_of_rfc_4648_come_out_and_go_back() {
        for (bytes, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encoded(bytes.as_bytes()), expected);
            assert_eq!(decode("a", expected, 6), Ok(bytes.into()));
        }
        assert_eq!(encoded(&[0xff, 0xef, 0xbe]), "/+++");
    }

    #[test]
    fn every_pair_of_bytes_goes_back() {
        for pair in 0..=u16::MAX {
            let bytes = pair.to_be_bytes();
            assert_eq!(decode("a", &encoded(&bytes), 2), Ok(bytes.into()));
        }
    }

    #[test]
    fn a_text_that_is_not_base64_is_refused() {
        let bad = [
            "Z", "Zg", "Zg=", "Z===", "====", "Zm9vZ===", "Zg==Zg==", "Zm=v", "=m9v", "Zm9\n",
            " Zm9", "Zm9-", "Zm9_", "Zm9é", "Zh==", "Zm9=",
        ];
        for text in bad {
            let refused = decode("picture", text, 100);
            let is_typed =
                matches!(&refused, Err(AttachmentError::Base64 { name, .. }) if name == "picture");
            assert!(is_typed, "{text:?}: {refused:?}");
        }
    }

    #[test]
    fn a_text_of_too_many_bytes_is_refused_before_it_is_decoded() {
        let too_large = |bytes, most| {
            let name = "a".to_owned();
            Err(AttachmentError::TooLarge { name, bytes, most })
        };
        assert_eq!(decode("a", "Zm9v", 2), too_large(3, 2));
        assert_eq!(decode("a", "Zm8=", 2), Ok(b"fo".to_vec()));
        assert_eq!(decode("a", "Zm9vYg==", 3), too_large(4, 3));
        // Nothing of it is base64: its length decides first.
        assert_eq!(decode("a", "????????", 5), too_large(6, 5));
    }
}
