//! The flags that say how much a new session may use.
//!
//! Each narrows what the agent's file and the config files allow; none of them
//! raises anything. A session keeps what it was opened with.

use clap::Args;
use offshoot_types::caps::{Caps, Money, Span};

/// How much a new session may use.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Limits of a new session")]
pub(crate) struct Most {
    /// Most requests to the model of one run of the agent that is asked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Most tokens of one run, with all agents it starts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// Most US dollars of one run, with all agents it starts; the model's price has to be known
    #[arg(long, value_name = "USD", value_parser = money)]
    max_cost: Option<Money>,
    /// Longest time of one run, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = time)]
    max_time: Option<Span>,
}

impl Most {
    /// Returns them as caps.
    pub(crate) fn caps(&self) -> Caps {
        Caps {
            steps: self.max_turns,
            tokens: self.max_tokens,
            cost: self.max_cost,
            time: self.max_time,
            ..Caps::default()
        }
    }

    /// Returns the first flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let Self {
            max_turns,
            max_tokens,
            max_cost,
            max_time,
        } = self;
        let flags = [
            (max_turns.is_some(), "--max-turns"),
            (max_tokens.is_some(), "--max-tokens"),
            (max_cost.is_some(), "--max-cost"),
            (max_time.is_some(), "--max-time"),
        ];
        flags
            .into_iter()
            .find_map(|(given, flag)| given.then_some(flag))
    }
}

fn money(text: &str) -> Result<Money, String> {
    let dollars = text.trim().trim_start_matches('$').parse::<f64>().ok();
    let money = dollars.and_then(Money::dollars);
    money
        .filter(|money| *money > Money::default())
        .ok_or_else(|| "write an amount of dollars above 0, such as 0.50".to_owned())
}

/// Reads a time with its unit that is longer than none.
pub(super) fn time(text: &str) -> Result<Span, String> {
    let span: Span = text.parse()?;
    if span == Span::default() {
        return Err("it has to be longer than nothing".to_owned());
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_dollars_above_nothing_and_to_the_millionth() {
        for (text, micros) in [("0.5", 500_000), ("$2", 2_000_000), ("0.000001", 1)] {
            assert_eq!(money(text), Ok(Money::micros(micros)), "{text}");
        }
        for text in ["", "0", "-1", "nan", "inf", "0.0000001", "1e300", "two"] {
            assert!(money(text).is_err(), "{text}");
        }
        assert!(time("0s").is_err() && time("10").is_err() && time("10m").is_ok());
    }
}
