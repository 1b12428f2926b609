//! Conversations that are shortened or summed up, and how full they are, over a whole connection.

use offshoot_engine::query;
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::tier::Tier;
use serde_json::{Value, json};

use crate::connection::{BIG, Ground, MODEL};
use crate::talk::{SCRIPT, flat, stop};

/// A conversation with something to shorten.
pub(crate) const SHORTENED: &str = r#"
window: 100000
agents:
  - {name: lead, mode: primary, description: Leads., prompt: Lead.}
  - {name: compaction, mode: primary, description: Shortens., prompt: Shorten.}
replies:
  - {agent: compaction, say: "Goal: to see how it shrinks."}
  - {say: yes, usage: {input: 25000, output: 10}}
"#;

/// A prompt that is worth shortening.
pub(crate) fn long() -> String {
    "words ".repeat(20_000)
}

#[tokio::test]
async fn a_shortened_conversation_is_told_to_a_client_that_takes_it() {
    for (capabilities, expected) in [(json!({ "session": { "compaction": {} } }), 1), (flat(), 0)] {
        let ground = Ground::new(SHORTENED);
        let (mut client, id) = ground.session(capabilities).await;
        for _ in 0..3 {
            client.prompt(&id, &long()).await.unwrap();
        }
        let answer = client.prompt(&id, "/compact").await.unwrap();
        assert_eq!(stop(&answer), "end_turn");
        let told = client.updates_of("compaction_update");
        assert_eq!(told.len(), expected);
        for (on, update) in told {
            assert_eq!(on, id);
            assert_eq!(update["status"], "completed");
        }
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn the_size_of_a_context_is_that_of_the_model_that_the_session_has_now() {
    let ground = Ground::new(SHORTENED);
    let (mut client, id) = ground.session(flat()).await;
    client.prompt(&id, "hi").await.unwrap();
    let option = json!({ "sessionId": id, "configId": "model", "value": BIG });
    let chosen = client.call("session/set_config_option", option).await;
    assert_eq!(chosen.unwrap()["configOptions"][1]["currentValue"], BIG);
    client.prompt(&id, "hi").await.unwrap();
    let usage = client.updates_of("usage_update").into_iter();
    let sizes: Vec<&Value> = usage.map(|(_, update)| &update["size"]).collect();
    assert_eq!(sizes, [&json!(1000), &json!(5000)]);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn sa_45_a_session_that_is_closed_is_summed_up() {
    let script = SCRIPT.replacen(
        "replies:",
        "  - {name: summary, mode: primary, description: Sums up., prompt: Sum up.}\nreplies:",
        1,
    );
    let mut ground = Ground::new(&format!("{script}  - {{say: what happened}}\n"));
    let small = (Tier::Small, MODEL.to_owned());
    ground.helpers.models.tiers = [small].into_iter().collect();
    let (mut client, id) = ground.session(flat()).await;
    client.prompt(&id, "hi").await.unwrap();
    let close = json!({ "sessionId": id });
    client.call("session/close", close).await.unwrap();
    let log = query::Log::of(TreeId::of(AgentId::new(id)));
    let log = client.runtime.query(log).await.unwrap();
    let is_summary = |event: &Event| matches!(event, Event::Summarised { .. });
    assert!(log.iter().any(|entry| is_summary(&entry.event)));
    client.hang_up().await.unwrap();
}
