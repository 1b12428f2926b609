//! What a client said it understands, when the connection began.

use agent_client_protocol::v1::schema::{ClientCapabilities, InitializeRequest, Meta};
use offshoot_types::json::RawJson;

use super::{Form, delegation};

/// What a client understands.
#[derive(Clone, Debug)]
pub(super) struct ClientProfile {
    /// How children are shown.
    pub(super) form: Form,
    /// Whether it shows a notice; otherwise a notice is a message of the agent.
    pub(super) notices: bool,
    /// Whether it shows that a conversation is shortened.
    pub(super) compaction: bool,
    /// Whether it can ask its user to fill in a form.
    pub(super) forms: bool,
    /// Whether it understands proposal #855.
    pub(super) delegation: bool,
    /// Whether it reads and writes text files. A client that does only one of the two is asked for
    /// neither: edits of a text that is not saved would go past it to the disk.
    pub(super) files: bool,
    /// Whether it runs commands in terminals.
    pub(super) terminals: bool,
}

impl ClientProfile {
    /// Reads what the client said.
    pub(super) fn of(request: &InitializeRequest) -> Self {
        let capabilities = &request.client_capabilities;
        let session = capabilities.session.as_ref();
        Self {
            form: form(capabilities),
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
            forms: capabilities
                .elicitation
                .as_ref()
                .is_some_and(|elicitation| elicitation.form.is_some()),
            delegation: delegation::is_understood(capabilities.meta.as_ref()),
            files: capabilities.fs.read_text_file && capabilities.fs.write_text_file,
            terminals: capabilities.terminal,
        }
    }
}

/// Returns the form of children. JetBrains AIR understands an older draft only, whatever else it says
/// (correction 26).
fn form(capabilities: &ClientCapabilities) -> Form {
    let is_air = capabilities
        .meta
        .as_ref()
        .is_some_and(|meta| meta.contains_key("jetbrains.air") || nested_air(meta));
    let mut capabilities = capabilities.clone();
    if is_air {
        capabilities.subagents = None;
    }
    Form::of(&RawJson::of(&capabilities))
}

fn nested_air(meta: &Meta) -> bool {
    let jetbrains = meta.get("jetbrains").and_then(|value| value.as_object());
    jetbrains.is_some_and(|jetbrains| jetbrains.contains_key("air"))
}
