//! Calls of tools that clients of a session carry out (ruling 2).
//!
//! Such a call is judged as any other. Once it may run it waits, as a question does:
//! an entry says so, it holds no slot, and a client that is attached to the session
//! answers with what it came to. The first answer that fits counts. A wait of a root
//! outlives its process, whether that crashes or ends in good order; only a person who
//! stops the turn, or a cap, withdraws it. Nothing here knows which client answers.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_types::client_tool::{self, ClientTool, MAX_RESULT_BYTES, ToolResult};
use offshoot_types::command::{Receipt, Verdict};
use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision, Need};
use offshoot_types::store::StoreError;
use offshoot_types::tool::{Place, Tool, ToolSpec, Work};
use offshoot_types::tree::Ask;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::ask::{self, Answered, Asking};
use crate::kit::Kit;
use crate::scheduler::Finished;
use crate::schema::Shape;
use crate::scope;

/// A client tool as the permission chain sees it. The scheduler has a call of it wait; it never runs.
struct Declared {
    spec: ToolSpec,
    needs_permission: bool,
}

/// Returns a client tool as the chain is to judge it.
pub(crate) fn tool(tool: &ClientTool) -> Arc<dyn Tool> {
    Arc::new(Declared {
        spec: tool.spec(),
        needs_permission: !tool.skip_permission,
    })
}

/// Returns the tool of a call that waits already: it may have been taken from the session since.
pub(crate) fn named(name: &str) -> Arc<dyn Tool> {
    tool(&ClientTool {
        name: name.to_owned(),
        description: String::new(),
        parameters: RawJson::of(&serde_json::json!({})),
        read_only: false,
        skip_permission: false,
    })
}

impl Tool for Declared {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self, _: &RawJson, _: &Place) -> Result<Vec<Need>, String> {
        let need = Need::new(Need::CLIENT_TOOL, self.spec.id.clone());
        Ok(self.needs_permission.then_some(need).into_iter().collect())
    }

    fn requires(&self) -> &[&'static str] {
        if self.needs_permission {
            &[Need::CLIENT_TOOL]
        } else {
            &[]
        }
    }

    fn run(&self, _: Work) -> BoxFuture<'static, Outcome> {
        let text = format!(
            "{} is carried out by a client, not by the process",
            self.spec.id
        );
        let outcome = Outcome::error(ErrorKind::Failed, text);
        Box::pin(std::future::ready(outcome))
    }
}

/// Says why a session cannot have client tools because it has tools of their names, if so.
pub(crate) fn check_names(kit: &Kit, tools: &[ClientTool]) -> Result<(), String> {
    let is_taken = |tool: &&ClientTool| kit.tools.iter().any(|it| it.spec().id == tool.name);
    let taken = tools.iter().find(is_taken);
    taken.map_or(Ok(()), |tool| Err(name_is_taken(&tool.name)))
}

fn name_is_taken(name: &str) -> String {
    format!("client tool {name}: there is a tool of that name already; choose another")
}

/// Says why no session can have these client tools, if so.
pub(crate) fn check(tools: &[ClientTool]) -> Result<(), String> {
    client_tool::check(tools)?;
    for tool in tools {
        let name = &tool.name;
        if scope::own_tools().any(|own| own == name) {
            return Err(name_is_taken(name));
        }
        let schema: Result<serde_json::Map<String, serde_json::Value>, _> = tool.parameters.read();
        schema
            .map_err(|error| error.to_string())
            .and_then(|_| Shape::compile(&tool.parameters).map(drop))
            .map_err(|why| format!("client tool {name}: its schema is not one: {why}"))?;
    }
    Ok(())
}

/// Says why a result cannot be stored, if so.
pub(crate) fn check_result(result: &ToolResult) -> Result<(), String> {
    let bytes = result.bytes();
    if bytes > MAX_RESULT_BYTES {
        return Err(format!(
            "the result has {bytes} bytes; a result of a client tool may have {MAX_RESULT_BYTES}"
        ));
    }
    Ok(())
}

/// Returns what a call waits for once it may run.
pub(crate) fn wait_of_call() -> Ask {
    Ask {
        waits_for_client: true,
        ..Ask::default()
    }
}

/// Returns why a call waits: no chain says so.
pub(crate) fn decision() -> Decision {
    Decision {
        action: Action::Ask,
        layer: "the session, whose clients carry it out".to_owned(),
        rule: None,
    }
}

/// Waits for what the call comes to.
pub(crate) async fn wait(
    agent: &Agent,
    call: CallId,
    name: String,
    ask: Ask,
    cancel: &CancellationToken,
) -> Result<Finished, StoreError> {
    let asking = Asking {
        call: &call,
        tool: &name,
        ask: &ask,
        runs: None,
    };
    Ok(match ask::answer(agent, asking, cancel).await {
        Answered::By(order, Verdict::Returned(result)) => {
            Finished::answered(call, result.into(), (*order, Receipt::Answered))
        }
        // `ask::misfit` lets no other answer through, and such a wait has no deadline.
        Answered::By(..) | Answered::Granted(_) | Answered::TooLate | Answered::Cancelled => {
            let text = format!("{name} was cancelled before a client returned its result");
            Finished::of(call, Outcome::error(ErrorKind::Cancelled, text))
        }
    })
}
