//! How content is put together, stored and described.

use super::*;

fn attached(name: Option<&str>) -> Attached {
    Attached {
        digest: Digest::new("ab".repeat(32)).unwrap(),
        media_type: "image/png".to_owned(),
        bytes: 12 * 1024,
        name: name.map(str::to_owned),
        uri: None,
    }
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn stored(content: &Content) -> String {
    let line = serde_json::to_string(content).unwrap();
    assert_eq!(serde_json::from_str::<Content>(&line).unwrap(), *content);
    line
}

#[test]
fn text_alone_is_stored_as_it_was_before_there_were_parts() {
    for words in ["look at it", "", "two\nlines", "\u{1f331}"] {
        let content = Content::from(words);
        assert_eq!(stored(&content), serde_json::to_string(words).unwrap());
        assert_eq!(Content::new([text(words)]), content);
    }
    let joined = Content::new([text("one"), text(""), text("two")]);
    assert_eq!(stored(&joined), r#""one\ntwo""#);
}

#[test]
fn other_parts_are_stored_in_their_order() {
    let content = Content::new([
        text("look at"),
        Part::Image(attached(Some("shot.png"))),
        text("and fix it"),
        Part::FileReference(FileReference {
            path: "src/lib.rs".to_owned(),
            media_type: None,
        }),
    ]);
    let line = stored(&content);
    let digest = "ab".repeat(32);
    assert_eq!(
        line,
        format!(
            r#"[{{"text":"look at"}},{{"image":{{"digest":"{digest}","media_type":"image/png","bytes":12288,"name":"shot.png"}}}},{{"text":"and fix it"}},{{"file_reference":{{"path":"src/lib.rs"}}}}]"#
        )
    );
    assert_eq!(content.as_str(), "look at\nand fix it");
    assert_eq!(content.attachments().count(), 2);
    assert_eq!(content.blobs().count(), 1);
    assert!(!Content::new([Part::Image(attached(None))]).is_empty());
}

#[test]
fn what_no_content_could_be_is_not_read() {
    for line in [
        "1",
        "null",
        "[]x",
        r#"[{"text":""}]"#,
        r#"[{"text":"a"},{"text":"b"}]"#,
        r#"[{"film":{}}]"#,
        r#"[{"image":{"digest":"../x","media_type":"image/png","bytes":1}}]"#,
    ] {
        assert!(serde_json::from_str::<Content>(line).is_err(), "{line}");
    }
}

#[test]
fn a_note_stands_for_a_part_that_cannot_be_shown() {
    let named = Part::Image(attached(Some("a\nb.png")));
    assert_eq!(named.note(), "[image: a b.png, image/png, 12 KiB]");
    assert_eq!(
        Part::File(attached(None)).note(),
        "[file: image/png, 12 KiB]"
    );
    let link = Part::ResourceLink(ResourceLink {
        uri: "https://x.example/1".to_owned(),
        name: "1".to_owned(),
        title: Some("Ticket 1".to_owned()),
        description: None,
        media_type: None,
        bytes: Some(10),
    });
    assert_eq!(
        link.note(),
        "[link: Ticket 1, https://x.example/1, 10 bytes]"
    );
    let content = Content::new([text("see"), link, text("now")]);
    assert_eq!(
        content.described(),
        "see\n[link: Ticket 1, https://x.example/1, 10 bytes]\nnow"
    );
}

#[test]
fn text_that_is_added_stands_at_the_end() {
    let mut content = Content::from("one");
    content.push_text("two");
    assert_eq!(content, "one\ntwo");
    content.push(Part::Image(attached(None)));
    content.push_text("three");
    content.push_text("four");
    assert_eq!(content.parts().len(), 3);
    assert_eq!(content.parts()[2], text("three\nfour"));
    assert_eq!(content.as_str(), "one\ntwo\nthree\nfour");
    stored(&content);
}

#[test]
fn sizes_are_shown_as_people_read_them() {
    let check = |bytes, expected: &str| assert_eq!(size(bytes), expected);
    check(0, "0 bytes");
    check(1023, "1023 bytes");
    check(1024, "1.0 KiB");
    check(12 * 1024, "12 KiB");
    check(1024 * 1024 - 1, "1.0 MiB");
    check(10 * 1024 * 1024, "10 MiB");
    check(u64::MAX, "16777216 TiB");
}

#[test]
fn a_picture_is_known_by_its_bytes() {
    let check = |bytes: &[u8], expected| assert_eq!(image_type(bytes), expected);
    check(b"\x89PNG\r\n\x1a\n\0", Some("image/png"));
    check(b"\xff\xd8\xff\xe0", Some("image/jpeg"));
    check(b"GIF89a", Some("image/gif"));
    check(b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp"));
    check(b"RIFF\0\0\0\0WAVE", None);
    check(b"<svg/>", None);
    check(b"\x89PN", None);
    check(b"", None);
}
