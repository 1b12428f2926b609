//! The client's terminals: `terminal/create` and what belongs to it.
//!
//! A terminal is shown in the call that runs the command. It is killed, unless its command has ended,
//! and released when it is dropped; one that the client creates for a call that is gone by then, too.

use std::sync::atomic::{AtomicBool, Ordering};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, CreateTerminalResponse, EnvVariable, KillTerminalRequest,
    ReleaseTerminalRequest, TerminalExitStatus, TerminalId, TerminalOutputRequest,
    WaitForTerminalExitRequest,
};
use agent_client_protocol::{Client, Error};
use futures_util::future::BoxFuture;
use offshoot_types::client_ports::{ClientCommand, Process, ProcessEnd, ProcessOutput, Processes};
use offshoot_types::id::AgentId;
use tokio::sync::oneshot;

use super::ports::CallClient;
use super::wire::{Notification, ToolCallUpdate, ToolContent, Update};

/// The terminals of a client, for one call.
pub(super) struct Terminals(pub(super) CallClient);

impl Processes for Terminals {
    fn start(&self, command: ClientCommand) -> BoxFuture<'_, Result<Box<dyn Process>, String>> {
        Box::pin(async move {
            let session = self.0.session_id().await?;
            let terminal = self.create(&session, command).await?;
            self.show(session, &terminal.id).await;
            Ok(Box::new(terminal) as Box<dyn Process>)
        })
    }
}

impl Terminals {
    async fn create(&self, session: &str, command: ClientCommand) -> Result<Terminal, String> {
        let environment = command.environment.into_iter();
        let request = CreateTerminalRequest::new(session.to_owned(), command.program)
            .args(command.arguments)
            .env(
                environment
                    .map(|(name, value)| EnvVariable::new(name, value))
                    .collect(),
            )
            .cwd(std::path::PathBuf::from(command.folder))
            .output_byte_limit(command.most_output);
        let (created, wait) = oneshot::channel();
        let (client, session) = (self.0.session.client.clone(), session.to_owned());
        // A task of the connection: the call may be dropped before the client has answered.
        let spawned = self.0.session.client.spawn(async move {
            let response = client.send_request(request).block_task().await;
            let terminal = response.map(|CreateTerminalResponse { terminal_id, .. }| Terminal {
                client,
                session,
                id: terminal_id,
                has_ended: AtomicBool::new(false),
            });
            // If the call was dropped meanwhile, the terminal is released here.
            drop(created.send(terminal));
            Ok(())
        });
        let gone = || "the connection is closed".to_owned();
        spawned.map_err(|_| gone())?;
        let created: Result<Terminal, Error> = wait.await.map_err(|_| gone())?;
        created.map_err(|error| error.message)
    }

    /// Shows the terminal in the call that it belongs to.
    async fn show(&self, session: String, terminal: &TerminalId) {
        let content = ToolContent::Terminal {
            terminal_id: terminal.to_string(),
        };
        let update = Update::ToolCallUpdate(ToolCallUpdate {
            tool_call_id: self.0.call_id(),
            status: None,
            content: Some(vec![content]),
            raw_output: None,
            meta: None,
        });
        let session_id = AgentId::new(session);
        let notification = Notification { session_id, update };
        self.0.session.outgoing.update(&notification).await;
    }
}

/// A terminal that the client has created.
struct Terminal {
    client: ConnectionTo<Client>,
    session: String,
    id: TerminalId,
    has_ended: AtomicBool,
}

impl Process for Terminal {
    fn ended(&self) -> BoxFuture<'_, Result<ProcessEnd, String>> {
        Box::pin(async move {
            let request = WaitForTerminalExitRequest::new(self.session.clone(), self.id.clone());
            let response = self.client.send_request(request).block_task().await;
            let response = response.map_err(|error| error.message)?;
            self.has_ended.store(true, Ordering::Relaxed);
            Ok(end(response.exit_status))
        })
    }

    fn output(&self) -> BoxFuture<'_, Result<ProcessOutput, String>> {
        Box::pin(async move {
            let request = TerminalOutputRequest::new(self.session.clone(), self.id.clone());
            let response = self.client.send_request(request).block_task().await;
            let response = response.map_err(|error| error.message)?;
            Ok(ProcessOutput {
                text: response.output,
                truncated: response.truncated,
            })
        })
    }

    fn kill(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let request = KillTerminalRequest::new(self.session.clone(), self.id.clone());
            let response = self.client.send_request(request).block_task().await;
            response.map(drop).map_err(|error| error.message)
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let (session, id) = (&self.session, &self.id);
        if !self.has_ended.load(Ordering::Relaxed) {
            let kill = KillTerminalRequest::new(session.clone(), id.clone());
            self.client.send_request(kill).detach();
        }
        let release = ReleaseTerminalRequest::new(session.clone(), id.clone());
        self.client.send_request(release).detach();
    }
}

fn end(status: TerminalExitStatus) -> ProcessEnd {
    match (status.signal, status.exit_code) {
        (Some(signal), _) => ProcessEnd::Signal(signal),
        (None, Some(code)) => ProcessEnd::Exit(i32::try_from(code).unwrap_or(i32::MAX)),
        (None, None) => ProcessEnd::Unknown,
    }
}
