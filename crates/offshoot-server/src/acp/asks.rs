//! What agents ask a person: a permission, or a question in words, as requests to the client.
//!
//! A request is sent for each open ask and withdrawn when the ask is over: dropping the wait sends
//! `$/cancel_request`. In the flat form every request is on the root's session, with the path of the agent
//! that asks in its title: a client that knows no child sessions would lose it otherwise.

use std::collections::BTreeMap;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, ElicitationAction, ElicitationContentValue, ElicitationFormMode,
    ElicitationSchema, ElicitationSessionScope, PermissionOption, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionRequest, ToolCallUpdate, ToolCallUpdateFields,
};
use agent_client_protocol::{
    Client, Error, is_connection_terminated, is_incoming_transport_closed,
};
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use offshoot_types::command::Verdict;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::question::Question;
use serde_json::json;

use super::wire::ToolCall;

/// An ask that a client is to answer.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// The session that the request is on.
    pub(super) session: AgentId,
    /// The call as the client has been shown it, or would have been.
    pub(super) shown: ToolCall,
    /// From below the root down to the agent that asks, by definition; empty for the root.
    pub(super) path: Vec<String>,
    /// What the agent wants to know; empty for a permission.
    pub(super) questions: Vec<Question>,
}

/// The requests to the client that are open in one session, and the answers on their way to the agents.
#[derive(Default)]
pub(super) struct OpenAsks {
    asked: BTreeMap<(AgentId, CallId), AbortHandle>,
    answers: FuturesUnordered<BoxFuture<'static, Option<Answered>>>,
}

/// The answer of the client to what an agent asked.
pub(super) struct Answered {
    pub(super) agent: AgentId,
    pub(super) call: CallId,
    pub(super) verdict: Verdict,
}

impl OpenAsks {
    /// Asks the client, in the place of an earlier request about the same call.
    pub(super) fn put(
        &mut self,
        agent: AgentId,
        call: CallId,
        answer: impl Future<Output = Option<Verdict>> + Send + 'static,
    ) {
        let (handle, registration) = AbortHandle::new_pair();
        let answer = Abortable::new(answer, registration);
        self.withdraw(&agent, &call);
        self.asked.insert((agent.clone(), call.clone()), handle);
        self.answers.push(Box::pin(async move {
            let verdict = answer.await.ok()??;
            Some(Answered {
                agent,
                call,
                verdict,
            })
        }));
    }

    /// Takes back the request about a call.
    pub(super) fn withdraw(&mut self, agent: &AgentId, call: &CallId) {
        if let Some(handle) = self.asked.remove(&(agent.clone(), call.clone())) {
            handle.abort();
        }
    }

    /// Takes back all requests of these agents.
    pub(super) fn withdraw_of(&mut self, is_of: impl Fn(&AgentId) -> bool) {
        for (_, handle) in self.asked.extract_if(.., |(agent, _), _| is_of(agent)) {
            handle.abort();
        }
    }

    /// Waits for the next answer of the client. Requests that were taken back have none (rule 17).
    pub(super) async fn next(&mut self) -> Answered {
        loop {
            match self.answers.next().await {
                Some(Some(answer)) => {
                    let key = (answer.agent.clone(), answer.call.clone());
                    if self.asked.remove(&key).is_some() {
                        return answer;
                    }
                }
                Some(None) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Carries an answer to its agent, beside everything else.
    pub(super) fn carry(&mut self, carried: impl Future<Output = ()> + Send + 'static) {
        self.answers.push(Box::pin(async move {
            carried.await;
            None
        }));
    }
}

/// Options of a permission request, by what they mean here.
const OPTIONS: [(&str, &str, PermissionOptionKind); 4] = [
    ("once", "Allow once", PermissionOptionKind::AllowOnce),
    (
        "agent",
        "Always allow for this agent",
        PermissionOptionKind::AllowAlways,
    ),
    (
        "session",
        "Always allow in this session",
        PermissionOptionKind::AllowAlways,
    ),
    ("deny", "Deny", PermissionOptionKind::RejectOnce),
];

impl Ask {
    /// Asks the client and returns its answer; `None` if the connection ended first: then the ask stays.
    pub(super) async fn put(self, client: ConnectionTo<Client>, forms: bool) -> Option<Verdict> {
        let answer = match (self.questions.as_slice(), forms) {
            ([], _) => self.permission(&client).await,
            (_, true) => self.form(&client).await,
            ([one], false) if !one.options.is_empty() && !one.multi_select => {
                self.choice(one, &client).await
            }
            (_, false) => Ok(deny("the client cannot ask its user questions")),
        };
        match answer {
            Ok(verdict) => Some(verdict),
            // The library fails open requests a moment before it says that the client is gone.
            Err(error)
                if is_incoming_transport_closed(&error)
                    || is_connection_terminated(&error)
                    || client.is_incoming_closed() =>
            {
                None
            }
            Err(error) => {
                let why = format!("the client failed to ask its user: {}", error.message);
                Some(deny(&why))
            }
        }
    }

    async fn permission(&self, client: &ConnectionTo<Client>) -> Result<Verdict, Error> {
        let options = OPTIONS.map(|(id, name, kind)| PermissionOption::new(id, name, kind));
        let chosen = self.choose(options.to_vec(), client).await?;
        Ok(match chosen.as_deref() {
            Some("once") => Verdict::Once,
            Some("agent") => Verdict::Agent,
            Some("session") => Verdict::Session,
            Some("deny") => deny(""),
            Some(other) => deny(&format!("the client chose {other}, which was not offered")),
            None => deny("the client cancelled the request"),
        })
    }

    /// Puts a question with choices as a permission request, for clients without forms.
    async fn choice(
        &self,
        question: &Question,
        client: &ConnectionTo<Client>,
    ) -> Result<Verdict, Error> {
        let kind = PermissionOptionKind::AllowOnce;
        let option = |(at, choice): (usize, &offshoot_types::question::Choice)| {
            PermissionOption::new(at.to_string(), choice.label.clone(), kind)
        };
        let options = question.options.iter().enumerate().map(option).collect();
        let chosen = self.choose(options, client).await?;
        let label = chosen
            .and_then(|chosen| chosen.parse::<usize>().ok())
            .and_then(|at| question.options.get(at));
        Ok(match label {
            Some(choice) => Verdict::Said {
                answers: vec![vec![choice.label.clone()]],
            },
            None => deny("the user did not answer"),
        })
    }

    /// Returns the option that the user chose; `None` if the request was cancelled.
    async fn choose(
        &self,
        options: Vec<PermissionOption>,
        client: &ConnectionTo<Client>,
    ) -> Result<Option<String>, Error> {
        let shown = serde_json::to_value(&self.shown).map_err(Error::into_internal_error)?;
        let fields: ToolCallUpdateFields =
            serde_json::from_value(shown).map_err(Error::into_internal_error)?;
        let call = ToolCallUpdate::new(self.shown.tool_call_id.clone(), fields.title(self.title()));
        let session = self.session.as_str().to_owned();
        let request = RequestPermissionRequest::new(session, call, options);
        let response = client.send_request(request).block_task().await?;
        Ok(match response.outcome {
            RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.to_string()),
            _ => None,
        })
    }

    async fn form(&self, client: &ConnectionTo<Client>) -> Result<Verdict, Error> {
        let session = self.session.as_str().to_owned();
        let scope = ElicitationSessionScope::new(session).tool_call_id(
            agent_client_protocol::v1::schema::ToolCallId::new(self.shown.tool_call_id.as_str()),
        );
        let form = ElicitationFormMode::new(scope, schema(&self.questions)?);
        let request = CreateElicitationRequest::new(form, self.message());
        let response = client.send_request(request).block_task().await?;
        let ElicitationAction::Accept(accepted) = response.action else {
            return Ok(deny("the user did not answer"));
        };
        let content = accepted.content.unwrap_or_default();
        let answer = |at: usize| match content.get(&field(at)) {
            Some(ElicitationContentValue::String(text)) => vec![text.clone()],
            Some(ElicitationContentValue::StringArray(texts)) => texts.clone(),
            Some(ElicitationContentValue::Integer(number)) => vec![number.to_string()],
            Some(ElicitationContentValue::Number(number)) => vec![number.to_string()],
            Some(ElicitationContentValue::Boolean(value)) => vec![value.to_string()],
            _ => Vec::new(),
        };
        let answers = (0..self.questions.len()).map(answer).collect();
        Ok(Verdict::Said { answers })
    }

    /// Returns the title of the request: the call, behind the path of the agent that asks.
    fn title(&self) -> String {
        let title = match self.questions.as_slice() {
            [one] => one.question.as_str(),
            _ => self.shown.title.as_str(),
        };
        if self.path.is_empty() {
            return title.to_owned();
        }
        format!("{}: {title}", self.path.join(" > "))
    }

    /// Returns what stands above a form.
    fn message(&self) -> String {
        let questions: Vec<&str> = self
            .questions
            .iter()
            .map(|it| it.question.as_str())
            .collect();
        let questions = questions.join("\n");
        if self.path.is_empty() {
            return questions;
        }
        format!("{}: {questions}", self.path.join(" > "))
    }
}

fn deny(reason: &str) -> Verdict {
    Verdict::Deny {
        reason: reason.to_owned(),
    }
}

fn field(at: usize) -> String {
    format!("question_{}", at + 1)
}

/// Returns the form for questions. Choices are offers, so a text may say something else only where there
/// are none.
fn schema(questions: &[Question]) -> Result<ElicitationSchema, Error> {
    let mut properties = serde_json::Map::new();
    for (at, question) in questions.iter().enumerate() {
        let title = question.header.as_deref().unwrap_or(&question.question);
        let named = question.options.iter().map(|choice| {
            let title = match &choice.description {
                Some(description) => format!("{}: {description}", choice.label),
                None => choice.label.clone(),
            };
            json!({ "const": choice.label, "title": title })
        });
        let named: Vec<_> = named.collect();
        let text = &question.question;
        let property = match (named.is_empty(), question.multi_select) {
            (true, _) => json!({ "type": "string", "title": title, "description": text }),
            (false, false) => {
                json!({ "type": "string", "title": title, "description": text, "oneOf": named })
            }
            (false, true) => json!({
                "type": "array", "title": title, "description": text, "minItems": 1,
                "items": { "anyOf": named },
            }),
        };
        properties.insert(field(at), property);
    }
    let required: Vec<String> = (0..questions.len()).map(field).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    serde_json::from_value(schema).map_err(Error::into_internal_error)
}
