//! Blocks of a prompt as content of a message.
//!
//! Text stays text. Images and embedded files are stored as blobs of the session before the prompt that
//! names them; links stay links. What cannot be taken is an error, and then nothing was sent.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};
use offshoot_engine::{CommandError, Runtime};
use offshoot_types::base64;
use offshoot_types::content::{Attached, Content, Part, ResourceLink};
use offshoot_types::id::AgentId;

use super::error::{command_error, invalid};

/// Returns how many bytes the blocks of a prompt take, about.
pub(super) fn size(blocks: &[ContentBlock]) -> usize {
    let size = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Audio(audio) => audio.data.len(),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => text.text.len(),
            EmbeddedResourceResource::BlobResourceContents(blob) => blob.blob.len(),
            _ => 0,
        },
        _ => 0,
    };
    blocks.iter().map(size).sum()
}

/// Returns the content of a prompt, with its bytes stored.
pub(super) async fn content(
    runtime: &Runtime,
    session: &AgentId,
    blocks: Vec<ContentBlock>,
) -> Result<Content, Error> {
    let mut content = Content::default();
    for block in blocks {
        content.push(part(runtime, session, block).await?);
    }
    if content.is_empty() {
        return Err(invalid("the prompt is empty"));
    }
    Ok(content)
}

async fn part(runtime: &Runtime, session: &AgentId, block: ContentBlock) -> Result<Part, Error> {
    Ok(match block {
        ContentBlock::Text(text) => Part::Text(text.text),
        ContentBlock::Image(image) => {
            let stored = store(
                runtime,
                session,
                image.uri,
                &image.mime_type,
                Bytes::Base64(&image.data),
            );
            let attached = stored.await?;
            if !attached.media_type.starts_with("image/") {
                return Err(invalid("an image block has no image"));
            }
            Part::Image(attached)
        }
        ContentBlock::ResourceLink(link) => Part::ResourceLink(ResourceLink {
            uri: link.uri,
            name: link.name,
            title: link.title,
            description: link.description,
            media_type: link.mime_type,
            bytes: link.size.and_then(|size| u64::try_from(size).ok()),
        }),
        ContentBlock::Resource(resource) => match resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                let media_type = text.mime_type.unwrap_or_else(|| "text/plain".to_owned());
                let bytes = Bytes::Text(text.text);
                Part::File(store(runtime, session, Some(text.uri), &media_type, bytes).await?)
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                let media_type = blob.mime_type.as_deref();
                let media_type = media_type.unwrap_or("application/octet-stream");
                let bytes = Bytes::Base64(&blob.blob);
                let attached = store(runtime, session, Some(blob.uri), media_type, bytes).await?;
                if attached.media_type.starts_with("image/") {
                    Part::Image(attached)
                } else {
                    Part::File(attached)
                }
            }
            _ => return Err(invalid("a resource block has neither text nor a blob")),
        },
        ContentBlock::Audio(_) => return Err(invalid("audio is not supported")),
        _ => return Err(invalid("a block of the prompt has an unknown type")),
    })
}

/// Bytes as a client sends them.
enum Bytes<'a> {
    Text(String),
    Base64(&'a str),
}

async fn store(
    runtime: &Runtime,
    session: &AgentId,
    uri: Option<String>,
    media_type: &str,
    bytes: Bytes<'_>,
) -> Result<Attached, Error> {
    let name = uri.as_deref().map(file_name);
    let bytes = match bytes {
        Bytes::Text(text) => text.into_bytes(),
        Bytes::Base64(text) => {
            let shown = name.as_deref().unwrap_or(media_type);
            let decoded = base64::decode(shown, text, runtime.limits().attachments.part);
            decoded.map_err(|error| command_error(&CommandError::Attachment(error), session))?
        }
    };
    let stored = runtime.store_blob(session, name, media_type, bytes).await;
    let mut attached = stored.map_err(|error| command_error(&error, session))?;
    attached.uri = uri;
    Ok(attached)
}

/// Returns the last part of an address, for people.
fn file_name(uri: &str) -> String {
    let path = uri.split(['?', '#']).next().unwrap_or(uri);
    let last = path.trim_end_matches('/').rsplit('/').next();
    last.unwrap_or(path).to_owned()
}
