//! Messages as chunks: what was shown while it came is not said again.

use std::collections::BTreeMap;

use offshoot_types::id::MessageId;
use offshoot_types::message::{AssistantMessage, AssistantPart, UserMessage};

use super::fold::{Piece, PieceKind};
use super::wire::{Chunk, Content, Meta, Update};

/// How many bytes of open messages were shown.
#[derive(Default)]
pub(super) struct Given(BTreeMap<(MessageId, PieceKind), usize>);

impl Given {
    /// Returns what of a piece is new.
    pub(super) fn piece(&mut self, piece: &Piece<'_>, meta: Option<Meta>) -> Option<Update> {
        let given = (self.0)
            .entry((piece.message.clone(), piece.kind))
            .or_default();
        let fresh = piece.text.get(given.saturating_sub(piece.offset)..)?;
        if fresh.is_empty() {
            return None;
        }
        *given = piece.offset + piece.text.len();
        Some(chunk(piece.kind, piece.message, fresh, meta))
    }

    /// Returns what of a message was not shown in pieces.
    pub(super) fn message(
        &mut self,
        message: &AssistantMessage,
        meta: Option<&Meta>,
    ) -> Vec<Update> {
        let mut updates = Vec::new();
        for kind in [PieceKind::Thought, PieceKind::Text] {
            let whole = words(message, kind);
            let given = self.0.remove(&(message.id.clone(), kind));
            let fresh = whole.get(given.unwrap_or_default()..).unwrap_or_default();
            if !fresh.is_empty() {
                updates.push(chunk(kind, &message.id, fresh, meta.cloned()));
            }
        }
        // A step that was tried again leaves the pieces of the first try behind.
        self.0.clear();
        updates
    }
}

/// Tells whether a message has words or thoughts.
pub(super) fn is_any(message: &AssistantMessage) -> bool {
    let kinds = [PieceKind::Thought, PieceKind::Text];
    kinds.iter().any(|kind| !words(message, *kind).is_empty())
}

/// Returns what a person said.
pub(super) fn prompt(message: &UserMessage) -> Update {
    Update::UserMessageChunk(Chunk {
        content: Content::text(message.text.described()),
        message_id: message.id.clone(),
        meta: None,
    })
}

fn chunk(kind: PieceKind, message: &MessageId, text: &str, meta: Option<Meta>) -> Update {
    let chunk = Chunk {
        content: Content::text(text),
        message_id: message.clone(),
        meta,
    };
    match kind {
        PieceKind::Text => Update::AgentMessageChunk(chunk),
        PieceKind::Thought => Update::AgentThoughtChunk(chunk),
    }
}

/// Returns the words of a message as its pieces have them: one behind the other.
fn words(message: &AssistantMessage, wanted: PieceKind) -> String {
    let mut words = String::new();
    for part in &message.parts {
        match (part, wanted) {
            (AssistantPart::Text(text), PieceKind::Text) => words.push_str(text),
            (AssistantPart::Reasoning(block), PieceKind::Thought) => words.push_str(&block.text),
            (
                AssistantPart::Text(_)
                | AssistantPart::Reasoning(_)
                | AssistantPart::Call(_)
                | AssistantPart::Attached(_)
                | AssistantPart::Raw(_),
                PieceKind::Text | PieceKind::Thought,
            ) => {}
        }
    }
    words
}
