//! The client's text files: `fs/read_text_file` and `fs/write_text_file`.

use agent_client_protocol::v1::schema::{ReadTextFileRequest, WriteTextFileRequest};
use futures_util::future::BoxFuture;
use offshoot_types::client_ports::Files;

use super::error::RESOURCE_NOT_FOUND;
use super::ports::CallClient;

/// The text files of a client, for one call.
pub(super) struct ClientFiles(pub(super) CallClient);

impl Files for ClientFiles {
    fn read_text<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(async move {
            let request = ReadTextFileRequest::new(self.0.session_id().await?, path);
            let sent = self.0.session.client.send_request(request);
            match sent.block_task().await {
                Ok(response) => Ok(Some(response.content)),
                Err(error) if i32::from(error.code) == RESOURCE_NOT_FOUND => Ok(None),
                Err(error) => Err(error.message),
            }
        })
    }

    fn write_text<'a>(&'a self, path: &'a str, text: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let session = self.0.session_id().await?;
            let request = WriteTextFileRequest::new(session, path, text);
            let sent = self.0.session.client.send_request(request);
            let written = sent.block_task().await;
            written.map(drop).map_err(|error| error.message)
        })
    }
}
