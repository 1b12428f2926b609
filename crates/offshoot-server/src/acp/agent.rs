//! What the fold remembers of one agent.

use std::collections::BTreeMap;

use offshoot_types::event::{Parent, Spawned};
use offshoot_types::id::{AgentId, CallId, MessageId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{StopReason, UserMessage};
use offshoot_types::question::Question;

use super::said::Given;
use super::wire::{ChildTranscript, Run, RunMode, State, SubagentRun};

/// What has to be remembered of an agent.
pub(super) struct Agent {
    pub(super) id: AgentId,
    pub(super) spawned: Spawned,
    /// What it has been asked and has not taken up.
    pub(super) queued: BTreeMap<MessageId, UserMessage>,
    /// Calls without an outcome.
    pub(super) open: BTreeMap<CallId, OpenCall>,
    /// Calls that wait for a person, and what their agent wants to know; empty for a permission.
    pub(super) asks: BTreeMap<CallId, Vec<Question>>,
    /// What was told of it last.
    pub(super) state: Option<State>,
    /// Why its model stopped last.
    pub(super) stop: Option<StopReason>,
    /// The first line of what it was made for.
    pub(super) task: Option<String>,
    /// The call that stands for its open run, in the flat form.
    pub(super) run_call: Option<String>,
    /// The last steps of its open run, in the flat form.
    pub(super) steps: Vec<String>,
    /// How many entries its own transcript has, and how many of them are of earlier runs.
    pub(super) entries: usize,
    pub(super) first_entry: usize,
    /// What was shown of its open message.
    pub(super) given: Given,
}

/// A call without an outcome.
pub(super) struct OpenCall {
    pub(super) tool: String,
    pub(super) arguments: RawJson,
    /// The agent it made.
    pub(super) child: Option<AgentId>,
}

impl Agent {
    pub(super) fn born(id: &AgentId, spawned: &Spawned) -> Self {
        Self {
            id: id.clone(),
            spawned: spawned.clone(),
            queued: BTreeMap::new(),
            open: BTreeMap::new(),
            asks: BTreeMap::new(),
            state: None,
            stop: None,
            task: None,
            run_call: None,
            steps: Vec::new(),
            entries: 0,
            first_entry: 0,
            given: Given::default(),
        }
    }

    /// Returns the call that made it; `None` for the root.
    pub(super) fn parent(&self) -> Option<&Parent> {
        self.spawned.parent()
    }

    /// Returns what our own clients want to know of a child; `None` for the root.
    pub(super) fn run(&self, tool_call_id: String) -> Option<Run> {
        let parent = self.parent()?;
        Some(Run {
            subagent: SubagentRun {
                child_session_id: self.id.clone(),
                subagent_id: self.spawned.definition.clone(),
                run_mode: if parent.background {
                    RunMode::Background
                } else {
                    RunMode::Foreground
                },
                display_name: self.title(),
            },
            tool_call_id,
            depth: self.spawned.depth,
        })
    }

    /// Returns what clients are told beside the call of its run; `None` for the root.
    pub(super) fn made(&self, tool_call_id: String) -> Option<(Run, ChildTranscript)> {
        let transcript = ChildTranscript {
            session_id: self.id.clone(),
            message_start_index: self.first_entry,
            message_end_index: self.entries.checked_sub(1),
        };
        Some((self.run(tool_call_id)?, transcript))
    }

    /// Returns what a list calls it: what it is, and what for.
    pub(super) fn title(&self) -> String {
        let definition = &self.spawned.definition;
        match &self.task {
            Some(task) if !task.is_empty() => format!("{definition}: {task}"),
            Some(_) | None => definition.clone(),
        }
    }
}
