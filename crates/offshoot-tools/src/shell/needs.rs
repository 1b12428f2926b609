//! What a command needs, for the permission chain.
//!
//! Each simple command by its words, each file it is redirected to or from by its
//! path, and what cannot be seen through, or was not read, by its text.

use offshoot_types::permission::{Need, argv};
use offshoot_types::tool::Place;

use super::judge::{Act, Ground, judge};

/// Returns all that a command needs: at least one thing.
pub fn needs(command: &str, place: &Place) -> Vec<Need> {
    let ground = Ground {
        workspace: &place.workspace,
        scratch: place.scratch.as_deref(),
    };
    let need = |act| match act {
        Act::Run(words) => Need::new(Need::SHELL_RUN, argv::render(&words)),
        Act::Read(path) => Need::new(Need::FS_READ, path),
        Act::Write(path) => Need::new(Need::FS_WRITE, path),
        Act::Wrap(words) => Need::new(Need::SHELL_WRAPPER, argv::render(&words)),
        Act::Alias(words) => Need::new(Need::SHELL_ALIAS, argv::render(&words)),
        Act::Paths(words) => Need::new(Need::SHELL_PATHS, argv::render(&words)),
        Act::Hide(words) => Need::new(Need::SHELL_WORDS, argv::render(&words)),
        Act::Opaque(text) => Need::new(Need::SHELL_OPAQUE, text),
        Act::Unread(text) => Need::new(Need::SHELL_UNREAD, text),
    };
    judge(command, ground).into_iter().map(need).collect()
}
