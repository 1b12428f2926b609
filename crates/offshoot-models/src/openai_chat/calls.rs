//! Calls, put together from pieces.
//!
//! The dialect numbers calls and streams the arguments of each in pieces. Some
//! servers leave the number out, give every call the same one, or send calls in
//! one piece; a piece is added to the call it belongs to by what it does tell.
//! Order is the order in which calls began. How many there may be is bounded, and
//! with it the work for each piece.

use offshoot_types::json::RawJson;
use offshoot_types::message::Arguments;
use offshoot_types::model::Chunk;
use serde::de::IgnoredAny;

use super::wire::CallPiece;

/// Most calls of one answer. Whoever makes more is broken.
const MOST: usize = 1000;

/// The calls of one answer so far.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Gathered>);

/// An answer with more calls than anybody could mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has more than {MOST} calls")]
pub(super) struct TooMany;

/// Whether calls may lack their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cutoff {
    /// The model ended by itself.
    None,
    /// It was stopped at the limit of its output.
    AtLimit,
}

#[derive(Debug)]
struct Gathered {
    index: Option<u32>,
    id: String,
    tool: String,
    arguments: String,
    /// The first piece of the arguments was an object by itself, so no other piece can follow.
    came_whole: bool,
}

impl Calls {
    /// Adds a piece; returns how many bytes of arguments came with it.
    pub(super) fn take(&mut self, piece: &CallPiece) -> Result<usize, TooMany> {
        let at = match self.place(piece) {
            Some(at) => at,
            None if self.0.len() == MOST => return Err(TooMany),
            None => {
                self.0.push(Gathered {
                    index: piece.index(),
                    id: String::new(),
                    tool: String::new(),
                    arguments: String::new(),
                    came_whole: false,
                });
                self.0.len() - 1
            }
        };
        Ok(self.0.get_mut(at).map_or(0, |call| call.add(piece)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the calls in their order.
    pub(super) fn finish(&mut self, cutoff: Cutoff) -> impl Iterator<Item = Chunk> {
        let calls = std::mem::take(&mut self.0).into_iter();
        calls.map(move |call| Chunk::Call {
            id: call.id,
            tool: call.tool,
            arguments: arguments(call.arguments, cutoff),
        })
    }

    /// Finds the call that a piece belongs to; `None` when it begins one.
    fn place(&self, piece: &CallPiece) -> Option<usize> {
        let id = piece.id();
        let Some(index) = piece.index() else {
            // A name begins a call, unless the call is known by its id; what has none goes on.
            let known = |call: &Gathered| !id.is_empty() && call.id == id;
            return match self.0.iter().rposition(known) {
                Some(at) => Some(at),
                None if piece.name().is_some() => None,
                None => self.0.len().checked_sub(1),
            };
        };
        let at = self.0.iter().rposition(|call| call.index == Some(index))?;
        let call = self.0.get(at)?;
        // The same number again may still be another call, which then has a name. A new id alone is
        // none: some servers make one up for every piece. Nor is a new name before the arguments have
        // begun: it may be more of the name.
        let differs = if id.is_empty() || call.id.is_empty() {
            call.came_whole || call.has_begun() && piece.name() != Some(&call.tool)
        } else {
            call.id != id
        };
        let is_another = differs && piece.name().is_some();
        (!is_another).then_some(at)
    }
}

impl Gathered {
    fn add(&mut self, piece: &CallPiece) -> usize {
        // An id comes once; whoever repeats it repeats it in full.
        if self.id.is_empty() {
            self.id = piece.id().to_owned();
        }
        if let Some(name) = piece.name()
            && !self.has_begun()
        {
            self.name(name);
        }
        let text = piece.arguments().unwrap_or_default();
        if self.arguments.is_empty() {
            self.came_whole = is_object(&text);
        }
        self.arguments.push_str(&text);
        text.len()
    }

    /// Tells whether something of the arguments has come, and so the whole of the name.
    fn has_begun(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// Takes a name: in full, again, with more of it, or what is to be added.
    fn name(&mut self, name: &str) {
        if name.starts_with(&self.tool) {
            name.clone_into(&mut self.tool);
        } else {
            self.tool.push_str(name);
        }
    }
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Reads the arguments of a call; none at all is an empty object.
fn arguments(text: String, cutoff: Cutoff) -> Arguments {
    let text = match text.trim() {
        // A call that was stopped before its arguments began was not meant to have none.
        "" if cutoff == Cutoff::AtLimit => return Arguments::Malformed(text),
        "" | "null" => "{}".to_owned(),
        _ => text,
    };
    match RawJson::parse(text.clone()) {
        Ok(json) => Arguments::Json(json),
        Err(_) => Arguments::Malformed(text),
    }
}
