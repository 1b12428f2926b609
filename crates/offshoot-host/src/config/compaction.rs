//! The settings of `[compaction]`: their names, how far they go, what they set.
//!
//! The names are the guide's and fixed (SES-14). All are kept as whole numbers; a
//! switch is 0 or 1. What they mean is the engine's business.

use offshoot_engine::Compacting;

/// A setting of `[compaction]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    Auto,
    ReserveTokens,
    TailTurns,
    TailBudgetPct,
    RetryOnTransient,
    PruneToolOutputs,
    ChunkedSummarize,
    DropMiddle,
}

impl Rule {
    pub const ALL: [Self; 8] = [
        Self::Auto,
        Self::ReserveTokens,
        Self::TailTurns,
        Self::TailBudgetPct,
        Self::RetryOnTransient,
        Self::PruneToolOutputs,
        Self::ChunkedSummarize,
        Self::DropMiddle,
    ];

    /// Returns its name below `compaction.`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::ReserveTokens => "reserve_tokens",
            Self::TailTurns => "tail_turns",
            Self::TailBudgetPct => "tail_budget_pct",
            Self::RetryOnTransient => "retry_on_transient",
            Self::PruneToolOutputs => "smart_recovery.prune_tool_outputs",
            Self::ChunkedSummarize => "smart_recovery.chunked_summarize",
            Self::DropMiddle => "smart_recovery.drop_middle",
        }
    }

    /// Returns the least and the most that it may be; `None` for a switch.
    pub fn range(self) -> Option<(u64, u64)> {
        match self {
            Self::ReserveTokens => Some((0, 1_000_000_000)),
            Self::TailTurns => Some((0, 1_000)),
            Self::TailBudgetPct => Some((0, 100)),
            // Each try is paid for.
            Self::RetryOnTransient => Some((0, 10)),
            Self::Auto | Self::PruneToolOutputs | Self::ChunkedSummarize | Self::DropMiddle => None,
        }
    }

    /// Renders a value as the file has it.
    pub fn shown(self, value: u64) -> String {
        match self.range() {
            Some(_) => value.to_string(),
            None => (value != 0).to_string(),
        }
    }

    /// Sets what holds. The value lies in its range.
    pub fn set(self, rules: &mut Compacting, value: u64) {
        let on = value != 0;
        match self {
            Self::Auto => rules.auto = on,
            Self::ReserveTokens => rules.reserve_tokens = Some(value),
            Self::TailTurns => rules.tail_turns = usize::try_from(value).unwrap_or(usize::MAX),
            Self::TailBudgetPct => rules.tail_budget_pct = value,
            Self::RetryOnTransient => {
                rules.retry_on_transient = u32::try_from(value).unwrap_or(u32::MAX);
            }
            Self::PruneToolOutputs => rules.smart_recovery.prune_tool_outputs = on,
            Self::ChunkedSummarize => rules.smart_recovery.chunked_summarize = on,
            Self::DropMiddle => rules.smart_recovery.drop_middle = on,
        }
    }
}
