//! The limits that a file can set: their names, their kinds, how far they go.
//!
//! All are kept as whole numbers in the unit of their kind, so that what is lower
//! can be told of any two. What they mean is the engine's business.

use offshoot_engine::Limits;
use offshoot_types::caps::{Caps, Money, Span};

/// A limit that can be set; the names are those of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    Depth,
    Descendants,
    Slots,
    Steps,
    Wakes,
    Time,
    Stall,
    Tokens,
    Cost,
    SessionSteps,
    SessionTime,
    SessionTokens,
    SessionCost,
}

/// How a limit is written, and the unit it is kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Count,
    /// A text with a unit, such as `10m`; kept in milliseconds.
    Time,
    /// US dollars; kept in millionths.
    Money,
}

impl Limit {
    pub const ALL: [Self; 13] = [
        Self::Depth,
        Self::Descendants,
        Self::Slots,
        Self::Steps,
        Self::Wakes,
        Self::Time,
        Self::Stall,
        Self::Tokens,
        Self::Cost,
        Self::SessionSteps,
        Self::SessionTime,
        Self::SessionTokens,
        Self::SessionCost,
    ];

    /// Returns its name below `limits.`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Descendants => "descendants",
            Self::Slots => "slots",
            Self::Steps => "steps",
            Self::Wakes => "wakes",
            Self::Time => "time",
            Self::Stall => "stall",
            Self::Tokens => "tokens",
            Self::Cost => "cost_usd",
            Self::SessionSteps => "session.steps",
            Self::SessionTime => "session.time",
            Self::SessionTokens => "session.tokens",
            Self::SessionCost => "session.cost_usd",
        }
    }

    pub fn kind(self) -> Kind {
        match self {
            Self::Depth
            | Self::Descendants
            | Self::Slots
            | Self::Steps
            | Self::Wakes
            | Self::Tokens
            | Self::SessionSteps
            | Self::SessionTokens => Kind::Count,
            Self::Time | Self::Stall | Self::SessionTime => Kind::Time,
            Self::Cost | Self::SessionCost => Kind::Money,
        }
    }

    /// Returns the least and the most that it may be.
    pub fn range(self) -> (u64, u64) {
        match self {
            Self::Depth => (0, 64),
            Self::Descendants | Self::Wakes => (0, 100_000),
            // Without a slot nothing would ever run.
            Self::Slots => (1, 1_024),
            Self::Steps | Self::SessionSteps => (1, 100_000),
            Self::Tokens | Self::SessionTokens => (1, 1_000_000_000_000),
            // A second, and a month.
            Self::Time | Self::Stall | Self::SessionTime => (1_000, 31 * 24 * 3_600_000),
            Self::Cost | Self::SessionCost => (1, 1_000_000_000_000),
        }
    }

    /// Renders a value as the file has it.
    pub fn shown(self, value: u64) -> String {
        match self.kind() {
            Kind::Count => value.to_string(),
            Kind::Time => Span::millis(value).to_string(),
            Kind::Money => Money::micros(value).to_string(),
        }
    }

    /// Returns what holds; `None` where nothing does.
    pub fn of(self, limits: &Limits) -> Option<u64> {
        match self {
            Self::Depth => Some(limits.depth.into()),
            Self::Descendants => u64::try_from(limits.descendants).ok(),
            Self::Slots => u64::try_from(limits.slots).ok(),
            Self::Wakes => Some(limits.wakes.into()),
            Self::Steps => limits.spawned.steps.map(u64::from),
            Self::Time => limits.spawned.time.map(Span::as_millis),
            Self::Stall => limits.spawned.stall.map(Span::as_millis),
            Self::Tokens => limits.spawned.tokens,
            Self::Cost => limits.spawned.cost.map(Money::as_micros),
            Self::SessionSteps => limits.root.steps.map(u64::from),
            Self::SessionTime => limits.root.time.map(Span::as_millis),
            Self::SessionTokens => limits.root.tokens,
            Self::SessionCost => limits.root.cost.map(Money::as_micros),
        }
    }

    /// Sets what holds. The value lies in its range.
    pub fn set(self, limits: &mut Limits, value: u64) {
        let small = u32::try_from(value).unwrap_or(u32::MAX);
        let size = usize::try_from(value).unwrap_or(usize::MAX);
        let Limits { root, spawned, .. } = limits;
        match self {
            Self::Depth => limits.depth = small,
            Self::Descendants => limits.descendants = size,
            Self::Slots => limits.slots = size,
            Self::Wakes => limits.wakes = small,
            Self::Steps => spawned.steps = Some(small),
            Self::Stall => spawned.stall = Some(Span::millis(value)),
            Self::Time => set_time(spawned, value),
            Self::Tokens => spawned.tokens = Some(value),
            Self::Cost => set_cost(spawned, value),
            Self::SessionSteps => root.steps = Some(small),
            Self::SessionTime => set_time(root, value),
            Self::SessionTokens => root.tokens = Some(value),
            Self::SessionCost => set_cost(root, value),
        }
    }
}

fn set_time(caps: &mut Caps, millis: u64) {
    caps.time = Some(Span::millis(millis));
}

fn set_cost(caps: &mut Caps, micros: u64) {
    caps.cost = Some(Money::micros(micros));
}
