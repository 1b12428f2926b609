//! The fold, on small hand-made logs and on golden ones.

mod asks;
mod captures;
mod endings;
mod envelope;
mod lists;
mod live;
mod log;
mod normal;
mod tool_call_ids;
mod turns;
