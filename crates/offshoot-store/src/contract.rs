//! The suite that every store must pass.
//!
//! Each check is a sentence of the `Store` port, told to two handles on one
//! store: two processes. It fails by panicking. A store that passes all of them
//! can take the place of any other.

#![expect(clippy::expect_used, reason = "a check fails by panicking")]

mod append;
mod command;
mod journal;
mod listing;
mod ownership;
mod reading;
mod rewinding;
mod rules;
pub mod scene;

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_types::store::{Lease, Store, StoreError, StoreErrorKind};

use scene::Scene;

/// One handle on the store.
pub type Handle = Arc<dyn Store>;

/// A check of two fresh handles on one fresh store.
pub type Check = fn(Handle, Handle) -> BoxFuture<'static, ()>;

macro_rules! checks {
    ($($module:ident: $($name:ident),* $(,)?;)*) => {
        /// All checks, each under its name.
        pub const CHECKS: &[(&str, Check)] = &[
            $($((stringify!($name), |a, b| Box::pin($module::$name(a, b))),)*)*
        ];
    };
}

checks! {
    ownership:
        one_handle_owns_a_tree_at_a_time,
        the_owner_of_one_tree_is_seen_by_every_handle,
        a_claim_raises_the_epoch,
        a_tree_is_created_with_its_first_entries,
        a_tree_that_has_entries_is_not_created,
        a_tree_that_somebody_holds_is_not_created,
        a_failed_creation_leaves_nothing,
        a_former_owner_is_fenced,
        a_released_lease_is_fenced,
        a_dropped_lease_frees_the_tree,
        a_release_with_a_pending_command_gives_the_lease_back,
        a_release_frees_the_tree,
        lists_tell_who_is_owned,
        a_deleted_tree_is_unknown,
        a_deleted_tree_may_be_opened_anew,
        a_deletion_ends_the_ownership,
        a_deletion_leaves_other_trees_alone,
        a_panic_of_the_subscriber_fences_its_tree_only;
    append:
        entries_come_back_with_their_places,
        an_append_is_all_or_nothing,
        a_failed_append_leaves_no_gap,
        an_append_goes_on_without_its_caller,
        the_sink_is_told_before_the_appender_in_order,
        positions_have_no_gap_under_many_appenders,
        an_entry_that_is_not_the_next_is_a_conflict,
        a_run_does_not_settle_before_its_children,
        a_run_settles_once,
        a_run_is_told_once,
        only_a_settled_run_is_told,
        an_agent_is_born_once_below_its_parent,
        an_unknown_agent_is_a_conflict;
    command:
        a_command_waits_until_it_is_done,
        a_command_that_is_there_stays_as_it_is,
        commands_come_in_order,
        a_command_is_done_once,
        a_command_may_be_done_without_having_waited,
        a_failed_append_leaves_its_command_pending,
        a_receipt_is_kept_for_a_week_and_a_pending_command_for_ever,
        a_command_for_an_unknown_tree_is_refused,
        the_owner_is_nudged;
    reading:
        the_unknown_is_empty,
        entries_are_read_in_pages,
        an_agent_has_its_own_log,
        an_agent_is_found_in_its_tree,
        lists_tell_of_roots,
        the_last_changed_comes_first,
        lists_tell_of_inspectable_children,
        a_session_is_exported_as_its_rows,
        every_agent_is_exported_and_the_export_says_who_has_rows,
        sa_37_an_export_has_a_transcript_at_any_size,
        rows_tell_what_it_cost_which_model_and_what_was_allowed,
        what_is_asked_is_listed_until_it_is_decided_or_its_call_ends;
    listing:
        pages_follow_each_other_whatever_changes_before_them,
        lists_are_narrowed_to_a_workspace_and_searched,
        roots_and_children_are_listed_in_one_order,
        ids_are_found_by_how_they_begin_or_end;
    rewinding:
        a_child_that_is_alive_is_not_dropped,
        what_a_rewind_consumes_is_told_nobody,
        a_rewind_consumes_mail_of_dropped_children_only,
        a_child_with_an_open_run_below_it_is_not_dropped,
        what_is_hidden_keeps_its_rows_and_does_not_count,
        r8_a_child_that_is_taken_back_is_archived_with_all_below_it,
        a_copy_may_tell_of_children_that_are_not_its_own,
        a_copy_outlives_the_session_that_it_was_copied_from,
        pd_49_a_copy_may_tell_of_copies_of_children;
    rules:
        an_entry_that_breaks_a_rule_is_refused_and_leaves_nothing;
    journal:
        changes_come_back_in_order,
        a_change_of_any_bytes_comes_back,
        a_change_goes_on_without_its_caller,
        the_last_writer_is_found_across_trees,
        a_change_of_a_former_owner_is_fenced,
        a_change_of_an_unknown_agent_is_a_conflict,
        a_content_is_known_to_the_trees_that_name_it_only,
        deletion_takes_the_journal_of_its_tree_only;
}

/// Claims the tree of a scene and writes what it holds.
async fn write(store: &Handle, scene: &mut Scene) -> Lease {
    let lease = store.claim(scene.tree()).await.expect("the tree is free");
    let appended = store.append(&lease, scene.take()).await;
    appended.expect("the scene is a good log");
    lease
}

/// Writes what a scene holds by now.
async fn append(store: &Handle, lease: &Lease, scene: &mut Scene) -> Result<(), StoreErrorKind> {
    let appended = store.append(lease, scene.take()).await;
    appended.map(|_| ()).map_err(|error| error.kind)
}

fn kind<T>(result: Result<T, StoreError>) -> Option<StoreErrorKind> {
    result.err().map(|error| error.kind)
}
