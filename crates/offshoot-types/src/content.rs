//! Content: text, and what goes with it.
//!
//! A list of parts: text, images, files, links. Bytes are never part of it: an image
//! or a file names a blob of its session by digest, and `Sidecars` has the bytes.
//! Content that is only text is stored as a string, as it was before there were other
//! parts; anything else is stored as a list. Read as a `str`, content is its text, so
//! code that needs no more than that takes it for one.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A message's content: a list of parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// All of its text parts, joined by newlines.
    text: String,
    /// Empty if it is only text. Otherwise all parts: at least one is no text, no text is empty, and
    /// no two texts stand side by side.
    parts: Vec<Part>,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text(String),
    /// A picture, whose bytes are a blob of the session.
    Image(Attached),
    /// A file, whose bytes are a blob of the session.
    File(Attached),
    /// A file that stays where it is: its bytes are not kept.
    FileReference(FileReference),
    /// Something that is found by its address.
    ResourceLink(ResourceLink),
}

/// Something whose bytes are a blob of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Names the blob.
    pub digest: Digest,
    /// What the bytes are, such as `image/png`.
    pub media_type: String,
    /// How many bytes there are.
    pub bytes: u64,
    /// What people call it, such as the name of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where the client has it from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

/// A file that stays where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReference {
    /// Where it is: from the workspace, or absolute.
    pub path: String,
    /// What it is, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

/// Something that is found by its address. The fields are those of MCP and ACP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLink {
    /// The address.
    pub uri: String,
    /// What it is called by programs.
    pub name: String,
    /// What it is called by people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is about, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it is, such as `text/plain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// How many bytes it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// The SHA-256 of a blob: 64 hexadecimal digits in lower case, so it is a safe name of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest(String);

/// What is wrong with an attachment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttachmentError {
    /// One attachment has more bytes than are taken.
    #[error("{name} has {bytes} bytes; an attachment has at most {most}")]
    TooLarge {
        /// Which.
        name: String,
        /// How many it has.
        bytes: u64,
        /// How many are taken.
        most: u64,
    },
    /// The attachments of one message have more bytes than are taken.
    #[error("the attachments of the message have {bytes} bytes; together at most {most} are taken")]
    MessageTooLarge {
        /// How many they have.
        bytes: u64,
        /// How many are taken.
        most: u64,
    },
    /// A message has more attachments than are taken.
    #[error("the message has {count} attachments; at most {most} are taken")]
    TooMany {
        /// How many it has.
        count: usize,
        /// How many are taken.
        most: usize,
    },
    /// The blobs of the session would have more bytes than are kept.
    #[error(
        "the attachments of the session would have more than {most} bytes; remove sessions or open a new one"
    )]
    SessionFull {
        /// How many are kept.
        most: u64,
    },
    /// The session has no blob of that digest.
    #[error("the session has no attachment {0}; store its bytes before the prompt that names it")]
    Missing(Digest),
    /// The bytes of a blob are not those that its digest names.
    #[error("the bytes of attachment {0} were changed")]
    Damaged(Digest),
    /// What is said of an attachment is not what its bytes are.
    #[error("{name} is said to be {said}; it is not")]
    Mismatch {
        /// Which.
        name: String,
        /// What it is said to be.
        said: String,
    },
    /// What a client sent as the base64 of an attachment is not base64.
    #[error("{name} is not base64 with padding: {why}")]
    Base64 {
        /// Which.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// This runtime has no folder for blobs.
    #[error("attachments need a data folder, and this runtime has none")]
    NoFolder,
    /// The file system failed.
    #[error("{0}")]
    Io(String),
}

impl Digest {
    /// Takes 64 hexadecimal digits in lower case.
    pub fn new(text: impl Into<String>) -> Result<Self, &'static str> {
        let text = text.into();
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 64 && text.bytes().all(is_digit) {
            Ok(Self(text))
        } else {
            Err("a digest has 64 hexadecimal digits in lower case")
        }
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        Self::new(text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Content {
    /// Content of these parts, in this order.
    pub fn new(parts: impl IntoIterator<Item = Part>) -> Self {
        let mut content = Self::default();
        for part in parts {
            content.push(part);
        }
        content
    }

    /// Adds a part at the end.
    pub fn push(&mut self, part: Part) {
        if let Part::Text(text) = part {
            self.push_text(&text);
            return;
        }
        if self.parts.is_empty() && !self.text.is_empty() {
            self.parts.push(Part::Text(self.text.clone()));
        }
        self.parts.push(part);
    }

    /// Adds text at the end, on a line of its own.
    pub fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        push_line(&mut self.text, text);
        match self.parts.last_mut() {
            None => {}
            Some(Part::Text(last)) => push_line(last, text),
            Some(_) => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    /// Returns its text; what else there is leaves no trace in it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns all parts.
    pub fn parts(&self) -> Cow<'_, [Part]> {
        match (self.parts.as_slice(), self.text.as_str()) {
            ([], "") => Cow::Borrowed(&[]),
            ([], text) => Cow::Owned(vec![Part::Text(text.to_owned())]),
            (parts, _) => Cow::Borrowed(parts),
        }
    }

    /// Returns the parts that are no text.
    pub fn attachments(&self) -> impl Iterator<Item = &Part> {
        let is_text = |part: &&Part| matches!(part, Part::Text(_));
        self.parts.iter().filter(move |part| !is_text(part))
    }

    /// Returns what names a blob.
    pub fn blobs(&self) -> impl Iterator<Item = &Attached> {
        self.parts.iter().filter_map(Part::blob)
    }

    /// Tells whether it is only text.
    pub fn is_plain(&self) -> bool {
        self.parts.is_empty()
    }

    /// Tells whether there is neither text nor anything else.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.parts.is_empty()
    }

    /// Returns it as text, with a note in the place of every other part.
    pub fn described(&self) -> Cow<'_, str> {
        if self.is_plain() {
            return Cow::Borrowed(&self.text);
        }
        let lines = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Image(_) | Part::File(_) | Part::FileReference(_) | Part::ResourceLink(_) => {
                part.note()
            }
        });
        Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Returns how many bytes its texts, names and addresses have: what the log has of it.
    pub fn weight(&self) -> usize {
        let parts = self.attachments().map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Image(attached) | Part::File(attached) => {
                let name = attached.name.as_ref().map_or(0, String::len);
                let uri = attached.uri.as_ref().map_or(0, String::len);
                attached.digest.as_str().len() + attached.media_type.len() + name + uri
            }
            Part::FileReference(file) => {
                file.path.len() + file.media_type.as_ref().map_or(0, String::len)
            }
            Part::ResourceLink(link) => {
                let ResourceLink {
                    uri,
                    name,
                    title,
                    description,
                    media_type,
                    bytes: _,
                } = link;
                let optional = [title, description, media_type].into_iter().flatten();
                uri.len() + name.len() + optional.map(String::len).sum::<usize>()
            }
        });
        self.text.len() + parts.sum::<usize>()
    }
}

/// Adds a text on a line of its own.
fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

impl Part {
    /// Returns what names a blob.
    pub fn blob(&self) -> Option<&Attached> {
        match self {
            Self::Image(attached) | Self::File(attached) => Some(attached),
            Self::Text(_) | Self::FileReference(_) | Self::ResourceLink(_) => None,
        }
    }

    /// Returns a line that stands for the part where it cannot be shown, such as
    /// `[image: shot.png, image/png, 12 KiB]`; of a text the text.
    pub fn note(&self) -> String {
        let facts = match self {
            Self::Text(text) => return text.clone(),
            Self::Image(attached) | Self::File(attached) => attached.facts(),
            Self::FileReference(file) => {
                let facts = [Some(file.path.clone()), file.media_type.clone()];
                facts.into_iter().flatten().collect()
            }
            Self::ResourceLink(link) => {
                let name = link.title.clone().unwrap_or_else(|| link.name.clone());
                let facts = [
                    Some(name),
                    Some(link.uri.clone()),
                    link.media_type.clone(),
                    link.bytes.map(size),
                    link.description.clone(),
                ];
                facts.into_iter().flatten().collect::<Vec<_>>()
            }
        };
        let facts: Vec<String> = facts.iter().map(|fact| in_one_line(fact)).collect();
        format!("[{}: {}]", self.kind(), facts.join(", "))
    }

    /// Returns what kind of thing it is, in a word or two.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Image(_) => "image",
            Self::File(_) | Self::FileReference(_) => "file",
            Self::ResourceLink(_) => "link",
        }
    }
}

impl Attached {
    /// Returns its name, type and size, as far as they are known.
    fn facts(&self) -> Vec<String> {
        let facts = [
            self.name.clone(),
            Some(self.media_type.clone()),
            Some(size(self.bytes)),
        ];
        facts.into_iter().flatten().collect()
    }

    /// Returns what people call it: its name, or what it is.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.media_type)
    }

    /// Tells whether its bytes are text that a model can read.
    pub fn is_text(&self) -> bool {
        let essence = self.media_type.split(';').next().unwrap_or_default().trim();
        essence.starts_with("text/")
            || essence.ends_with("+json")
            || essence.ends_with("+xml")
            || matches!(
                essence,
                "application/json" | "application/xml" | "application/toml" | "application/yaml"
            )
    }
}

/// Returns a number of bytes as people read it.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut unit = 0;
    let mut amount = bytes as f64 / 1024.0;
    // What would be shown as 1024 is one of the next unit.
    while amount >= 1023.5 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    if amount < 9.95 {
        format!("{amount:.1} {}", UNITS[unit])
    } else {
        format!("{amount:.0} {}", UNITS[unit])
    }
}

fn in_one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

/// Returns the media type of bytes, by what they are and not by a name.
pub fn media_type(bytes: &[u8]) -> &'static str {
    match (image_type(bytes), std::str::from_utf8(bytes)) {
        (Some(image), _) => image,
        (None, Ok(_)) => "text/plain",
        (None, Err(_)) if bytes.starts_with(b"%PDF-") => "application/pdf",
        (None, Err(_)) => "application/octet-stream",
    }
}

/// Returns the media type of bytes that are a picture a model may take, by how they begin.
pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

impl Deref for Content {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        let parts = Vec::new();
        Self { text, parts }
    }
}

impl From<&String> for Content {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&Content> for String {
    fn from(content: &Content) -> Self {
        content.text.clone()
    }
}

impl PartialEq<str> for Content {
    fn eq(&self, text: &str) -> bool {
        self.is_plain() && self.text == text
    }
}

impl PartialEq<&str> for Content {
    fn eq(&self, text: &&str) -> bool {
        *self == **text
    }
}

impl PartialEq<String> for Content {
    fn eq(&self, text: &String) -> bool {
        *self == **text
    }
}

// By hand: text alone is a string, as it was before there were other parts.
impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_plain() {
            serializer.serialize_str(&self.text)
        } else {
            serializer.collect_seq(&self.parts)
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Content, E> {
        Ok(text.into())
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Content, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
        let mut content = Content::default();
        let mut count = 0;
        while let Some(part) = parts.next_element::<Part>()? {
            content.push(part);
            count += 1;
        }
        if content.parts().len() == count {
            Ok(content)
        } else {
            Err(A::Error::custom("texts side by side, or an empty text"))
        }
    }
}

#[cfg(test)]
mod tests;
