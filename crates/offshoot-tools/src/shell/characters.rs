//! Text from bytes that arrive in pieces.
//!
//! A command may write half a character now and the rest later, and may write
//! what is no text at all. No piece of text that leaves here ends within a
//! character; what is none becomes a replacement character.

/// Makes text of pieces; keeps the beginning of a character until its end arrives.
#[derive(Default)]
pub(super) struct Decoder {
    begun: Vec<u8>,
}

impl Decoder {
    pub(super) fn push(&mut self, piece: &[u8]) -> String {
        self.begun.extend_from_slice(piece);
        let whole = whole_characters(&self.begun);
        let text = String::from_utf8_lossy(&self.begun[..whole]).into_owned();
        self.begun.drain(..whole);
        text
    }

    /// Gives up on a character that does not go on.
    pub(super) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.begun)).into_owned()
    }
}

/// Returns how much is left without a character at the end that is not whole.
pub(super) fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let width = match bytes[at] {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if width > back { at } else { bytes.len() };
    }
    bytes.len()
}

/// Returns where the first character begins, behind the end of one that was cut.
pub(super) fn first_character(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(3)
        .take_while(|byte| matches!(byte, 0x80..=0xbf))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_same_however_it_is_cut() {
        let text = "aä€😀\u{fffd}z";
        for width in 1..=text.len() {
            let mut decoder = Decoder::default();
            let pieces = text.as_bytes().chunks(width);
            let mut decoded: String = pieces.map(|piece| decoder.push(piece)).collect();
            decoded += &decoder.finish();
            assert_eq!(decoded, text, "cut into pieces of {width}");
        }
    }

    #[test]
    fn what_is_no_text_is_not_waited_for() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"\xff\xbf"), "\u{fffd}\u{fffd}");
        assert_eq!(decoder.push(b"\xe2\x82"), "");
        assert_eq!(decoder.push(b"x"), "\u{fffd}x");
        assert_eq!(decoder.push(b"\xf0\x9f"), "");
        assert_eq!(decoder.finish(), "\u{fffd}");
    }

    #[test]
    fn a_cut_falls_between_characters() {
        let bytes = "x€".as_bytes();
        assert_eq!(whole_characters(bytes), 4);
        assert_eq!(whole_characters(&bytes[..3]), 1);
        assert_eq!(whole_characters(&bytes[..2]), 1);
        assert_eq!(whole_characters(b"\x80\x80\x80\x80"), 4);
        assert_eq!(first_character(&bytes[2..]), 2);
        assert_eq!(first_character(bytes), 0);
    }
}
