//! Errors of the face, as JSON-RPC has them.
//!
//! A request that cannot be is -32602, an unknown session is -32002 with its id, a model that has no key is
//! -32000, and what went wrong on our side is -32603.

use agent_client_protocol::Error;
use offshoot_engine::{CommandError, Missing};
use offshoot_types::id::AgentId;
use serde_json::json;

use super::setup::StartError;

/// ACP's number for something that is not there.
pub(super) const RESOURCE_NOT_FOUND: i32 = -32002;

/// A request that cannot be carried out as it is.
pub(super) fn invalid(why: impl std::fmt::Display) -> Error {
    with_message(Error::invalid_params(), why)
}

/// Something that went wrong on our side.
pub(super) fn internal(why: impl std::fmt::Display) -> Error {
    with_message(Error::internal_error(), why)
}

/// A session that is not there.
pub(super) fn unknown_session(id: &str) -> Error {
    let error = Error::new(
        RESOURCE_NOT_FOUND,
        format!("there is no session {id} on this connection"),
    );
    error.data(json!({ "sessionId": id }))
}

/// A child where only a session that a client opened can be.
pub(super) fn is_child(id: &AgentId) -> Error {
    let why = format!("{id} is a subagent session; only session/cancel is allowed for it");
    invalid(why).data(json!({ "sessionId": id, "reason": "subagent" }))
}

/// Returns the error for a command about a session that was not taken.
pub(super) fn command_error(error: &CommandError, session: &AgentId) -> Error {
    match error {
        CommandError::Invalid(_)
        | CommandError::Missing(Missing::Agent(_) | Missing::Model(_))
        | CommandError::Attachment(_)
        | CommandError::Project(_) => invalid(error),
        CommandError::Unknown(_) => {
            let error = Error::new(RESOURCE_NOT_FOUND, error.to_string());
            error.data(json!({ "sessionId": session }))
        }
        CommandError::Store(_) | CommandError::Closed => internal(error),
    }
}

/// Returns the error for a session that cannot begin.
pub(super) fn start_error(error: &StartError) -> Error {
    match error {
        StartError::Invalid(_) => invalid(error),
        StartError::Unauthenticated(_) => with_message(Error::auth_required(), error),
        StartError::Failed(_) => internal(error),
    }
}

/// Notes that a response could not be sent: the client is gone.
pub(super) fn note_sent(sent: Result<(), Error>) {
    if let Err(error) = sent {
        tracing::debug!(%error, "the client is gone");
    }
}

fn with_message(mut error: Error, message: impl std::fmt::Display) -> Error {
    error.message = message.to_string();
    error
}
