//! The model `offline`: answers by fixed rules, without a language model.
//!
//! It is what somebody gets who has configured nothing: no key, no network, and
//! yet a true survey of their repository, made by a root that delegates. It has
//! no state: every step is worked out anew from the request, from the calls made
//! since the last prompt and what came of them. A call is made once, so every
//! prompt ends after a few steps whatever tools answer. It states only what tools
//! told it, and what files say is quoted, never obeyed. Users' documentation:
//! docs/offline.md.

mod capabilities;
mod chore;
mod command;
mod conversation;
mod find;
mod intent;
mod markdown;
mod outcomes;
mod outline;
mod page;
mod reply;
mod survey;
mod syntax;
mod todo;
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

    /// Nothing: nobody is asked, so a cap on money can be held.
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
        Intent::Outline(path) => outline::answer(&talk, &path),
        Intent::Run(command) => command::run(&talk, &command),
        Intent::Test => command::test(&talk),
        Intent::Todo(items) => todo::answer(&talk, &items),
        Intent::Unknown => capabilities::answer(),
    }
}
