//! What a run leaves behind: its report, checked and kept.
//!
//! Added to a settlement before it is committed, once: the value of an answer
//! that had to fit a schema, the files the run really changed, and, where the
//! parent is shown less than there is, the file that has the rest. A parent that
//! gets no good answer gets the way to it instead: the transcript, as a file that
//! `read` opens. Nothing here decides how a run ended, but for one case: an
//! answer that does not fit its schema is not whole.

use offshoot_types::event::Event;
use offshoot_types::id::MessageId;
use offshoot_types::json::RawJson;
use offshoot_types::message::{AssistantMessage, Author, UserMessage};
use offshoot_types::settlement::{PartialReason, Settlement, Status};
use offshoot_types::transcript::Transcript;

use crate::agent::Agent;
use crate::answer;
use crate::context::Prefix;
use crate::narrate::{self, Detail};
use crate::schema::Shape;
use crate::settle;
use crate::task::TASK;

/// Most files that a settlement names.
const MOST_FILES: usize = 100;

/// Most bytes of a transcript that are kept for a parent.
const MOST_OF_TRANSCRIPT: usize = 1024 * 1024;

/// What is wrong with an answer, said once.
pub(crate) struct Objection(UserMessage);

impl Objection {
    /// Returns the entries that put it behind the answer.
    pub(crate) fn raise(self, answer: AssistantMessage) -> Vec<Event> {
        let prompt = self.0.id.clone();
        vec![
            Event::Replied(answer),
            Event::Prompted(self.0),
            Event::Steered { prompt },
        ]
    }
}

impl Agent {
    /// Returns what is wrong with an answer that has to fit a schema.
    pub(crate) fn objection(
        &self,
        prefix: &Prefix,
        answer: &AssistantMessage,
    ) -> Option<Objection> {
        let text = answer.text().unwrap_or_default();
        let why = self.fit(prefix, &text)?.err()?;
        // Something else waits already: it comes first, and an answer may follow from it.
        let state = self.board.state();
        let waits = state.tree.agent(&self.id)?;
        if !waits.queue.is_empty() {
            return None;
        }
        Some(Objection(UserMessage {
            id: MessageId::new(self.parts.env.new_id()),
            text: answer::complaint(&why).into(),
            from: Author::Host,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        }))
    }

    /// Completes the record of a run that is about to settle, and ends what the run left running.
    pub(crate) async fn finish(&self, settlement: &mut Settlement, transcript: &Transcript) {
        self.end_leftovers().await;
        settlement.files = self.changed_files();
        self.check_answer(settlement);
        // Nobody is handed a root's, or what a helper could not do.
        if !self.is_root() && self.helps.is_none() {
            self.keep_answer(settlement).await;
            self.keep_transcript(settlement, transcript).await;
        }
    }

    /// Returns the files that the run changed, as the workspace names them.
    fn changed_files(&self) -> Vec<String> {
        let state = self.board.state();
        let Some(node) = state.node(&self.id) else {
            return Vec::new();
        };
        let root = format!("{}/", self.workspace.trim_end_matches('/'));
        let short = |path: &String| path.strip_prefix(&root).unwrap_or(path).to_owned();
        node.files.iter().take(MOST_FILES).map(short).collect()
    }

    /// Holds an answer against its schema.
    pub(crate) fn check_answer(&self, settlement: &mut Settlement) {
        let Ok(prefix) = self.prefix() else {
            return;
        };
        if settlement.status != Status::Completed {
            return;
        }
        let text = settlement.output.as_deref().unwrap_or_default();
        match self.fit(&prefix, text) {
            Some(Ok(value)) => settlement.value = Some(value),
            Some(Err(_)) => settlement.status = Status::Partial(PartialReason::Schema),
            None => {}
        }
    }

    /// Holds an answer against the schema of the message that is being answered, or else against that of
    /// the manifest. Returns the value, or what is wrong with it; `None` without a schema.
    fn fit(&self, prefix: &Prefix, text: &str) -> Option<Result<RawJson, String>> {
        let of_message = {
            let state = self.board.state();
            state.tree.agent(&self.id)?.tally.output_schema.clone()
        };
        Some(match of_message {
            Some(schema) => Shape::compile(&schema).and_then(|schema| answer::fit(&schema, text)),
            None => answer::fit(prefix.answer.as_ref()?, text),
        })
    }

    /// Keeps the whole of a long answer where the parent can read it.
    async fn keep_answer(&self, settlement: &mut Settlement) {
        if settle::is_long(settlement)
            && let Some(text) = settlement.output.clone()
        {
            let kept = self.parts.sidecars.keep(self.place(), TASK, text);
            settlement.output_path = kept.await;
        }
    }

    /// Keeps what a run did that has no good answer.
    async fn keep_transcript(&self, settlement: &mut Settlement, transcript: &Transcript) {
        let is_needed = match &settlement.status {
            Status::Failed { .. }
            | Status::BudgetExhausted(_)
            | Status::Partial(
                PartialReason::Budget(_) | PartialReason::NoAnswer | PartialReason::Schema,
            ) => true,
            Status::Completed
            | Status::Partial(
                PartialReason::Length | PartialReason::Refusal | PartialReason::Wakes,
            )
            | Status::Cancelled(_)
            | Status::Denied { .. }
            | Status::Lost { .. } => false,
        };
        if is_needed && settlement.steps > 0 {
            let mut text = render(transcript);
            // The last words may not be in it yet.
            if let Some(last) = &settlement.output {
                narrate::push(&mut text, "its last text", last);
            }
            let kept = self.parts.sidecars.keep(self.place(), "transcript", text);
            settlement.transcript_path = kept.await;
        }
    }
}

/// Renders a conversation for whoever reads it as a file; of a long one, the end.
fn render(transcript: &Transcript) -> String {
    let mut text = String::new();
    for item in transcript.items() {
        narrate::push_item(&mut text, item, Detail::All);
    }
    if text.len() > MOST_OF_TRANSCRIPT {
        let cut = text.ceil_char_boundary(text.len() - MOST_OF_TRANSCRIPT);
        let rest = text.split_off(cut);
        return format!("[{cut} bytes before this are left out]\n{rest}");
    }
    text
}
