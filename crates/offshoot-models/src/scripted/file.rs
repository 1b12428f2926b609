//! The script as it is written, and what is wrong with one that cannot work.
//!
//! Keys are as documented in docs/scripted.md and nothing else is accepted. What
//! can be refused is refused at load, with the place: a script that loads has no
//! rule that says nothing and none that can never be reached.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use offshoot_types::caps::Price;
use offshoot_types::manifest::Manifest;
use offshoot_types::message::Usage;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{Location, Options, Spanned};

use super::error::ScriptError;

/// Most calls that `count` may make of one entry.
const MOST_CALLS: u32 = 10_000;

/// Most tokens of a kind that `usage` may report.
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// A script that can work.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) agents: Vec<Manifest>,
    pub(super) rules: Vec<Rule>,
    /// What its tokens are said to cost.
    pub(super) price: Option<Price>,
    /// How many tokens a conversation with it is said to have room for.
    pub(super) window: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    agents: Vec<Spanned<Manifest>>,
    #[serde(default)]
    price: Option<Spanned<Price>>,
    #[serde(default)]
    window: Option<NonZeroU64>,
    #[serde(default)]
    replies: Vec<Spanned<Rule>>,
}

/// One rule: when it answers, then what.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Rule {
    pub(super) agent: Option<String>,
    pub(super) depth: Option<u32>,
    pub(super) step: Option<NonZeroU32>,
    pub(super) prompt: Option<String>,
    pub(super) prompt_is: Option<String>,
    pub(super) seen: Texts,
    pub(super) after_tools: Option<bool>,
    pub(super) results: Vec<ResultRule>,
    pub(super) may_call: Option<bool>,
    pub(super) times: Option<NonZeroU32>,

    pub(super) think: Texts,
    pub(super) say: Texts,
    pub(super) attach: Vec<AttachRule>,
    pub(super) call: Vec<CallRule>,
    pub(super) stop: Option<Stop>,
    pub(super) usage: Option<WrittenUsage>,
    pub(super) delay_ms: u64,
    pub(super) chunk_delay_ms: u64,
    pub(super) fault: Option<Fault>,
}

/// What an outcome must be like; every key that is given counts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResultRule {
    #[serde(default)]
    pub(super) tool: Option<String>,
    #[serde(default)]
    pub(super) contains: Option<String>,
    #[serde(default)]
    pub(super) failed: Option<bool>,
}

/// A file of this text, or an image of one pixel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttachRule {
    pub(super) name: String,
    #[serde(default)]
    pub(super) text: Option<String>,
}

/// One call, or `count` of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallRule {
    pub(super) tool: String,
    #[serde(default = "no_arguments")]
    pub(super) arguments: Value,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default = "once")]
    pub(super) count: NonZeroU32,
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// A stop that does not follow from what was said.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stop {
    Length,
    Refusal,
}

/// `Usage`, with mistyped keys refused.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenUsage {
    input: u64,
    output: u64,
    reasoning: u64,
    cache_read: u64,
    cache_write: u64,
}

impl From<WrittenUsage> for Usage {
    fn from(written: WrittenUsage) -> Self {
        Self {
            input: written.input,
            output: written.output,
            reasoning: written.reasoning,
            cache_read: written.cache_read,
            cache_write: written.cache_write,
        }
    }
}

/// A text or a list of texts. `None` when the key is absent, which an empty text is not.
#[derive(Debug, Default)]
pub(super) struct Texts(Option<Vec<String>>);

impl Texts {
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().map(String::as_str)
    }

    fn is_given(&self) -> bool {
        self.0.is_some()
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts (quote it if it looks like a number)")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts(Some(vec![text.to_owned()])))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Texts(Some(texts)))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// What goes wrong with a reply.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The stream breaks after what was said.
    Cut,
    /// 429, before anything is said.
    RateLimited { retry_after_ms: Option<u64> },
    /// 500, before anything is said.
    ServerError,
    /// 400: the conversation has more tokens than the model takes.
    TooLong,
    /// The calls' arguments are not JSON; without calls, the reply itself is unreadable.
    Malformed,
    /// Nothing more comes until the request is cancelled.
    Hang,
}

const FAULTS: &[&str] = &[
    "cut",
    "rate_limited",
    "server_error",
    "too_long",
    "malformed",
    "hang",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RateLimited {
    #[serde(default)]
    retry_after_ms: Option<u64>,
}

/// Reads `fault: NAME` and `fault: {rate_limited: {retry_after_ms: N}}`.
///
/// By hand, because no derived form takes a name both with and without settings
/// and still says which name was wrong.
impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Fault;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a fault")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Fault, E> {
                match name {
                    "cut" => Ok(Fault::Cut),
                    "rate_limited" => Ok(Fault::RateLimited {
                        retry_after_ms: None,
                    }),
                    "server_error" => Ok(Fault::ServerError),
                    "too_long" => Ok(Fault::TooLong),
                    "malformed" => Ok(Fault::Malformed),
                    "hang" => Ok(Fault::Hang),
                    other => Err(E::unknown_variant(other, FAULTS)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fault, A::Error> {
                let Some(name) = map.next_key::<String>()? else {
                    return Err(de::Error::custom("`fault` is empty"));
                };
                let fault = match self.visit_str(&name)? {
                    Fault::RateLimited { .. } => {
                        let RateLimited { retry_after_ms } = map.next_value()?;
                        Fault::RateLimited { retry_after_ms }
                    }
                    Fault::Cut
                    | Fault::ServerError
                    | Fault::TooLong
                    | Fault::Malformed
                    | Fault::Hang => {
                        let what = format!("`{name}` takes no settings, write `fault: {name}`");
                        return Err(de::Error::custom(what));
                    }
                };
                match map.next_entry::<String, IgnoredAny>()? {
                    None => Ok(fault),
                    Some(_) => Err(de::Error::custom("a rule has one fault")),
                }
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// Reads a script and refuses one that cannot work.
pub(super) fn read(text: &str, source_name: &str) -> Result<Script, ScriptError> {
    let written: Written = serde_saphyr::from_str_with_options(text, options())
        .map_err(|error| ScriptError::unreadable(source_name, &error))?;
    match problem(&written) {
        Some((place, what)) => Err(ScriptError::new(source_name, place, &what)),
        None => Ok(Script {
            agents: written
                .agents
                .into_iter()
                .map(|agent| agent.value)
                .collect(),
            rules: written.replies.into_iter().map(|rule| rule.value).collect(),
            price: written.price.map(|price| price.value),
            window: written.window.map(NonZeroU64::get),
        }),
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
    }
}

type Problem = (Option<Location>, String);

fn problem(written: &Written) -> Option<Problem> {
    if written.replies.is_empty() {
        let what = "`replies` is missing or empty; a script needs at least one rule";
        return Some((None, what.to_owned()));
    }
    if let Some(price) = &written.price
        && !price.value.is_sound()
    {
        let what = "`price` is not made of amounts of dollars";
        return Some((Some(price.referenced), what.to_owned()));
    }
    repeated_agent(&written.agents).or_else(|| {
        let rules = written.replies.iter().enumerate();
        let mut problems = rules.filter_map(|(index, rule)| {
            let followed = index + 1 < written.replies.len();
            let what = useless(&rule.value).or_else(|| greedy(&rule.value, followed))?;
            Some((Some(rule.referenced), format!("rule {} {what}", index + 1)))
        });
        problems.next()
    })
}

fn repeated_agent(agents: &[Spanned<Manifest>]) -> Option<Problem> {
    agents.iter().enumerate().find_map(|(index, agent)| {
        let name = &agent.value.name;
        let before = agents[..index].iter();
        let repeated = before.clone().any(|earlier| earlier.value.name == *name);
        repeated.then(|| {
            let what = format!("agent `{name}` is defined twice");
            (Some(agent.referenced), what)
        })
    })
}

/// Says why a rule cannot answer as it is written.
fn useless(rule: &Rule) -> Option<String> {
    let gives = !rule.call.is_empty() || !rule.attach.is_empty();
    let says = rule.say.is_given() || rule.think.is_given() || gives;
    if let Some(Fault::RateLimited { .. } | Fault::ServerError) = rule.fault
        && says
    {
        return Some(
            "fails before it says anything; leave out `say`, `think`, `attach` and `call`"
                .to_owned(),
        );
    }
    if !says && rule.fault.is_none() && rule.stop.is_none() {
        return Some("answers nothing; give it `say`, `call` or `fault`".to_owned());
    }
    if rule.call.iter().any(|call| call.count.get() > MOST_CALLS) {
        return Some(format!(
            "makes too many calls; `count` is at most {MOST_CALLS}"
        ));
    }
    let usage = rule.usage.map(Usage::from).unwrap_or_default();
    if usage.at_most(MOST_TOKENS) != usage {
        return Some(format!(
            "reports too many tokens; a count in `usage` is at most {MOST_TOKENS}"
        ));
    }
    let unconditional = |result: &ResultRule| {
        result.tool.is_none() && result.contains.is_none() && result.failed.is_none()
    };
    if rule.results.iter().any(unconditional) {
        return Some(
            "has an empty entry in `results`; give it `tool`, `contains` or `failed`".to_owned(),
        );
    }
    None
}

/// Says so when a rule answers everything although others come after it.
fn greedy(rule: &Rule, followed: bool) -> Option<String> {
    let Rule {
        agent: None,
        depth: None,
        step: None,
        prompt: None,
        prompt_is: None,
        seen: Texts(None),
        after_tools: None,
        may_call: None,
        times: None,
        results,
        ..
    } = rule
    else {
        return None;
    };
    (followed && results.is_empty()).then(|| {
        "matches everything, so no rule after it is ever reached; move it to the end".to_owned()
    })
}
