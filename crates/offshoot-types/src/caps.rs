//! Caps: how much a run and everything below it may use.
//!
//! Numbers only. Who reserves, books and hands back is the engine's business
//! (R25, R26). `None` is no cap of one's own; an ancestor's holds all the same,
//! so narrowing takes the smaller of two and never the larger.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a run may use, with everything below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// Its own model requests; `max_turns` to authors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Tokens of every kind, descendants included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money, descendants included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Wall time from its first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
    /// Wall time without a sign of progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Span>,
    /// Live agents below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descendants: Option<u32>,
}

impl Caps {
    /// Returns the smaller of each.
    #[must_use]
    pub fn narrow(self, others: Self) -> Self {
        Self {
            steps: least(self.steps, others.steps),
            tokens: least(self.tokens, others.tokens),
            cost: least(self.cost, others.cost),
            time: least(self.time, others.time),
            stall: least(self.stall, others.stall),
            descendants: least(self.descendants, others.descendants),
        }
    }

    /// Returns those of these that the others have as well.
    #[must_use]
    pub fn only_where_equal(self, others: Self) -> Self {
        Self {
            steps: self.steps.filter(|_| self.steps == others.steps),
            tokens: self.tokens.filter(|_| self.tokens == others.tokens),
            cost: self.cost.filter(|_| self.cost == others.cost),
            time: self.time.filter(|_| self.time == others.time),
            stall: self.stall.filter(|_| self.stall == others.stall),
            descendants: self
                .descendants
                .filter(|_| self.descendants == others.descendants),
        }
    }

    /// Returns these, and where they say nothing the others.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            steps: self.steps.or(others.steps),
            tokens: self.tokens.or(others.tokens),
            cost: self.cost.or(others.cost),
            time: self.time.or(others.time),
            stall: self.stall.or(others.stall),
            descendants: self.descendants.or(others.descendants),
        }
    }
}

/// Returns the smaller of two caps; none is larger than any.
fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// An amount of money: US dollars, to the millionth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(u64);

impl Money {
    /// Returns an amount in millionths of a dollar.
    pub fn micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Returns it in millionths of a dollar.
    pub fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns an amount in dollars; `None` for what is not an amount.
    pub fn dollars(dollars: f64) -> Option<Self> {
        let micros = (dollars * 1e6).round();
        // The largest number that both kinds hold exactly.
        let fits = (0.0..=9_007_199_254_740_992.0).contains(&micros);
        fits.then_some(Self(micros as u64))
    }

    /// Returns the sum; it stops at the largest amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference; it stops at nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns it in dollars.
    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.as_dollars())
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_dollars())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::dollars(dollars).ok_or_else(|| {
            serde::de::Error::custom(format!("{dollars} is not an amount of dollars"))
        })
    }
}

/// What a million tokens of a kind cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Read fresh, in dollars a million.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Served from the cache; as `input` when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Written to the cache; as `input` when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Price {
    /// Returns what tokens cost, rounded up: nothing that costs is free.
    pub fn of(&self, usage: &crate::message::Usage) -> Money {
        let kinds = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.reasoning, self.output),
            (usage.cache_read, self.cache_read.unwrap_or(self.input)),
            (usage.cache_write, self.cache_write.unwrap_or(self.input)),
        ];
        // Dollars a million tokens are millionths of a dollar a token.
        let micros: f64 = kinds
            .iter()
            .map(|(tokens, price)| *tokens as f64 * price)
            .sum();
        Money::micros(micros.max(0.0).ceil() as u64)
    }

    /// Tells whether all of it are amounts.
    pub fn is_sound(&self) -> bool {
        let kinds = [
            Some(self.input),
            Some(self.output),
            self.cache_read,
            self.cache_write,
        ];
        kinds
            .into_iter()
            .flatten()
            .all(|price| Money::dollars(price).is_some())
    }
}

/// A length of time, written with its unit: `500ms`, `30s`, `10m`, `1h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(u64);

impl Span {
    /// Returns a length in milliseconds.
    pub const fn millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns a length in seconds.
    pub const fn secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Returns it in milliseconds.
    pub fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns what is left of it; it stops at nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the part of a run's time that is kept to hand back: 30 s, or a fifth of a short time
    /// (R26).
    #[must_use]
    pub fn hand_back(self) -> Self {
        Self(self.0 / 5).min(Self::secs(30))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_millis(span.0)
    }
}

const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = UNITS
            .into_iter()
            .find(|(_, size)| self.0 > 0 && self.0.is_multiple_of(*size))
            .unwrap_or(("s", 1000));
        write!(f, "{}{unit}", self.0 / size)
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let size = UNITS.into_iter().find(|(name, _)| *name == unit.trim());
        let millis = number
            .parse::<u64>()
            .ok()
            .zip(size)
            .and_then(|(number, (_, size))| number.checked_mul(size));
        millis.map(Self).ok_or_else(|| {
            format!(
                "{text:?} is not a time; write a whole number and its unit: 500ms, 30s, 10m, 1h"
            )
        })
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Usage;

    #[test]
    fn times_are_written_with_their_unit_and_read_back() {
        for text in ["500ms", "30s", "10m", "1h", "0s", "90s"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        assert_eq!("120s".parse::<Span>().unwrap(), "2m".parse().unwrap());
        for text in [
            "",
            "10",
            "m",
            "-1s",
            "1.5h",
            "1 week",
            "99999999999999999999s",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn money_is_kept_to_the_millionth_and_never_negative() {
        let read = |text: &str| serde_json::from_str::<Money>(text);
        assert_eq!(read("0.25").unwrap(), Money::micros(250_000));
        assert_eq!(
            serde_json::to_string(&Money::micros(250_001)).unwrap(),
            "0.250001"
        );
        assert!(read("-1").is_err());
        assert!(read("1e300").is_err());
    }

    #[test]
    fn what_costs_is_never_free() {
        let price = Price {
            input: 0.1,
            output: 15.0,
            ..Price::default()
        };
        let usage = Usage {
            input: 1,
            ..Usage::default()
        };
        assert_eq!(price.of(&usage), Money::micros(1));
        let usage = Usage {
            output: 1_000_000,
            cache_read: 10,
            ..usage
        };
        assert_eq!(price.of(&usage), Money::micros(15_000_002));
    }
}
