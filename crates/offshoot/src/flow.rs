//! The one prompt flow: what every face does between a prompt and its answer.
//!
//! The handles of this library, the command line and the faces for editors and SDKs differ in what they
//! show and in what they call done. They share this: [`Client`] gives orders to a runtime and says when the
//! runtime is gone; [`Follower`] reads a session in order, misses nothing of a prompt that it sends, and
//! takes over a session whose process died; [`SentPrompt`] says what became of a prompt. Nothing here
//! shows anything or decides when a face is done.

mod client;
mod follower;
mod prompt;

pub use client::Client;
pub use follower::{Follower, News, Orphan};
pub use prompt::{Progress, SentPrompt};
