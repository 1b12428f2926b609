//! The model `offline`: answers by fixed rules, without a language model.
//!
//! It is the default: no key, no network, and yet a true survey of a repository, made by a root
//! that delegates. It has no state: every step is derived from the request alone, that is from the
//! prompt, the calls made since and their outcomes. A call is made once, so every prompt ends
//! after a few steps. It states only what tools showed, and what files say is quoted, never obeyed.
//! A prompt that no rule knows ends with the stop reason `refusal`: nothing is guessed, and no
//! sentence becomes a command. Users' documentation: docs/offline.md.

mod about;
mod ask;
mod capabilities;
mod chore;
mod command;
mod conversation;
mod files;
mod find;
mod intent;
mod language;
mod markdown;
mod outcomes;
mod page;
mod reply;
mod survey;
mod wanted;

use futures_core::stream::BoxStream;
use offshoot_types::cancel::Cancel;
use offshoot_types::caps::Price;
use offshoot_types::model::{Chunk, Model, ModelError, Request};

use conversation::Conversation;
use intent::Intent;
use reply::Reply;

/// What it calls itself.
const NAME: &str = "offline";

/// A model that answers by rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Model for Offline {
    fn stream(
        &self,
        request: Request,
        cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        answer(&request).stream(request.from.step, cancel)
    }

    /// Nothing: no provider is asked, so a cap on money can be held.
    fn price(&self) -> Option<Price> {
        Some(Price::default())
    }

    /// No tokens are used, and none are to be guessed.
    fn is_metered(&self, _definition: &str) -> bool {
        false
    }
}

fn answer(request: &Request) -> Reply {
    if let Some(reply) = chore::answer(request) {
        return reply;
    }
    let talk = Conversation::of(request);
    if let Some(late) = talk.late() {
        return capabilities::late(late);
    }
    match intent::of(talk.prompt) {
        Intent::Area(brief) => survey::area(&talk, &brief),
        Intent::Survey => survey::repository(&talk),
        Intent::Folder(path) => survey::folder(&talk, &path),
        Intent::Find(term) => find::answer(&talk, &term),
        Intent::Read(path) => files::read(&talk, &path),
        Intent::List(folder) => files::list(&talk, folder.as_deref()),
        Intent::Write { path, text } => files::write(&talk, &path, &text),
        Intent::Run(command) => command::run(&talk, &command),
        Intent::Ask { agent, prompt } => ask::answer(&talk, &agent, &prompt),
        Intent::Unknown => capabilities::answer(),
    }
}
