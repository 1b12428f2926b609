//! The ports to what a client does for the agents of its session: its files and its processes.
//!
//! An editor has text that is not on disk, and terminals that its user sees. Tools decide as always
//! what an agent may do; these ports only replace where the text of a file comes from and goes to,
//! and where a command runs. Like a journal, a port is made for one call: a tool never learns whose
//! agent it works for.

use std::sync::Arc;

use futures_core::future::BoxFuture;

use crate::id::{AgentId, CallId, Pos};

/// What a client offers to the calls of its session.
pub trait ClientPorts: Send + Sync {
    /// Returns the client's files for one call; `None` if the client offers none.
    fn files(&self, origin: &CallOrigin) -> Option<Arc<dyn Files>>;

    /// Returns the client's processes for one call; `None` if the client offers none.
    fn processes(&self, origin: &CallOrigin) -> Option<Arc<dyn Processes>>;
}

/// The call that a client does something for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOrigin {
    /// The agent that makes the call.
    pub agent: AgentId,
    /// The call.
    pub call: CallId,
    /// The last entry before the call runs. The agent is in the log up to here, so a client that is
    /// shown the log has to be shown this much before it is asked for anything.
    pub after: Pos,
}

/// The text files of a client.
pub trait Files: Send + Sync {
    /// Returns the text of a file as the client has it, with changes that are not saved; `None` if
    /// the client has no such file.
    ///
    /// The path is absolute. Has no effect, may be repeated and may be dropped at any await. An
    /// error says in words why the client could not answer.
    fn read_text<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<String>, String>>;

    /// Replaces the text of a file, or creates the file; its folder exists.
    ///
    /// Returns when the client says that it is done. Writes of one path take effect in the order in
    /// which they are called. After an error the text may or may not be there. Writing the same text
    /// again changes nothing.
    fn write_text<'a>(&'a self, path: &'a str, text: &'a str) -> BoxFuture<'a, Result<(), String>>;
}

/// The processes of a client.
pub trait Processes: Send + Sync {
    /// Starts a command. Each call starts another one.
    ///
    /// After an error nothing runs, as far as the client tells. If the future is dropped, a command
    /// that the client has started meanwhile is ended.
    fn start(&self, command: ClientCommand) -> BoxFuture<'_, Result<Box<dyn Process>, String>>;
}

/// A command for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCommand {
    /// The program, to be started as it is and not by a shell.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder that it starts in, absolute.
    pub folder: String,
    /// Variables that are added to the client's environment.
    pub environment: Vec<(String, String)>,
    /// How many bytes of output the client keeps; it drops the beginning of what is longer.
    pub most_output: u64,
}

/// A command that a client has started. Dropping it ends the command and frees what the client
/// keeps of it.
pub trait Process: Send + Sync {
    /// Waits until the command has ended. May be called again, and may be dropped at any await.
    fn ended(&self) -> BoxFuture<'_, Result<ProcessEnd, String>>;

    /// Returns what the command has printed so far.
    fn output(&self) -> BoxFuture<'_, Result<ProcessOutput, String>>;

    /// Ends the command; the output stays. A command that has ended stays as it is.
    fn kill(&self) -> BoxFuture<'_, Result<(), String>>;
}

/// How a process of a client ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// With this code.
    Exit(i32),
    /// By this signal, as the client calls it.
    Signal(String),
    /// The client does not say.
    Unknown,
}

/// What a process of a client has printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessOutput {
    /// The text, both streams together.
    pub text: String,
    /// Whether the client has dropped the beginning.
    pub truncated: bool,
}
