//! The events of a birth: of the root, a session; of a child, who it is.

use offshoot_types::date::iso;
use offshoot_types::event::{Entry, Origin, Parent, Purpose, Spawned};
use offshoot_types::id::TreeId;

use crate::wire::Body;
use crate::wire::session::{Context, ModelChange, Start};
use crate::wire::subagent::{Configured, ExecutionMode, Selected, Started};

/// Returns the events of a birth.
pub(super) fn bodies(tree: &TreeId, entry: &Entry, spawned: &Spawned) -> Vec<Body> {
    match &spawned.origin {
        Origin::Session { workspace, .. } => vec![Body::SessionStart(Start {
            session_id: entry.agent.clone(),
            version: 1,
            producer: "offshoot",
            copilot_version: env!("CARGO_PKG_VERSION"),
            start_time: iso(entry.at),
            selected_model: spawned.model.clone(),
            reasoning_effort: spawned.profile.effort,
            context: Context {
                cwd: workspace.clone(),
            },
            agent_name: spawned.definition.clone(),
        })],
        Origin::Task(parent) => child(tree, spawned, parent),
        Origin::Helper(helper) => match helper.purpose {
            Purpose::Compaction => vec![Body::CompactionStart {}],
            Purpose::Title | Purpose::Summary => Vec::new(),
        },
    }
}

fn child(tree: &TreeId, spawned: &Spawned, parent: &Parent) -> Vec<Body> {
    let name = || spawned.definition.clone();
    let execution_mode = if parent.background {
        ExecutionMode::Background
    } else {
        ExecutionMode::Sync
    };
    let effort = spawned.profile.effort;
    vec![
        Body::SubagentStarted(Started {
            tool_call_id: parent.call.clone(),
            agent_name: name(),
            agent_display_name: name(),
            agent_description: spawned.profile.description.clone(),
            model: spawned.model.clone(),
            agent_type: name(),
            execution_mode,
            parent_id: (parent.agent != *tree.root()).then(|| parent.agent.clone()),
        }),
        Body::SubagentSelected(Selected {
            agent_name: name(),
            agent_display_name: name(),
            tools: spawned.profile.tools.clone(),
        }),
        Body::SubagentConfigured(Configured {
            model: spawned.model.clone(),
            // An agent of ours can always be asked again.
            multi_turn: true,
            reasoning_effort: effort,
        }),
        Body::ModelChange(ModelChange {
            source: "agent",
            new_model: spawned.model.clone(),
            reasoning_effort: effort,
        }),
        Body::TasksChanged {},
    ]
}
