//! Attachments: how the bytes of images and files get into a session and into requests.
//!
//! A client stores a blob first and then sends the prompt that names it, so commands
//! and the log have no bytes in them. Bytes are read when a request is sent, and live as
//! long as it does. Whatever cannot be sent becomes a note: a picture for a model that
//! takes none, a blob that is gone, more bytes than a request may have. The newest
//! images are sent first, because a conversation may have more than one request takes.

use std::sync::Arc;

use offshoot_types::command::{Command, Order};
use offshoot_types::content::{Attached, AttachmentError, Content, Digest, Part, image_type, size};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::message::AssistantPart;
use offshoot_types::model::{Request, RequestMessage};
use offshoot_types::tool::BlobSink;

use crate::agent::Agent;
use crate::context::{self, Prefix};
use crate::limits::AttachmentLimits;
use crate::runtime::{CommandError, Parts};
use crate::scratch;
use crate::settle;
use crate::update::Update;

/// What the text of a file stands in.
const MARK: &str = "attached_file";

/// Returns the folder of a session's blobs.
fn folder(parts: &Parts, tree: &TreeId) -> Result<String, AttachmentError> {
    let data = parts.data.as_deref().ok_or(AttachmentError::NoFolder)?;
    Ok(scratch::blobs(data, tree))
}

/// Stores bytes as a blob of a session.
pub(crate) async fn store(
    parts: &Parts,
    tree: &TreeId,
    name: &str,
    bytes: Vec<u8>,
) -> Result<Digest, AttachmentError> {
    let AttachmentLimits { part, session, .. } = parts.limits.attachments;
    let length = bytes.len() as u64;
    if length > part {
        return Err(AttachmentError::TooLarge {
            name: name.to_owned(),
            bytes: length,
            most: part,
        });
    }
    let folder = folder(parts, tree)?;
    parts.sidecars.store_blob(folder, bytes, session).await
}

/// Returns the bytes of a blob.
pub(crate) async fn read(
    parts: &Parts,
    tree: &TreeId,
    digest: &Digest,
) -> Result<Vec<u8>, AttachmentError> {
    let folder = folder(parts, tree)?;
    parts.sidecars.read_blob(folder, digest.clone()).await
}

/// Refuses content that has more than a message may have.
pub(crate) fn check_size(
    limits: &AttachmentLimits,
    content: &Content,
) -> Result<(), AttachmentError> {
    let count = content.attachments().count();
    if count > limits.parts {
        let most = limits.parts;
        return Err(AttachmentError::TooMany { count, most });
    }
    if let Some(large) = content.blobs().find(|blob| blob.bytes > limits.part) {
        return Err(AttachmentError::TooLarge {
            name: large.shown_name().to_owned(),
            bytes: large.bytes,
            most: limits.part,
        });
    }
    let all = content.blobs().map(|blob| blob.bytes);
    let bytes = all.fold(0, u64::saturating_add);
    if bytes > limits.message {
        let most = limits.message;
        return Err(AttachmentError::MessageTooLarge { bytes, most });
    }
    Ok(())
}

/// Refuses a prompt that names a blob which the session does not have, or says something wrong of it.
pub(crate) async fn check_blobs(parts: &Parts, command: &Command) -> Result<(), CommandError> {
    let prompt = match &command.order {
        Order::Prompt(prompt) => Some(prompt),
        Order::Open(opening) => opening.prompt.as_ref(),
        _ => None,
    };
    let Some(prompt) = prompt.filter(|prompt| !prompt.text.is_plain()) else {
        return Ok(());
    };
    // A command that was carried out keeps its receipt, whatever happened to its blobs since.
    if parts.store.receipt(&command.id).await?.is_some() {
        return Ok(());
    }
    for part in prompt.text.attachments() {
        let Some(attached) = part.blob() else {
            continue;
        };
        let bytes = read(parts, &command.tree, &attached.digest).await?;
        let said = match part {
            _ if bytes.len() as u64 != attached.bytes => size(attached.bytes),
            Part::Image(_) if image_type(&bytes) != Some(&attached.media_type) => {
                attached.media_type.clone()
            }
            _ => continue,
        };
        let name = attached.shown_name().to_owned();
        return Err(AttachmentError::Mismatch { name, said }.into());
    }
    Ok(())
}

/// Copies the blobs that the entries of a copied session name.
pub(crate) async fn copy(
    parts: &Parts,
    from: &AgentId,
    to: &TreeId,
    entries: &[(AgentId, Event)],
) -> Result<(), AttachmentError> {
    let mut digests: Vec<Digest> = Vec::new();
    for (_, event) in entries {
        let named: Vec<&Attached> = match event {
            Event::Prompted(message) => message.text.blobs().collect(),
            Event::CallFinished { outcome, .. } => {
                outcome.attachments.iter().filter_map(Part::blob).collect()
            }
            Event::Replied(message) => {
                let given = message.parts.iter().filter_map(|part| match part {
                    AssistantPart::Attached(part) => part.blob(),
                    _ => None,
                });
                given.collect()
            }
            _ => continue,
        };
        digests.extend(named.into_iter().map(|attached| attached.digest.clone()));
    }
    if digests.is_empty() {
        return Ok(());
    }
    digests.sort();
    digests.dedup();
    let from = folder(parts, &TreeId::of(from.clone()))?;
    let to = folder(parts, to)?;
    parts.sidecars.copy_blobs(from, to, digests).await
}

impl Agent {
    /// Returns where this agent's tools store the bytes of images and files.
    pub(crate) fn blob_sink(&self) -> BlobSink {
        let (parts, tree) = (self.parts.clone(), self.board.tree.clone());
        BlobSink::new(move |bytes| {
            let (parts, tree) = (parts.clone(), tree.clone());
            Box::pin(async move { store(&parts, &tree, "the file", bytes).await })
        })
    }

    /// Tells whether the agent's model takes images.
    pub(crate) fn takes_images(&self) -> bool {
        let model = self.kit.models.find(&self.model);
        model.is_ok_and(|model| model.takes_images())
    }

    /// Puts the bytes of images into a request, the text of files into its messages, and notes in the
    /// place of what cannot be sent.
    pub(crate) async fn load_attachments(&self, prefix: &Prefix, request: &mut Request) {
        let mut loading = Loading {
            agent: self,
            takes_images: prefix.model.takes_images(),
            room: self.board.limits.attachments.request,
            withheld: false,
        };
        let Request {
            messages, images, ..
        } = request;
        for message in messages.iter_mut().rev() {
            match message {
                RequestMessage::User(content) => loading.load(content, images).await,
                RequestMessage::Outcomes(outcomes) => {
                    for outcome in outcomes.iter_mut().rev() {
                        loading.load(&mut outcome.text, images).await;
                    }
                }
                RequestMessage::Assistant(_) => {}
            }
        }
        if loading.withheld && self.board.state().first_withheld_image() {
            let text = format!(
                "model {} takes no images, so it is sent their names only; set `images = true` for \
                 the model if it does",
                self.model
            );
            self.board.publish(Update::Notice(self.id.clone(), text));
        }
    }
}

struct Loading<'a> {
    agent: &'a Agent,
    takes_images: bool,
    /// How many bytes of images the request still takes.
    room: u64,
    /// Whether an image was not sent because of the model.
    withheld: bool,
}

impl Loading<'_> {
    async fn load(&mut self, content: &mut Content, images: &mut offshoot_types::model::Images) {
        if content.is_plain() {
            return;
        }
        let mut loaded = Content::default();
        for part in content.parts().iter() {
            loaded.push(match part {
                Part::Image(image) if images.get(image).is_some() => part.clone(),
                Part::Image(image) => match self.image(image).await {
                    Ok(bytes) => {
                        self.room -= bytes.len() as u64;
                        images.insert(image.digest.clone(), bytes);
                        part.clone()
                    }
                    Err(why) => note(part, &why),
                },
                Part::File(file) if file.is_text() => match self.bytes(file).await {
                    Ok(bytes) => Part::Text(shown(file, &bytes)),
                    Err(why) => note(part, &why),
                },
                Part::Text(_) | Part::File(_) | Part::FileReference(_) | Part::ResourceLink(_) => {
                    Part::Text(part.note())
                }
            });
        }
        *content = loaded;
    }

    /// Returns the bytes of an image, or why it is not sent; empty if there is nothing to say.
    async fn image(&mut self, image: &Attached) -> Result<Arc<[u8]>, String> {
        if !self.takes_images {
            self.withheld = true;
            return Err(String::new());
        }
        if image.bytes > self.room {
            return Err("left out: the request has newer images".to_owned());
        }
        let bytes = self.bytes(image).await?;
        // What was said of it may be wrong: nothing larger goes through.
        if bytes.len() as u64 > self.room {
            Err("left out: the request has newer images".to_owned())
        } else {
            Ok(bytes.into())
        }
    }

    async fn bytes(&self, attached: &Attached) -> Result<Vec<u8>, String> {
        let (parts, tree) = (&self.agent.parts, &self.agent.board.tree);
        let bytes = read(parts, tree, &attached.digest).await;
        bytes.map_err(|error| match error {
            AttachmentError::Missing(_) => "its bytes are gone".to_owned(),
            AttachmentError::Damaged(_) => "its bytes were changed".to_owned(),
            other => other.to_string(),
        })
    }
}

/// Returns what stands for a part that is not sent, and why.
fn note(part: &Part, why: &str) -> Part {
    let note = part.note();
    Part::Text(match why {
        "" => note,
        why => format!("{} ({why})", note),
    })
}

/// Returns the text of a file as a model reads it.
fn shown(file: &Attached, bytes: &[u8]) -> String {
    let name = file
        .shown_name()
        .replace(|c: char| c.is_control() || c == '"', " ");
    let name = settle::without_any(&name, &[MARK]);
    let text = String::from_utf8_lossy(bytes).into_owned();
    let text = context::capped(text, context::MAX_ITEM_BYTES);
    let text = settle::without_any(&text, &[MARK]);
    format!("<{MARK} name=\"{name}\">\n{text}\n</{MARK}>")
}
