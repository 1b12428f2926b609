//! Two sequences of events in a form in which they can be compared.
//!
//! Ids become the order in which they first appear. Everything else that is not
//! compared stands in `lists.rs`, with the reason.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::lists::{DIFFERENT, Fields, HINTS, LEFT_OUT, LEFT_OUT_EVENTS, LIVE_EVENTS, OURS};

/// Where events come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Captured,
}

/// Events that can be compared.
pub(super) struct Normal {
    events: Vec<Value>,
}

impl Normal {
    pub(super) fn of(mut events: Vec<Value>, side: Side) -> Self {
        events.retain(|event| is_compared(event, side));
        settle_order(&mut events);
        let plain = |event: Value| self::plain(event, side);
        Self {
            events: events.into_iter().map(plain).collect(),
        }
    }

    /// Type and agent of each, in the order of all.
    pub(super) fn names(&self) -> Vec<String> {
        let mut agents = Ids::default();
        let name = |event: &Value| {
            let agent = agents.of(event["agentId"].as_str().unwrap_or_default());
            format!("{} of {agent}", event["type"])
        };
        self.events.iter().map(name).collect()
    }

    /// The events of the root, then those of each child by the call that made it.
    pub(super) fn by_agent(&self) -> Vec<Vec<Value>> {
        let mut made: Vec<(&str, &str)> = vec![("", "")];
        for event in self.of_type("subagent.started") {
            let call = event["data"]["toolCallId"].as_str().unwrap();
            made.push((call, event["agentId"].as_str().unwrap()));
        }
        made.sort_unstable();
        let of = |agent: &str| {
            let own = |event: &&Value| event["agentId"].as_str().unwrap_or_default() == agent;
            let mut own: Vec<Value> = self.events.iter().filter(own).cloned().collect();
            settle_order(&mut own);
            own
        };
        let mut groups: Vec<Vec<Value>> = made.iter().map(|(_, agent)| of(agent)).collect();
        let mut names = Names::default();
        for event in groups.iter_mut().flatten() {
            names.rename(event);
        }
        groups
    }

    fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events
            .iter()
            .filter(move |event| event["type"] == kind)
    }
}

fn is_compared(event: &Value, side: Side) -> bool {
    let kind = event["type"].as_str().unwrap();
    let left_out = LEFT_OUT_EVENTS.iter().any(|(name, _)| *name == kind);
    assert!(
        !(left_out && side == Side::Ours),
        "{kind} is given after all"
    );
    !left_out
        && !LIVE_EVENTS.contains(&kind)
        && !HINTS.contains(&kind)
        && !is_only_told_by(side, event)
}

/// What one side tells and the other does not.
fn is_only_told_by(side: Side, event: &Value) -> bool {
    let data = &event["data"];
    match side {
        // That server makes up a call of its own where a background agent is told of.
        Side::Captured => {
            data["toolName"] == "read_agent"
                || data["toolRequests"][0]["name"] == "read_agent"
                || data["toolCallId"].as_str().is_some_and(|id| id.len() == 36)
        }
        // A call of ours has an outcome, also when it is aborted.
        Side::Ours => data["error"]["kind"] == "aborted_by_parent",
    }
}

/// Puts in one order what the captures have in several.
fn settle_order(events: &mut Vec<Value>) {
    // A question is asked while the message that has the call still comes, or after it.
    let asks = |event: &Value| event["type"].as_str().unwrap().starts_with("permission.");
    let (questions, rest): (Vec<Value>, Vec<Value>) = events.drain(..).partition(asks);
    for event in rest {
        let start = event["type"] == "tool.execution_start";
        let call = event["data"]["toolCallId"].clone();
        events.push(event);
        let about = |question: &&Value| {
            let data = &question["data"];
            start && (data["toolCallId"] == call || data["permissionRequest"]["toolCallId"] == call)
        };
        events.extend(questions.iter().filter(about).cloned());
    }
    let rank = |event: &Value| match event["type"].as_str().unwrap() {
        // Three events of one birth, in any order.
        "subagent.selected" => Some((0, 0)),
        "subagent.configured" => Some((0, 1)),
        "session.model_change" => Some((0, 2)),
        // Of the root it is told before its turn ends, of a child after.
        "abort" => Some((1, 0)),
        "assistant.turn_end" => Some((1, 1)),
        // nothing is told inside a running turn here; one of theirs comes just after it began.
        "system.notification" => Some((2, 0)),
        "assistant.turn_start" => Some((2, 1)),
        // Calls of one message start together, or each when the one before it has returned.
        "tool.execution_start" => Some((3, 0)),
        "tool.execution_complete" => Some((3, 1)),
        _ => None,
    };
    let mut swapped = true;
    while std::mem::take(&mut swapped) {
        for at in 1..events.len() {
            let (one, two) = (&events[at - 1], &events[at]);
            let Some(((group, first), (other, second))) = rank(one).zip(rank(two)) else {
                continue;
            };
            let together = group == other && one["agentId"] == two["agentId"];
            if together && second < first {
                events.swap(at - 1, at);
                swapped = true;
            }
        }
    }
}

/// Leaves what is compared of an event.
fn plain(mut event: Value, side: Side) -> Value {
    let kind = event["type"].as_str().unwrap().to_owned();
    let listed = |list: Fields| {
        let of_kind = list.iter().filter(|(name, _, _)| *name == kind);
        let fields = of_kind.flat_map(|(_, fields, _)| fields.split_whitespace());
        fields.collect::<Vec<&str>>()
    };
    for field in event["also"].as_array().unwrap_or(&Vec::new()) {
        let field = field.as_str().unwrap();
        assert!(
            listed(LEFT_OUT).contains(&field),
            "{kind} has {field}, which no list has"
        );
    }
    let mut data = event["data"].take();
    for path in listed(OURS) {
        take(&mut data, path);
    }
    for path in listed(DIFFERENT) {
        if take(&mut data, path) {
            put(&mut data, path);
        }
    }
    if side == Side::Ours {
        for path in listed(LEFT_OUT) {
            assert!(!take(&mut data, path), "{kind} has {path} after all");
        }
    }
    arguments_of_task(&mut data);
    long_words(&kind, &mut data);
    without_nulls(&mut data);
    let mut plain = json!({ "type": kind, "data": data });
    for field in ["agentId", "ephemeral"] {
        if let Some(value) = event.get(field) {
            plain[field] = value.clone();
        }
    }
    plain
}

/// Their `task` takes other arguments: a face converts them.
fn arguments_of_task(data: &mut Value) {
    if data["toolName"] == "task" && data.get("arguments").is_some() {
        data["arguments"] = json!("…");
    }
    for request in data["toolRequests"].as_array_mut().into_iter().flatten() {
        if request["name"] == "task" {
            request["arguments"] = json!("…");
        }
    }
}

/// What is read of a background call and of a command is in our words.
fn long_words(kind: &str, data: &mut Value) {
    let content = &data["result"]["content"];
    let ours = content
        .as_str()
        .is_some_and(|text| text.starts_with("{\"session_id\""))
        || data.get("shellExecution").is_some();
    if kind == "tool.execution_complete" && ours {
        data["result"]["content"] = json!("…");
    }
}

/// `null` says no more than absence, except of tools, where it is all of them.
fn without_nulls(data: &mut Value) {
    if let Value::Object(fields) = data {
        fields.retain(|name, value| !value.is_null() || name == "tools");
    }
}

fn parent_of<'a>(data: &'a mut Value, path: &str) -> Option<&'a mut Map<String, Value>> {
    match path.split_once('.') {
        Some((head, _)) => data.get_mut(head)?.as_object_mut(),
        None => data.as_object_mut(),
    }
}

fn take(data: &mut Value, path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap();
    parent_of(data, path).is_some_and(|parent| parent.remove(last).is_some())
}

fn put(data: &mut Value, path: &str) {
    let last = path.rsplit('.').next().unwrap();
    if let Some(parent) = parent_of(data, path) {
        parent.insert(last.to_owned(), json!("…"));
    }
}

/// Ids by the order in which they appear.
#[derive(Default)]
struct Ids(HashMap<String, usize>);

impl Ids {
    fn of(&mut self, id: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(id.to_owned()).or_insert(next)
    }
}

/// Names for the ids of events, of each kind of thing its own.
#[derive(Default)]
struct Names(HashMap<&'static str, Ids>);

impl Names {
    fn rename(&mut self, event: &mut Value) {
        self.put("agent", event.get_mut("agentId"), "");
        let data = &mut event["data"];
        self.put("agent", data.get_mut("sessionId"), "");
        self.put("agent", data.get_mut("parentId"), "");
        self.put("agent", data.get_mut("source"), "agent-");
        let kind = data
            .get_mut("kind")
            .and_then(|kind| kind.get_mut("agentId"));
        self.put("agent", kind, "");
        self.put("message", data.get_mut("messageId"), "");
        self.put("message", data.get_mut("originatingMessageId"), "");
        self.put("interaction", data.get_mut("interactionId"), "");
        self.put("request", data.get_mut("requestId"), "");
    }

    fn put(&mut self, thing: &'static str, value: Option<&mut Value>, prefix: &str) {
        let Some(value) = value else { return };
        // What has another form is no id: the source of a model is the word `agent`.
        if let Some(id) = value.as_str().and_then(|id| id.strip_prefix(prefix)) {
            let number = self.0.entry(thing).or_default().of(id);
            *value = json!(format!("{thing} {number}"));
        }
    }
}
