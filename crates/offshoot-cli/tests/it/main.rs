//! The binary as people and programs use it: started, asked, interrupted, killed.
//!
//! Everything here runs the real `offshoot` with scripted models in a folder of
//! its own. Waiting is for something a process says, never for a while.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing helper fails its test"
)]

mod agents;
mod asking;
mod asleep;
mod attach;
mod attaching;
mod caps;
mod chatting;
mod chores;
mod client_tools;
mod completions;
mod config;
mod damaged;
mod definitions;
mod doctor;
mod events;
mod finding;
mod flags;
mod forwarding;
mod hooking;
mod inbox;
mod kill9;
mod own_data;
mod permissions;
mod piping;
mod processes;
mod project;
mod provider;
mod refused;
mod requests;
mod reverting;
mod rewinding;
mod rows;
mod running;
mod screens;
mod servers;
mod sessions;
mod signals;
mod spawning;
mod speaking;
mod stage;
mod steering;
mod stops;
mod terminal;
mod tiers;
mod trust;
mod unfinished;
mod watching;
mod working;
mod workspaces;
