//! What becomes of a prompt, as every face sees it.

use offshoot::Event;
use offshoot::flow::{Progress, SentPrompt};
use offshoot::types::event::TurnEnd;
use offshoot::types::id::{MessageId, RunNo, TurnNo};
use offshoot::types::message::{Author, Usage, UserMessage};
use offshoot::types::settlement::{CancelledBy, FailureKind, Settlement, Status};

fn prompted(id: &str) -> Event {
    Event::Prompted(UserMessage {
        id: MessageId::new(id),
        text: "do it".into(),
        from: Author::Human,
        agent: None,
        model: None,
        metadata: None,
        output_schema: None,
        delegation: None,
        immediate: false,
    })
}

fn started(prompt: Option<&str>) -> Event {
    Event::TurnStarted {
        run: RunNo::new(1),
        turn: TurnNo::new(1),
        prompt: prompt.map(MessageId::new),
    }
}

fn ended(end: TurnEnd) -> Event {
    let turn = TurnNo::new(1);
    Event::TurnEnded { turn, end }
}

fn failed() -> Event {
    ended(TurnEnd::Failed {
        kind: FailureKind::Model,
        message: "down".to_owned(),
    })
}

fn settled(status: Status) -> Event {
    Event::Settled {
        run: RunNo::new(1),
        settlement: Settlement::new(status),
        untold: false,
    }
}

fn rewound(hides: &str) -> Event {
    Event::Rewound {
        to: None,
        hides: [MessageId::new(hides)].into(),
        drops: Vec::new(),
        consumes: Vec::new(),
        counts: Usage::default(),
    }
}

/// Returns the word for how far a prompt has come.
fn word(progress: &Progress) -> &'static str {
    match progress {
        Progress::Sent => "sent",
        Progress::Queued => "queued",
        Progress::HeldBack(_) => "held back",
        Progress::Running => "running",
        Progress::TurnOver(_) => "turn over",
        Progress::Answered(settlement) => settlement.status.word(),
        Progress::TakenBack => "taken back",
    }
}

/// Folds events about the prompt `ours`; checks how far it has come after each of them.
#[track_caller]
fn check(events: &[(Event, &str)]) {
    let mut sent = SentPrompt::new(MessageId::new("ours"));
    for (at, (event, expected)) in events.iter().enumerate() {
        sent.take(event);
        assert_eq!(word(sent.progress()), *expected, "after event {at}");
    }
}

#[test]
fn r17_a_prompt_is_answered_by_the_run_that_has_taken_it() {
    check(&[
        (started(Some("theirs")), "sent"),
        (prompted("ours"), "queued"),
        (ended(TurnEnd::Finished), "queued"),
        (started(Some("ours")), "running"),
        (ended(TurnEnd::Finished), "turn over"),
        (started(None), "running"),
        (ended(TurnEnd::Finished), "turn over"),
        (settled(Status::Completed), "completed"),
        (settled(Status::Cancelled(CancelledBy::User)), "completed"),
    ]);
}

#[test]
fn r17_a_run_that_ends_before_the_prompt_is_stored_does_not_answer_it() {
    check(&[
        (failed(), "sent"),
        (settled(Status::Completed), "sent"),
        (prompted("ours"), "queued"),
        (settled(Status::Completed), "queued"),
    ]);
}

#[test]
fn r17_a_prompt_behind_a_turn_that_fails_is_held_back_and_that_failure_answers_it() {
    let lost = Status::Cancelled(CancelledBy::Shutdown);
    check(&[
        (prompted("ours"), "queued"),
        (failed(), "held back"),
        (settled(lost), "cancelled"),
    ]);
}

#[test]
fn r17_a_prompt_that_is_held_back_is_queued_again_with_the_next_one() {
    check(&[
        (prompted("ours"), "queued"),
        (failed(), "held back"),
        (prompted("theirs"), "queued"),
        (started(Some("ours")), "running"),
    ]);
}

#[test]
fn r8_a_prompt_that_no_turn_has_taken_is_taken_back_by_a_rewind_that_hides_it() {
    check(&[
        (prompted("ours"), "queued"),
        (rewound("theirs"), "queued"),
        (rewound("ours"), "taken back"),
        (started(Some("theirs")), "taken back"),
    ]);
    check(&[
        (prompted("ours"), "queued"),
        (started(Some("ours")), "running"),
        (rewound("ours"), "running"),
    ]);
}

#[test]
fn a_prompt_that_enters_a_turn_which_runs_is_answered_with_it() {
    let prompt = MessageId::new("ours");
    check(&[
        (prompted("ours"), "queued"),
        (Event::Steered { prompt }, "running"),
        (ended(TurnEnd::Finished), "turn over"),
        (settled(Status::Completed), "completed"),
    ]);
}
