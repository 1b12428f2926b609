//! What stands below an entry: on what terms an agent was born, and what its run came to.
//!
//! One line for each thing there is to say, its name before it. What is as it
//! always is gets no line. Pure, and as harmless to a terminal as the entry.

use offshoot_types::caps::Caps;
use offshoot_types::event::{Event, Origin, Spawned};
use offshoot_types::id::MessageId;
use offshoot_types::permission::Action;
use offshoot_types::report::Report;
use offshoot_types::settlement::{Settlement, Unread, UnreadResult};

use super::{Length, MOST, harmless};

/// Returns what stands below an entry: names, and what there is to say.
pub(super) fn details(event: &Event, length: Length) -> Vec<(&'static str, String)> {
    let details = match event {
        Event::Spawned(spawned) => birth(spawned),
        Event::Settled { settlement, .. } => end(settlement),
        Event::Prompted(message) => name(&message.id, length),
        Event::Replied(message) => name(&message.id, length),
        Event::Completion { message, .. } => name(message, length),
        Event::Compacted(compaction) => name(&compaction.message, length),
        Event::Titled { .. }
        | Event::Summarised { .. }
        | Event::ClientTools { .. }
        | Event::RoleChosen(_)
        | Event::Hooked(_)
        | Event::Rewound { .. }
        | Event::Became(_)
        | Event::TurnStarted { .. }
        | Event::Steered { .. }
        | Event::Asked { .. }
        | Event::Decided { .. }
        | Event::CallStarted { .. }
        | Event::CallFinished { .. }
        | Event::TurnEnded { .. } => Vec::new(),
    };
    let said = details.into_iter().filter(|(_, text)| !text.is_empty());
    said.map(|(name, text)| (name, harmless(&length.cut(text.trim(), MOST))))
        .collect()
}

/// The id of a message, by which it can be gone back to; where all is wanted.
fn name(message: &MessageId, length: Length) -> Vec<(&'static str, String)> {
    match length {
        Length::Cut => Vec::new(),
        Length::Full => vec![("message", message.to_string())],
    }
}

/// The receipt of a spawn: what the agent really got.
fn birth(spawned: &Spawned) -> Vec<(&'static str, String)> {
    let terms = &spawned.terms;
    let mut model = match &spawned.origin {
        // The entry itself names it.
        Origin::Session { .. } => String::new(),
        Origin::Task(_) | Origin::Helper(_) => super::model(&spawned.model),
    };
    if let Some(effort) = terms.effort {
        let comma = if model.is_empty() { "" } else { ", " };
        model.push_str(&format!("{comma}effort {effort}"));
    }
    let sees = match &spawned.origin {
        Origin::Session { .. } | Origin::Helper(_) => String::new(),
        Origin::Task(_) => terms.context.to_string(),
    };
    let only = if terms.read_only { "reading" } else { "" };
    let tools = match terms.tools.as_slice() {
        [] => "none".to_owned(),
        tools => tools.join(", "),
    };
    let permissions = terms.permissions.iter().map(|(capability, action)| {
        let word = match action {
            Action::Allow => "allow",
            Action::Ask => "ask",
            Action::Deny => "deny",
        };
        format!("{capability} {word}")
    });
    let mut permissions = permissions.collect::<Vec<_>>().join(", ");
    if !permissions.is_empty() {
        // It was asked about no path or command in particular; `permissions explain` says more.
        permissions.push_str(", where no rule names the target");
    }
    let copied = match &spawned.origin {
        Origin::Session {
            copy: Some(copied), ..
        } => format!("from {}, up to {}", copied.session, copied.message),
        Origin::Session { .. } | Origin::Task(_) | Origin::Helper(_) => String::new(),
    };
    vec![
        ("copied", copied),
        ("model", model),
        ("context", sees),
        ("only", only.to_owned()),
        ("tools", tools),
        ("missing", terms.missing_tools.join(", ")),
        ("barred", terms.barred_tools.join(", ")),
        ("limits", caps(&terms.caps)),
        ("may", permissions),
    ]
}

/// Renders what a run may use: `16 requests, 1h, 5m without progress`.
fn caps(caps: &Caps) -> String {
    let Caps {
        steps,
        tokens,
        cost,
        time,
        stall,
        descendants,
    } = caps;
    let caps = [
        steps.map(|steps| many(steps.into(), "request")),
        tokens.map(|tokens| many(tokens, "token")),
        cost.map(|cost| cost.to_string()),
        time.map(|time| time.to_string()),
        stall.map(|stall| format!("{stall} without progress")),
        descendants.map(|agents| format!("{} below", many(agents.into(), "agent"))),
    ];
    let caps: Vec<String> = caps.into_iter().flatten().collect();
    caps.join(", ")
}

/// Renders a number of things: `1 request`, `2 requests`.
fn many(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        count => format!("{count} {thing}s"),
    }
}

/// Names the results that a run has not read.
fn unread(unread: &Unread) -> String {
    let name = |it: &UnreadResult| format!("{} {} ({})", it.definition, it.agent, it.status);
    let mut names: Vec<String> = unread.results.iter().map(name).collect();
    if unread.left_out > 0 {
        names.push(format!("{} more", unread.left_out));
    }
    names.join(", ")
}

/// What a run came to, beyond its words.
fn end(settlement: &Settlement) -> Vec<(&'static str, String)> {
    let path = |path: &Option<String>| path.clone().unwrap_or_default();
    let mut details = Vec::new();
    if let Some(report) = &settlement.report {
        let Report {
            scope,
            result,
            key_files,
            files_changed,
            issues,
        } = report.as_ref();
        let fields = [
            ("scope", scope),
            ("result", result),
            ("key files", key_files),
            ("says", files_changed),
            ("issues", issues),
        ];
        details.extend(fields.map(|(name, text)| (name, text.clone())));
    }
    let value = settlement.value.as_ref();
    details.extend([
        (
            "value",
            value.map_or_else(String::new, |value| value.as_str().to_owned()),
        ),
        ("changed", settlement.files.join(", ")),
        (
            "unread",
            settlement
                .unread
                .as_deref()
                .map_or_else(String::new, unread),
        ),
        ("answer", path(&settlement.output_path)),
        ("transcript", path(&settlement.transcript_path)),
    ]);
    details
}
