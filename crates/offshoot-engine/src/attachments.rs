//! Attachments: how the bytes of images and files get into a session and into requests.
//!
//! A client stores a blob first and then sends the prompt that names it, so commands
//! and the log have no bytes in them. Bytes are read when a request is sent, and live as
//! long as it does. Whatever cannot be sent becomes a note: a picture for a model that
//! takes none, a blob that is gone, more bytes than a request may have. The newest
//! images are sent first, because a conversation may have more than one request takes.

use std::sync::Arc;

use offshoot_types::command::{Command, Order, Verdict};
use offshoot_types::content::{
    Attached, AttachmentError, Content, Digest, Part, image_type, media_type, size,
};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::message::AssistantPart;
use offshoot_types::model::{GivenFile, Request, RequestMessage};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::BlobSink;

use crate::agent::Agent;
use crate::ask::{self, Judged};
use crate::context::{self, Prefix};
use crate::limits::AttachmentLimits;
use crate::runtime::{CommandError, Parts};
use crate::scratch;
use crate::settle;
use crate::update::Update;

/// What the text of a file stands in.
const MARK: &str = "attached_file";

/// The tool whose permission decides which files an agent may attach.
const READ: &str = "read";

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

/// Refuses content that names a blob which the session does not have, or says something wrong of it:
/// of a prompt, of a child that the host starts, of a client tool's result.
pub(crate) async fn check_blobs(parts: &Parts, command: &Command) -> Result<(), CommandError> {
    let content = match &command.order {
        Order::Prompt(prompt) => Some(&prompt.text),
        Order::Open(opening) => opening.prompt.as_ref().map(|prompt| &prompt.text),
        Order::Spawn(spawn) => Some(&spawn.prompt),
        Order::Answer(answer) => match &answer.verdict {
            Verdict::Returned(result) => result.content(),
            _ => None,
        },
        _ => None,
    };
    let Some(content) = content.filter(|content| !content.is_plain()) else {
        return Ok(());
    };
    // A command that was carried out keeps its receipt, whatever happened to its blobs since.
    if parts.store.receipt(&command.id).await?.is_some() {
        return Ok(());
    }
    let attached = content.attachments();
    Ok(check_stored(parts, &command.tree, attached).await?)
}

/// Refuses parts that name a blob which the session does not have, or say something wrong of it.
async fn check_stored<'a>(
    parts: &Parts,
    tree: &TreeId,
    attached: impl Iterator<Item = &'a Part>,
) -> Result<(), AttachmentError> {
    for part in attached {
        let Some(attached) = part.blob() else {
            continue;
        };
        let bytes = read(parts, tree, &attached.digest).await?;
        let said = match part {
            _ if bytes.len() as u64 != attached.bytes => size(attached.bytes),
            Part::Image(_) if image_type(&bytes) != Some(&attached.media_type) => {
                attached.media_type.clone()
            }
            _ => continue,
        };
        let name = attached.shown_name().to_owned();
        return Err(AttachmentError::Mismatch { name, said });
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

/// Stores files of the workspace for a child and returns what names them, or says why one cannot be
/// given. The agent has to be allowed to `read` each of them; the user is not asked.
pub(crate) async fn load_files(agent: &Agent, paths: &[String]) -> Result<Vec<Part>, Outcome> {
    let (parts, limits) = (&agent.parts, &agent.board.limits.attachments);
    if paths.len() > limits.parts {
        let (count, most) = (paths.len(), limits.parts);
        return Err(not_attached(&AttachmentError::TooMany { count, most }));
    }
    let mut content = Content::default();
    for path in paths {
        check_may_read(agent, path)?;
        let read = parts
            .sidecars
            .read_file(agent.place(), path.clone(), limits.part + 1);
        let bytes = read.await.map_err(|error| not_attached(&error))?;
        let said = media_type(&bytes);
        let part = keep(parts, &agent.board.tree, Some(path), said, bytes).await;
        content.push(part.map_err(|error| not_attached(&error))?);
        check_size(limits, &content).map_err(|error| not_attached(&error))?;
    }
    Ok(content.attachments().cloned().collect())
}

/// Stores bytes as a blob of a session and returns what names them: an image by what the bytes are, else
/// a file of the type that they are said to have.
async fn keep(
    parts: &Parts,
    tree: &TreeId,
    name: Option<&String>,
    said: &str,
    bytes: Vec<u8>,
) -> Result<Part, AttachmentError> {
    let image = image_type(&bytes);
    let length = bytes.len() as u64;
    let media_type = image.unwrap_or(said).to_owned();
    let shown = name.unwrap_or(&media_type).clone();
    let attached = Attached {
        digest: store(parts, tree, &shown, bytes).await?,
        media_type,
        bytes: length,
        name: name.cloned(),
        uri: None,
    };
    Ok(match image {
        Some(_) => Part::Image(attached),
        None => Part::File(attached),
    })
}

/// Refuses a file that the agent's own `read` would not be allowed to open without a question.
fn check_may_read(agent: &Agent, path: &str) -> Result<(), Outcome> {
    let reads = agent.kit.tools.iter().find(|tool| tool.spec().id == READ);
    let Some(read) = reads else {
        let text = format!("attach {path}: there is no tool {READ}");
        return Err(Outcome::error(ErrorKind::Denied, text));
    };
    let arguments = RawJson::of(&serde_json::json!({ "path": path }));
    match ask::judge(agent, read, &arguments)? {
        Judged::Decided(decision) => ask::denial(READ, &decision).map_or(Ok(()), Err),
        Judged::Asks(..) => {
            let text = format!("attach {path}: it may not be read without asking; read it first");
            Err(Outcome::error(ErrorKind::Denied, text))
        }
    }
}

/// Returns the outcome of a `task` call whose files cannot be given to its child.
fn not_attached(error: &AttachmentError) -> Outcome {
    let text = format!("attach to the prompt of task: {error}");
    Outcome::error(kind_of(error), text)
}

fn kind_of(error: &AttachmentError) -> ErrorKind {
    match error {
        AttachmentError::TooLarge { .. }
        | AttachmentError::MessageTooLarge { .. }
        | AttachmentError::TooMany { .. }
        | AttachmentError::SessionFull { .. } => ErrorKind::TooLarge,
        AttachmentError::Missing(_)
        | AttachmentError::Damaged(_)
        | AttachmentError::Mismatch { .. }
        | AttachmentError::Base64 { .. }
        | AttachmentError::NoFolder
        | AttachmentError::Io(_) => ErrorKind::Failed,
    }
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

    /// Returns the outcome of a tool, or an error in its place if it has attached more than a message may
    /// have, or what the session does not have.
    pub(crate) async fn with_sound_attachments(&self, tool: &str, outcome: Outcome) -> Outcome {
        let content = Content::new(outcome.attachments.iter().cloned());
        let (parts, tree) = (&self.parts, &self.board.tree);
        let checked = match check_size(&self.board.limits.attachments, &content) {
            Ok(()) => check_stored(parts, tree, content.attachments()).await,
            Err(error) => Err(error),
        };
        match checked {
            Ok(()) => outcome,
            Err(error) => {
                let text = format!("{tool} has run, and its attachments cannot be kept: {error}");
                Outcome::error(kind_of(&error), text)
            }
        }
    }

    /// Stores an image or a file that the model gives and returns the part that names it; a note in its
    /// place if it cannot be kept, or the message has as much as it may have (`given`).
    pub(crate) async fn keep_given(&self, given: &mut Content, file: GivenFile) -> AssistantPart {
        let GivenFile {
            name,
            media_type,
            bytes,
        } = file;
        let note = match &name {
            Some(name) => format!("[file: {name}, {media_type}]"),
            None => format!("[file: {media_type}]"),
        };
        let (parts, tree) = (&self.parts, &self.board.tree);
        let kept = keep(parts, tree, name.as_ref(), &media_type, bytes).await;
        let kept = kept.and_then(|part| {
            let mut all = given.clone();
            all.push(part.clone());
            check_size(&self.board.limits.attachments, &all)?;
            *given = all;
            Ok(part)
        });
        match kept {
            Ok(part) => AssistantPart::Attached(part),
            Err(why) => AssistantPart::Text(format!("{note} (not kept: {why})")),
        }
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
                // A dialect sends a note for what a model gave itself: no provider takes it back.
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
