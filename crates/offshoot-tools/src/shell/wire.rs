//! What we and a keeper say to each other over its socket.
//!
//! We send a job, with its length in front, and later orders of one byte each.
//! The keeper sends messages, each a kind, a length and a body; the last one
//! tells how the command ended. Because output and end share the socket, their
//! order is kept. The end of the socket is an order too: kill.

use serde::{Deserialize, Serialize};

/// The longest body. A keeper sends less; more means that it is not one.
const MOST_BODY: usize = 8 * 1024 * 1024;

/// A kind and a length.
const HEADER: usize = 5;

/// What to run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) command: String,
    /// Where, absolute.
    pub(super) workspace: String,
    /// Where files may go, absolute.
    pub(super) scratch: Option<String>,
    /// What it reads, of a hook: what that complains of is then kept apart from what it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stdin: Option<String>,
    #[serde(default)]
    pub(super) until: Until,
}

/// What a hook is told, and until when it is heard.
pub(crate) struct Told {
    pub(crate) stdin: String,
    pub(crate) until: Until,
}

/// Until when a command that ended well is heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Until {
    /// Until its shell has ended, and a moment longer.
    #[default]
    ItEnds,
    /// As long as anybody has its output open: what it starts may say what it means.
    NobodyPrints,
}

impl Job {
    pub(super) fn encode(&self) -> Result<Vec<u8>, String> {
        let body = serde_json::to_vec(self).map_err(|error| error.to_string())?;
        let length = u32::try_from(body.len()).map_err(|error| error.to_string())?;
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(body);
        Ok(bytes)
    }
}

/// What a keeper is told. Ordered: a later one takes the place of an earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// Ask everything to end, and soon kill it. Somebody waits to hear how it went.
    Terminate,
    /// Kill everything now. Nobody listens any more.
    Kill,
}

impl Order {
    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Terminate => b't',
            Self::Kill => b'k',
        }
    }

    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b't' => Some(Self::Terminate),
            b'k' => Some(Self::Kill),
            _ => None,
        }
    }
}

/// What a keeper says.
#[derive(Debug)]
pub(super) enum Message {
    /// Something that came out.
    Output(Vec<u8>),
    /// So many bytes came out that were not said, because there were too many.
    Skipped(u64),
    /// The command could not be started.
    Refused(String),
    /// The command has ended.
    Ended(Report),
}

/// How a command ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    /// `None` if even killing it has not ended it yet.
    pub(super) end: Option<End>,
    /// Whether it was ended by an order.
    pub(super) ordered: bool,
    /// What came out, as text, within the bound.
    pub(super) text: String,
    /// What was complained of, where that is kept apart.
    #[serde(default)]
    pub(super) complaints: String,
    /// How many bytes came out.
    pub(super) bytes: u64,
    /// Whether `text` leaves something out.
    pub(super) truncated: bool,
    /// Where all of it is, or goes on.
    pub(super) output_path: Option<String>,
    /// Whether somebody may still write to the output.
    pub(super) output_open: bool,
    /// The command lines of what still runs.
    pub(super) left: Vec<String>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum End {
    Exit(i32),
    Signal(i32),
}

impl Message {
    pub(super) fn encode_to(&self, bytes: &mut Vec<u8>) {
        let (kind, body) = match self {
            Self::Output(output) => (b'o', output.clone()),
            Self::Skipped(count) => (b's', count.to_le_bytes().to_vec()),
            Self::Refused(text) => (b'r', text.clone().into_bytes()),
            // Numbers, texts and lists always have a JSON form.
            Self::Ended(report) => (b'e', serde_json::to_vec(report).unwrap_or_default()),
        };
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        bytes.push(kind);
        bytes.extend(length.to_le_bytes());
        bytes.extend(body);
    }

    fn decode(kind: u8, body: &[u8]) -> Option<Self> {
        Some(match kind {
            b'o' => Self::Output(body.to_vec()),
            b's' => Self::Skipped(u64::from_le_bytes(body.try_into().ok()?)),
            b'r' => Self::Refused(String::from_utf8_lossy(body).into_owned()),
            b'e' => Self::Ended(serde_json::from_slice(body).ok()?),
            _ => return None,
        })
    }
}

/// Puts messages together from what arrives.
#[derive(Default)]
pub(super) struct Messages {
    buffer: Vec<u8>,
}

/// What arrived is not from a keeper.
#[derive(Debug)]
pub(super) struct Malformed;

impl Messages {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next message that is whole.
    pub(super) fn next(&mut self) -> Result<Option<Message>, Malformed> {
        let [kind, a, b, c, d, rest @ ..] = self.buffer.as_slice() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        if length > MOST_BODY {
            return Err(Malformed);
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let message = Message::decode(*kind, body).ok_or(Malformed)?;
        self.buffer.drain(..HEADER + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_put_together_from_single_bytes() {
        let mut bytes = Vec::new();
        Message::Output(b"one\xff".to_vec()).encode_to(&mut bytes);
        Message::Skipped(7).encode_to(&mut bytes);
        Message::Refused("no".to_owned()).encode_to(&mut bytes);
        let mut messages = Messages::default();
        let mut heard = Vec::new();
        for byte in bytes {
            messages.push(&[byte]);
            while let Some(message) = messages.next().unwrap() {
                heard.push(format!("{message:?}"));
            }
        }
        assert_eq!(
            heard,
            [
                "Output([111, 110, 101, 255])",
                "Skipped(7)",
                "Refused(\"no\")"
            ]
        );
    }

    #[test]
    fn what_no_keeper_says_is_not_understood() {
        for bytes in [&b"x\0\0\0\0"[..], b"o\xff\xff\xff\xff", b"e\x01\0\0\0{"] {
            let mut messages = Messages::default();
            messages.push(bytes);
            assert!(messages.next().is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn orders_are_read_as_they_were_written() {
        for order in [Order::Terminate, Order::Kill] {
            assert_eq!(Order::from_byte(order.byte()), Some(order));
        }
        assert_eq!(Order::from_byte(0), None);
    }
}
