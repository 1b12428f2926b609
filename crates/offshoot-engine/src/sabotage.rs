//! Bugs that can be planted, to prove that the simulation can fail.
//!
//! Each is a mistake that somebody has shipped. Outside the crate's own tests
//! `planted` is a constant `false` and the compiler removes what hangs on it.

/// Makes the enum and the list of all its variants, so that the list cannot lack one.
macro_rules! bugs {
    ($($(#[$doc:meta])* $bug:ident,)*) => {
        /// A mistake in the engine.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Bug {
            $($(#[$doc])* $bug,)*
        }

        #[cfg(test)]
        impl Bug {
            pub(crate) const ALL: &[Self] = &[$(Self::$bug,)*];
        }
    };
}

bugs! {
    /// A call's outcome tells of a child's run and does not mark it as told.
    ToldButNotMarked,
    /// A settled child does not wake its parent.
    LostWake,
    /// A run settles without waiting for its children.
    SettleBeforeChildren,
    /// Recovery works on parents before their children.
    RecoverParentsFirst,
    /// A turn does not say which prompt it consumes.
    PromptNotConsumed,
    /// Cancelling a run does not reach its children.
    CancelStopsShort,
    /// A slot is not given back.
    SlotLeak,
    /// A ticket of the governor is not given back.
    TicketLeak,
    /// A cancelled turn ends while calls are open.
    DanglingCalls,
    /// Some committed entries are not published.
    EntryNotPublished,
    /// An order is carried out without a record that it was.
    OrderWithoutRecord,
    /// A step is tried again after some of it was shown.
    ReplayAfterShown,
    /// Mail is marked as told and its text is left out.
    MarkedButNotTold,
    /// A woken agent starts its turn and leaves the mail for later.
    WakeWithoutMail,
    /// A subscriber that has read ahead is told that the tree is quiet, as it was before.
    StaleIdle,
    /// A call runs although the answer was no.
    DeniedAndRun,
    /// All calls of a message run at once.
    GroupsAtOnce,
    /// A process that ends in good order withdraws what a root has asked.
    AskWithdrawnAtExit,
    /// A call runs although rules deny it.
    BarredAndRun,
    /// A call runs although a hook was against it.
    ObjectedAndRun,
    /// An answer is taken and does not reach the call that waits.
    AnswerNotHeard,
    /// Recovery withdraws what a root has asked somebody.
    AskLost,
    /// Recovery closes the calls that had not started beside one that a root asks about.
    UnstartedClosed,
    /// A rewind hides a call and keeps the child that it made.
    RewindLeavesChildren,
    /// Whoever writes a summary is not given what children came to.
    SummaryWithoutMail,
    /// A model is sent an outcome that no log could tell again.
    AskedBeforeWritten,
    /// Recovery does not note that hooks have to hear of a run that was lost.
    LostWithoutStop,
    /// A run that was stopped or failed does not say that hooks have to hear of it.
    StopNotOwed,
    /// A log of more than one page is loaded as its first page.
    LogCutAtAPage,
    /// A rewind consumes the mail of children that it keeps.
    RewindConsumesAll,
    /// A settlement that the store refuses at the end of a turn fails the session.
    RefusalFailsTurn,
    /// Commands without a receipt are forgotten together with the answered ones.
    UnansweredForgotten,
    /// Answered commands are forgotten between the look at a command's receipt and its start, so that
    /// a command that comes twice may be done twice.
    ForgottenAfterLook,
    /// A rewind does not stop runs that are open below a settled child.
    RewindForgetsGrandchildren,
    /// A rewind hides a prompt that came after the rewind was ordered.
    LaterPromptHidden,
    /// A turn settles its run although mail of the run is unread.
    SettlesWithMail,
    /// A turn begins although the host waits for a child of the agent.
    TurnBesideAwaitedChild,
    /// Recovery tells an agent of a child that the host waited for and does not mark it as told.
    AwaitedToldTwice,
    /// A child that the host starts is acknowledged before it is in the log.
    SpawnNotWritten,
    /// The end of a child that the host waits for starts a turn of its parent.
    AwaitedChildWakes,
    /// A client's result of a call that is over, or was answered, is acknowledged.
    LateResultAcknowledged,
    /// Recovery closes a call of a root that waits for a client.
    ClientCallLost,
    /// Overlays are found without looking at the session.
    OverlayOfAnotherSession,
    /// The runtime's own `task` call is written again when a later turn goes on with the same prompt.
    OwnCallTwice,
    /// The runtime's own `task` call is left to the model.
    OwnCallSkipped,
    /// An immediate prompt to a busy root is acknowledged and not written.
    ImmediateLost,
    /// An immediate prompt to a busy root waits for the next turn.
    ImmediateWaits,
}

/// Tells whether a bug is planted: never, outside tests.
#[cfg(not(test))]
pub(crate) const fn planted(_bug: Bug) -> bool {
    false
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Tells whether a bug is planted on this thread.
#[cfg(test)]
pub(crate) fn planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Plants a bug on this thread, or none.
#[cfg(test)]
pub(crate) fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}
