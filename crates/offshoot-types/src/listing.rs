//! Which sessions a list has, and where its next page begins.
//!
//! A page ends at a place in the order (time of the last change, id), not at a
//! count: a cursor stays good whatever happens to the sessions before it. A session
//! that changes between two pages moves to the front, and may be on both.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, Timestamp, TreeId};
use crate::store::SessionSummary;

/// Which sessions to list. The one that changed last comes first; of one time, the smaller id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionQuery {
    /// Roots, children, or both.
    #[serde(default)]
    pub kind: SessionKind,
    /// Only this one, and its children where those are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<TreeId>,
    /// Only those of this workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Only those whose title has this text in it, whichever the case of its ASCII letters. A session
    /// without a name has the first line of its first prompt as its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Without those that were archived.
    #[serde(default)]
    pub archived: Archived,
    /// Only those behind this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<SessionCursor>,
    /// At most this many; all without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Which agents are listed as sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// Roots.
    #[default]
    Roots,
    /// Inspectable children.
    Children,
    /// Both.
    All,
}

impl SessionKind {
    /// Tells whether roots are listed.
    pub fn has_roots(self) -> bool {
        self != Self::Children
    }

    /// Tells whether inspectable children are listed.
    pub fn has_children(self) -> bool {
        self != Self::Roots
    }
}

/// Whether archived sessions are listed (PER-03).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Archived {
    /// They are.
    #[default]
    Shown,
    /// They are not.
    Hidden,
}

/// A place in a list of sessions. Its text is `MILLISECONDS:ID`, for clients to hand back as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SessionCursor {
    /// When the last session of the page had changed.
    pub updated_at: Timestamp,
    /// Which one it is.
    pub agent: AgentId,
}

impl SessionCursor {
    /// Returns the place of a session.
    pub fn of(session: &SessionSummary) -> Self {
        Self {
            updated_at: session.updated_at,
            agent: session.agent.clone(),
        }
    }

    /// Tells whether a session stands behind this place.
    pub fn is_before(&self, session: &SessionSummary) -> bool {
        let reversed = |at: Timestamp| std::cmp::Reverse(at);
        (reversed(self.updated_at), &self.agent) < (reversed(session.updated_at), &session.agent)
    }
}

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.updated_at.get(), self.agent)
    }
}

impl From<SessionCursor> for String {
    fn from(cursor: SessionCursor) -> Self {
        cursor.to_string()
    }
}

/// A text that is no place in a list of sessions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no cursor of a list of sessions")]
pub struct NoCursor(String);

impl FromStr for SessionCursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let parts = text.split_once(':');
        let cursor = parts.and_then(|(at, agent)| {
            Some(Self {
                updated_at: Timestamp::new(at.parse().ok()?),
                agent: AgentId::new(agent),
            })
        });
        cursor.ok_or_else(|| NoCursor(text.to_owned()))
    }
}

impl TryFrom<String> for SessionCursor {
    type Error = NoCursor;

    fn try_from(text: String) -> Result<Self, NoCursor> {
        text.parse()
    }
}

impl SessionQuery {
    /// Tells whether a session is of those that are meant: for stores that hold all of them in memory.
    pub fn takes(&self, session: &SessionSummary) -> bool {
        let is_kind = if session.parent.is_none() {
            self.kind.has_roots()
        } else {
            self.kind.has_children()
        };
        let in_workspace = self.workspace.as_ref();
        let title = session.title.to_ascii_lowercase();
        let searched = self.search.as_ref().map(|text| text.to_ascii_lowercase());
        is_kind
            && (self.session.as_ref()).is_none_or(|tree| session.tree == *tree)
            && in_workspace.is_none_or(|workspace| session.workspace == *workspace)
            && searched.is_none_or(|text| title.contains(&text))
            && (self.archived == Archived::Shown || session.archived_at.is_none())
            && self
                .after
                .as_ref()
                .is_none_or(|after| after.is_before(session))
    }
}

/// A page of a list of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions, in order.
    pub sessions: Vec<SessionSummary>,
    /// Where the next page begins; `None` if this is the last.
    pub next: Option<SessionCursor>,
}

/// Whose ids a part of an id is looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// Roots.
    Sessions,
    /// All agents but those that the runtime started for itself.
    Agents,
}

/// Tells whether an id begins or ends with a part, whichever the case of its ASCII letters.
pub fn is_part(part: &str, id: &AgentId) -> bool {
    let (part, id) = (part.to_ascii_lowercase(), id.as_str().to_ascii_lowercase());
    id.starts_with(&part) || id.ends_with(&part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_a_text_and_back() {
        for id in ["s", "a:b", ""] {
            let cursor = SessionCursor {
                updated_at: Timestamp::new(17),
                agent: AgentId::new(id),
            };
            assert_eq!(cursor.to_string(), format!("17:{id}"));
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for text in ["", "17", "x:s", "-1:s"] {
            let parsed: Result<SessionCursor, NoCursor> = text.parse();
            assert_eq!(parsed, Err(NoCursor(text.to_owned())));
        }
    }
}
