//! Every kind of entry, as a line.

use offshoot_types::caps::{Caps, Span};
use offshoot_types::event::{Parent, Profile};
use offshoot_types::hook::Point;
use offshoot_types::id::{CallId, MessageId, Pos, RunId, RunNo, Seq, Timestamp, TreeId, TurnNo};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Context, Effort};
use offshoot_types::message::{Call, Reasoning, StopReason, Usage, UserMessage};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::{Decision, Layer, Need, Rule};
use offshoot_types::report::Report;
use offshoot_types::settlement::{FailureKind, Status};
use offshoot_types::terms::Terms;

use super::*;

const KID: &str = "01a1e109-1763-74e2-ac56-7fda4907320c";

#[track_caller]
fn check(event: Event, expected: &str) {
    let entry = Entry {
        tree: TreeId::of(AgentId::new("root")),
        pos: Pos::new(7),
        agent: AgentId::new(KID),
        seq: Seq::new(1),
        at: Timestamp::new(0),
        event,
    };
    assert_eq!(
        lines(&entry, Length::Cut).join("\n"),
        format!("   7 00:00:00 4907320c {expected}")
    );
}

fn replied(parts: Vec<AssistantPart>) -> Event {
    Event::Replied(AssistantMessage {
        id: MessageId::new("m"),
        parts,
        model: "x".to_owned(),
        usage: Usage::default(),
        estimated: false,
        cost: None,
        stop: StopReason::Calls,
        timing: None,
        request: None,
        by_runtime: false,
    })
}

fn spawned(origin: Origin) -> Event {
    Event::Spawned(Box::new(Spawned {
        definition: "reader".to_owned(),
        origin,
        depth: 0,
        model: "scripted/x".to_owned(),
        layer: Layer::default(),
        inspectable: false,
        terms: offshoot_types::terms::Terms::default(),
        profile: Profile::default(),
        metadata: None,
    }))
}

fn settlement(status: Status) -> Settlement {
    Settlement {
        output: Some("3 files".to_owned()),
        output_path: None,
        usage: Usage {
            input: 10,
            output: 5,
            ..Usage::default()
        },
        steps: 1,
        duration_ms: 1_500,
        ..Settlement::new(status)
    }
}

fn finished(outcome: Outcome) -> Event {
    Event::CallFinished {
        call: CallId::new("c1"),
        outcome,
        delivers: Vec::new(),
    }
}

#[test]
fn a_hook_that_refuses_a_prompt_stops_no_agent() {
    let stopped = |point| {
        hooked(&Hooked {
            hook: "guard".to_owned(),
            point,
            call: None,
            did: Did::Stopped {
                reason: "not now".to_owned(),
            },
            note: None,
            context: None,
            arguments: None,
            by_host: false,
        })
    };
    let refused = "guard at UserPromptSubmit: refused: not now";
    assert_eq!(stopped(Point::UserPromptSubmit), refused);
    let stopped = stopped(Point::PostToolUse);
    assert_eq!(stopped, "guard at PostToolUse: stopped the agent: not now");
}

#[test]
fn a_script_is_shown_by_its_path_and_not_with_two_slashes() {
    assert_eq!(model("scripted//tmp/x.yaml"), "script /tmp/x.yaml");
    assert_eq!(model("openai-chat/gpt"), "openai-chat/gpt");
}

#[test]
fn one_of_a_kind_is_not_many() {
    let Event::Spawned(mut born) = spawned(Origin::Task(Parent {
        agent: AgentId::new("root"),
        call: CallId::new("c1"),
        message: MessageId::new("m"),
        background: false,
        host: false,
    })) else {
        panic!("no birth");
    };
    born.terms.caps.steps = Some(1);
    born.terms.caps.descendants = Some(1);
    let details = receipt::details(&Event::Spawned(born), Length::Cut);
    let limits = ("limits", "1 request, 1 agent below".to_owned());
    assert!(details.contains(&limits), "{details:?}");
}

#[test]
fn births_name_their_origin() {
    let session = Origin::Session {
        workspace: "/book".to_owned(),
        date: "2026-11-15".to_owned(),
        project: None,
        copy: None,
    };
    let tools = format!("\n{:23}tools      none", "");
    let expected = format!("spawned    reader on scripted/x in /book{tools}");
    check(spawned(session), &expected);
    let task = Origin::Task(Parent {
        agent: AgentId::new("root"),
        call: CallId::new("c1"),
        message: MessageId::new("m"),
        background: true,
        host: false,
    });
    check(
        spawned(task),
        &format!(
            "spawned    reader for c1 of root in the background\n{below}model      scripted/x\n\
             {below}context    fresh\n{below}tools      none",
            below = " ".repeat(23)
        ),
    );
}

#[test]
fn what_is_said_is_on_one_line_and_harmless() {
    let prompt = |text: &str, from| {
        Event::Prompted(UserMessage {
            id: MessageId::new("m"),
            text: text.into(),
            from,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        })
    };
    check(
        prompt("go\non\u{7}", Author::Human),
        r"prompt     'go\non\u{7}'",
    );
    check(
        prompt("go", Author::Parent),
        "prompt     from its parent 'go'",
    );
    let long = format!("prompt     '{}…'", "é".repeat(240));
    check(prompt(&"é".repeat(241), Author::Human), &long);
    let call = |arguments| {
        AssistantPart::Call(Call {
            id: CallId::new("c\u{1b}1"),
            tool: "task".to_owned(),
            arguments,
        })
    };
    let reply = replied(vec![
        AssistantPart::Reasoning(Reasoning {
            text: "hm".to_owned(),
            raw: None,
        }),
        AssistantPart::Text("yes".to_owned()),
        call(Arguments::Json(RawJson::null())),
        call(Arguments::Malformed("{".to_owned())),
    ]);
    check(
        reply,
        r"said       thinking 'hm' 'yes' task#c\u{1b}1(null) task#c\u{1b}1({)",
    );
}

#[test]
fn saying_nothing_is_said() {
    check(replied(Vec::new()), "said       (nothing)");
    let blank = AssistantPart::Text(" \n".to_owned());
    check(replied(vec![blank]), "said       (nothing)");
}

#[test]
fn long_and_many_calls_are_cut_unless_all_is_wanted() {
    let call = |number: usize| {
        AssistantPart::Call(Call {
            id: CallId::new(number.to_string()),
            tool: "t".to_owned(),
            arguments: Arguments::Malformed("a".repeat(79 + number)),
        })
    };
    let (whole, cut) = ("a".repeat(80), format!("{}…", "a".repeat(80)));
    let expected =
        format!("said       t#1({whole}) t#2({cut}) t#3({cut}) t#4({cut}) and 2 calls more");
    check(replied((1..=6).map(call).collect()), &expected);
    let (_, full) = event(&replied((1..=6).map(call).collect()), Length::Full);
    assert!(
        full.ends_with(&format!("t#6({})", "a".repeat(85))),
        "{full}"
    );
    assert!(!full.contains('…'));
}

#[test]
fn lines_and_tabs_are_harmless() {
    assert_eq!(
        harmless_lines("a\tb\n\n\u{1b}[2Jc\r\n\u{9b}d"),
        "a\tb\n\n\\u{1b}[2Jc\\r\n\\u{9b}d"
    );
}

#[test]
fn no_character_makes_a_text_look_like_another() {
    let hidden = [
        '\u{200b}'..='\u{200f}',
        '\u{202a}'..='\u{202e}',
        '\u{2060}'..='\u{2064}',
        '\u{2066}'..='\u{2069}',
        '\u{feff}'..='\u{feff}',
        '\u{fe00}'..='\u{fe0f}',
        '\u{fff9}'..='\u{fffb}',
        '\u{1d173}'..='\u{1d17a}',
        '\u{e0100}'..='\u{e01ef}',
        '\u{2000}'..='\u{200a}',
    ];
    let single =
        "\u{a0}\u{ad}\u{34f}\u{115f}\u{1160}\u{17b4}\u{180e}\u{2800}\u{3000}\u{3164}\u{ffa0}";
    for character in hidden.into_iter().flatten().chain(single.chars()) {
        let expected = format!("rm \\u{{{:x}}}x", u32::from(character));
        assert_eq!(harmless(&format!("rm {character}x")), expected);
    }
    for letters in [
        "ü 漢字 עברית العربية e\u{301} 🙂",
        "❤\u{fe0f} 1\u{fe0f}\u{20e3}",
        "\u{1112}\u{1161}\u{11ab}",
        "ế क्षि שָׁלוֹם",
    ] {
        assert_eq!(harmless(letters), letters);
    }
}

#[test]
fn r24_whatever_is_shown_has_as_many_columns_as_are_counted() {
    let others = ('\0'..=char::MAX).filter(|character| !character.is_ascii());
    let odd = others.filter(|character| {
        let text = format!("x{character}x");
        // What the standard library does not write out as a character of its own is a mark.
        let is_mark = character.escape_debug().len() > 1;
        let width = unicode_width::UnicodeWidthChar::width(*character);
        harmless(&text) == text && !is_mark && !matches!(width, Some(1 | 2))
    });
    // Letters of India that are written as marks, and one of the Khmer that takes three columns.
    let known = "\u{d4e}\u{17d8}\u{a8fa}\u{111c2}\u{111c3}\u{113d1}\u{1193f}\u{11941}\
                 \u{11a84}\u{11a85}\u{11a86}\u{11a87}\u{11a88}\u{11a89}\u{11d46}\u{11f02}";
    assert_eq!(odd.collect::<String>(), known);
}

#[test]
fn r24_marks_stay_on_letters_and_are_few() {
    let towers = format!("e{} x", "\u{301}".repeat(50));
    let shown = harmless(&towers);
    assert_eq!(shown.matches('\u{301}').count(), 4, "{shown}");
    for lonely in [
        " \u{301}",
        "-\u{301}",
        "\u{301}",
        "a\u{1161}",
        "a\u{fe0f}",
        "❤\u{fe0f}\u{fe0f}",
    ] {
        assert!(harmless(lonely).contains("\\u{"), "{lonely:?}");
    }
}

#[test]
fn many_spaces_are_counted() {
    for (text, expected) in [
        ("", ""),
        ("  a  b ", "  a  b "),
        (&format!("a{}b c", " ".repeat(17)), "a[17 spaces]b c"),
        (&" ".repeat(212), "[212 spaces]"),
        (&" ".repeat(16), &" ".repeat(16)),
    ] {
        assert_eq!(counted_spaces(text), expected);
    }
}

#[test]
fn spaces_of_other_languages_are_spaces_to_who_reads_an_answer() {
    assert_eq!(
        plain_spaces("Oui\u{a0}! 日\u{3000}本\nx"),
        "Oui ! 日  本\nx"
    );
}

#[test]
fn joiners_stay_where_they_join_and_nowhere_else() {
    for joined in [
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
        "👩🏽\u{200d}💻",
        "❤\u{fe0f}\u{200d}🔥",
    ] {
        assert_eq!(harmless(joined), joined);
    }
    for hidden in [
        "r\u{200d}m",
        "👩\u{200d}",
        "\u{200c}م",
        "я\u{200d}я",
        "م\u{200d}\u{200d}م",
    ] {
        assert!(harmless(hidden).contains("\\u{200"), "{hidden}");
    }
}

#[test]
fn calls_are_decided_started_and_finished() {
    let decided = Event::Decided {
        call: CallId::new("c1"),
        decision: Decision {
            action: Action::Deny,
            layer: "agent reader".to_owned(),
            rule: None,
        },
        grant: None,
        reason: None,
    };
    check(decided, "decided    c1 denied by agent reader");
    let ruled = Event::Decided {
        call: CallId::new("c1"),
        decision: Decision {
            action: Action::Deny,
            layer: "the user's rules".to_owned(),
            rule: Some(Rule::new("task", "explore", Action::Deny)),
        },
        grant: None,
        reason: None,
    };
    let told = "decided    c1 denied by the user's rules: deny task explore";
    check(ruled, told);
    for (layer, told) in [
        ("nobody answered in time", "nobody answered in time"),
        ("default", "no rule allows it, and nobody was there to ask"),
        (
            "the user's rules",
            "the user's rules ask, and nobody was there",
        ),
    ] {
        let refused = Event::Decided {
            call: CallId::new("c1"),
            decision: Decision {
                action: Action::Ask,
                layer: layer.to_owned(),
                rule: None,
            },
            grant: None,
            reason: None,
        };
        check(refused, &format!("decided    c1 refused: {told}"));
    }
    let asked = |needs: &[Need]| Event::Asked {
        call: CallId::new("c1"),
        tool: "task".to_owned(),
        needs: needs.to_vec(),
        decision: Decision {
            action: Action::Ask,
            layer: "hook guard: sure?".to_owned(),
            rule: None,
        },
        questions: Vec::new(),
        deadline: None,
        waits_for_client: false,
    };
    let hook = Need::new(Need::HOOK_ASKS, "hook guard: sure?");
    check(
        asked(&[Need::new("task", "explore"), hook.clone()]),
        "asked      c1 for task explore, because hook guard asks: sure?",
    );
    check(
        asked(&[hook]),
        "asked      c1, because hook guard asks: sure?",
    );
    let started = Event::CallStarted {
        call: CallId::new("c1"),
        child: Some(AgentId::new(KID)),
    };
    check(started, "started    c1, agent 4907320c");
    let text = RawJson::of(&"3 files");
    check(
        finished(Outcome::output(text)),
        "finished   c1 ok '3 files'",
    );
    let error = Outcome::error(ErrorKind::Failed, "no such file");
    check(finished(error), "finished   c1 error 'no such file'");
}

#[test]
fn turns_and_runs_say_how_they_ended() {
    let started = Event::TurnStarted {
        run: RunNo::new(1),
        turn: TurnNo::new(2),
        prompt: None,
    };
    check(started, "turn       2 of run 1, by mail");
    let ended = Event::TurnEnded {
        turn: TurnNo::new(2),
        end: TurnEnd::Aborted(CancelledBy::User),
    };
    check(ended, "turn end   2 aborted by the user");
    let failed = Status::Failed {
        kind: FailureKind::Model,
        message: "500".to_owned(),
    };
    let settled = Event::Settled {
        run: RunNo::new(1),
        settlement: settlement(failed),
        untold: false,
    };
    check(
        settled,
        "settled    run 1 failed (500) '3 files', 15 tokens, 1.5s",
    );
    let told = Event::Completion {
        message: MessageId::new("m"),
        run: RunId {
            agent: AgentId::new("kid"),
            run: RunNo::new(1),
        },
        definition: "reader".to_owned(),
        call: None,
        settlement: settlement(Status::Completed),
        quiet: false,
    };
    check(
        told,
        "told       reader kid completed '3 files', 15 tokens, 1.5s",
    );
}

#[test]
fn the_receipt_of_a_spawn_says_all_that_the_agent_got() {
    let Event::Spawned(mut born) = spawned(Origin::Task(Parent {
        agent: AgentId::new("root"),
        message: MessageId::new("m"),
        call: CallId::new("c1"),
        background: false,
        host: false,
    })) else {
        panic!("a birth");
    };
    born.terms = Terms {
        effort: Some(Effort::High),
        context: Context::Fork,
        read_only: true,
        tools: vec!["read".to_owned(), "task".to_owned()],
        missing_tools: vec!["fetch".to_owned()],
        barred_tools: vec!["write".to_owned()],
        caps: Caps {
            steps: Some(16),
            tokens: Some(9_000),
            cost: Money::dollars(0.5),
            time: Some(Span::secs(3_600)),
            stall: Some(Span::secs(300)),
            descendants: Some(3),
        },
        own_caps: Caps::default(),
        permissions: [
            ("fs.read".to_owned(), Action::Allow),
            ("fs.write".to_owned(), Action::Ask),
        ]
        .into(),
    };
    let details = receipt::details(&Event::Spawned(born), Length::Cut);
    let expected = [
        ("model", "scripted/x, effort high"),
        ("context", "fork"),
        ("only", "reading"),
        ("tools", "read, task"),
        ("missing", "fetch"),
        ("barred", "write"),
        (
            "limits",
            "16 requests, 9000 tokens, $0.5, 1h, 5m without progress, 3 agents below",
        ),
        (
            "may",
            "fs.read allow, fs.write ask, where no rule names the target",
        ),
    ];
    assert_eq!(
        details,
        expected.map(|(name, text)| (name, text.to_owned()))
    );
}

#[test]
fn a_settlement_says_what_else_came_of_the_run_and_moves_no_cursor() {
    let settlement = Settlement {
        report: Some(Box::new(Report {
            scope: "the tests".to_owned(),
            result: "two\nlines".to_owned(),
            key_files: "a.rs".to_owned(),
            files_changed: "none".to_owned(),
            issues: "\u{1b}[2J".to_owned(),
        })),
        value: Some(RawJson::of(&serde_json::json!({ "ok": true }))),
        files: vec!["/w/a".to_owned(), "/w/b".to_owned()],
        output_path: Some("/data/answer.md".to_owned()),
        transcript_path: Some("/data/t.md".to_owned()),
        ..settlement(Status::Completed)
    };
    let settled = Event::Settled {
        run: RunNo::new(1),
        settlement,
        untold: false,
    };
    let expected = [
        ("scope", "the tests"),
        ("result", "two\\nlines"),
        ("key files", "a.rs"),
        ("says", "none"),
        ("issues", "\\u{1b}[2J"),
        ("value", "{\"ok\":true}"),
        ("changed", "/w/a, /w/b"),
        ("answer", "/data/answer.md"),
        ("transcript", "/data/t.md"),
    ];
    let details = receipt::details(&settled, Length::Cut);
    assert_eq!(
        details,
        expected.map(|(name, text)| (name, text.to_owned()))
    );
}

#[test]
fn first_words_are_one_line_and_say_when_there_is_more() {
    for (text, most, expected) in [
        ("chapter 1", 20, "chapter 1"),
        (" one\n two\t three ", 20, "one two three"),
        ("one two three four", 8, "one two …"),
        ("onetwothreefour", 6, "onetwo…"),
        ("", 6, ""),
        ("a\u{1b}[2J", 20, "a\\u{1b}[2J"),
    ] {
        assert_eq!(first_words(text, most), expected, "{text:?}");
    }
}
