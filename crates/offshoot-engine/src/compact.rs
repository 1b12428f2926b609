//! Compaction: a summary in the place of what was said, so that a conversation fits (SES-10…15).
//!
//! Nothing is removed: the summary is an entry, and what a model is sent is
//! computed from the latest one.

use offshoot_types::event::Compaction;

/// Returns what a model reads of a compaction: the summary, and which children had not ended.
pub(crate) fn told(compaction: &Compaction) -> String {
    let mut text = format!(
        "<conversation_summary>\n{}\n</conversation_summary>",
        compaction.summary.trim_end()
    );
    if !compaction.live.is_empty() {
        text.push_str("\n\nAgents of yours that had not ended when this was written:\n");
        for live in &compaction.live {
            text.push_str(&format!(
                "- {} (session_id {})\n",
                live.definition, live.agent
            ));
        }
        text.truncate(text.trim_end().len());
    }
    text
}
