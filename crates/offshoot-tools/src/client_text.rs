//! The text of a file as the session's client has it, such as an editor with unsaved changes.
//!
//! What an agent may do with a path is decided before, on the disk: a client is asked only about a
//! regular text file of the workspace, or about a path where there is none. Scratch folders are
//! ours, and binary files have no text, so those are never the client's. Searches see the disk.

use std::sync::Arc;
use std::time::Duration;

use offshoot_types::client_ports::Files;
use offshoot_types::tool::Work;

use crate::refusal::Refusal;
use crate::target::{RootKind, Target};

/// How long a client may take to return a text. A client that does not answer stops no read: the
/// disk has a text as well.
const PATIENCE: Duration = Duration::from_secs(30);

/// A file of the client.
pub(crate) struct ClientText {
    /// Where changes of the file go.
    pub(crate) files: Arc<dyn Files>,
    /// What the file contains; `None` where neither the client nor the disk has it.
    pub(crate) content: Option<Vec<u8>>,
}

/// Asks the client for the text of a file that has `on_disk` on the disk; `None` where only the disk
/// counts. An error says that the client has a text, perhaps, and did not return it.
pub(crate) async fn ask(
    work: &Work,
    target: &Target,
    on_disk: Option<&[u8]>,
) -> Result<Option<ClientText>, Refusal> {
    let Some(files) = &work.files else {
        return Ok(None);
    };
    if target.root().kind() != RootKind::Workspace || on_disk.is_some_and(is_binary) {
        return Ok(None);
    }
    let path = target.absolute();
    let answer = tokio::time::timeout(PATIENCE, files.read_text(&path));
    let answer = tokio::select! {
        biased;
        () = work.cancel.cancelled() => return Err(Refusal::cancelled()),
        answer = answer => answer.unwrap_or_else(|_| Err("it did not answer in time".to_owned())),
    };
    let text = match (answer, on_disk) {
        // Some editors return an empty text for a file that does not exist.
        (Ok(text), None) => text.filter(|text| !text.is_empty()),
        (Ok(text), Some(_)) => text,
        // Without a file on disk there is nothing that the client could have changed, so an error
        // most likely says that there is none.
        (Err(_), None) => None,
        (Err(why), Some(_)) => {
            return Err(Refusal::failed(format!(
                "the client did not return its text: {why}"
            )));
        }
    };
    let content = match text {
        Some(text) => Some(text.into_bytes()),
        None => on_disk.map(<[u8]>::to_vec),
    };
    let files = files.clone();
    Ok(Some(ClientText { files, content }))
}

fn is_binary(content: &[u8]) -> bool {
    content.contains(&0) || std::str::from_utf8(content).is_err()
}
