//! Output: seen while it comes, bounded, and kept whole beside it (TLS-14).

use std::fs;

use offshoot_types::json::RawJson;
use offshoot_types::outcome::Outcome;
use offshoot_types::tool::{Tool as _, Work};
use serde_json::json;

use crate::bash_bench::{Heard, Shell, assert_nobody, mark, until};

const LIMIT: usize = 190 * 1024;

async fn listen(shell: &Shell, command: &str) -> (Outcome, Heard) {
    let heard = Heard::default();
    let work = Work {
        output: heard.output(),
        ..shell.work("a", &json!({"command": command}))
    };
    (shell.bash.run(work).await, heard)
}

#[tokio::test]
async fn output_is_seen_while_the_command_runs() {
    let shell = Shell::new();
    let heard = Heard::default();
    let command = "echo first; while [ ! -e go ]; do sleep 0.01; done; echo second";
    let work = Work {
        output: heard.output(),
        ..shell.work("a", &json!({"command": command}))
    };
    let go = shell.path("w/go");
    let (outcome, ()) = tokio::join!(shell.bash.run(work), async {
        // The command waits for this file, so it cannot have ended.
        until("the first line is heard", || heard.text() == "first\n").await;
        fs::write(go, "").unwrap();
    });
    assert_eq!(outcome.for_model(), "first\nsecond\n");
    assert_eq!(heard.text(), "first\nsecond\n");
}

#[tokio::test]
async fn a_character_is_never_said_in_halves() {
    let shell = Shell::new();
    let heard = Heard::default();
    let command = "printf 'a\\xe2\\x82'; touch half; while [ ! -e go ]; do sleep 0.01; done; \
         printf '\\xacz'";
    let work = Work {
        output: heard.output(),
        ..shell.work("a", &json!({"command": command}))
    };
    let (outcome, ()) = tokio::join!(shell.bash.run(work), async {
        until("half of it is heard", || heard.text() == "a").await;
        fs::write(shell.path("w/go"), "").unwrap();
    });
    assert_eq!(outcome.for_model(), "a€z");
    assert_eq!(heard.text(), "a€z");
}

#[tokio::test]
async fn what_is_no_text_is_said_as_well_as_it_goes() {
    let shell = Shell::new();
    let (outcome, heard) = listen(&shell, "printf 'a\\xffb\\xe2\\x82'").await;
    assert_eq!(outcome.for_model(), "a\u{fffd}b\u{fffd}");
    assert_eq!(heard.text(), "a\u{fffd}b\u{fffd}");
}

#[tokio::test]
async fn many_small_pieces_are_said_in_few() {
    let shell = Shell::new();
    let command = "for n in $(seq 5000); do echo $n; done";
    let (outcome, heard) = listen(&shell, command).await;
    assert_eq!(heard.text(), outcome.for_model());
    let pieces = heard.pieces().len();
    assert!(pieces < 500, "{pieces} pieces for 5000 writes");
}

#[tokio::test]
async fn output_up_to_the_bound_is_whole() {
    let shell = Shell::new();
    let command = format!("head -c {LIMIT} /dev/zero | tr '\\0' x");
    let outcome = shell.outcome(&command).await;
    assert_eq!(outcome.for_model(), "x".repeat(LIMIT));
    assert_eq!(outcome.metadata.truncated, None);
    assert_eq!(outcome.metadata.output_path, None);
    assert!(!shell.path("s/outputs").exists());
}

#[tokio::test]
async fn of_long_output_the_middle_is_left_out_and_all_is_in_a_file() {
    let shell = Shell::new();
    let all: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    let outcome = shell.outcome("seq 100000; exit 5").await;
    let text = outcome.for_model();
    let path = shell.path("s/outputs/1-bash.txt");
    assert_eq!(fs::read_to_string(&path).unwrap(), all);
    let (head, rest) = text.split_once("\n[").unwrap();
    let (note, tail) = rest.split_once("]\n").unwrap();
    let left_out = all.len() - LIMIT;
    assert_eq!(
        note,
        format!(
            "{left_out} bytes are left out here; the whole output is in {}",
            path.display()
        )
    );
    assert!(all.starts_with(head));
    let tail = tail.strip_suffix("[exit code 5]").unwrap();
    assert!(all.ends_with(tail));
    assert!(text.len() < LIMIT + 1000);
    let metadata = &outcome.metadata;
    assert_eq!(metadata.truncated, Some(true));
    assert_eq!(metadata.output_path, path.to_str().map(str::to_owned));
    assert_eq!(
        metadata.extra.get("output_bytes"),
        Some(&RawJson::of(&all.len()))
    );
    assert_eq!(metadata.extra.get("exit_code"), Some(&RawJson::of(&5)));

    let outcome = shell.outcome("seq 100000").await;
    let second = shell.path("s/outputs/2-bash.txt");
    assert_eq!(
        outcome.metadata.output_path,
        second.to_str().map(str::to_owned)
    );
}

#[tokio::test]
async fn without_a_scratch_folder_the_rest_is_not_kept() {
    let shell = Shell::new();
    let mut place = shell.place("a");
    place.scratch = None;
    let arguments = RawJson::of(&json!({"command": "seq 100000"}));
    let outcome = shell.bash.run(Work::new(arguments, place)).await;
    assert!(outcome.for_model().contains("; the rest was not kept]\n"));
    assert_eq!(outcome.metadata.truncated, Some(true));
    assert_eq!(outcome.metadata.output_path, None);
}

#[tokio::test]
async fn a_flood_is_bounded_in_memory_and_on_disk() {
    let shell = Shell::new();
    let command = "head -c 200000000 /dev/zero | tr '\\0' x; echo; grep VmHWM /proc/$PPID/status";
    let (outcome, heard) = listen(&shell, command).await;
    let text = outcome.for_model();
    let path = shell.path("s/outputs/1-bash.txt");
    assert_eq!(fs::metadata(&path).unwrap().len(), 50 * 1024 * 1024);
    let note = format!("; the first 50 MB are in {}]\n", path.display());
    assert!(text.contains(&note));
    let peak = text.lines().last().unwrap();
    let kilobytes: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 32 * 1024, "the keeper took {peak}");
    let said = heard.text();
    assert!(said.contains(" bytes are not shown]\n"));
    assert!(said.len() < 50_000_000, "{} bytes were said", said.len());
}

#[tokio::test]
async fn a_flood_without_end_is_ended_by_its_timeout() {
    let shell = Shell::new();
    let mark = mark();
    let arguments = json!({"command": format!("yes {mark}"), "timeout_ms": 500});
    let outcome = shell.call("a", &arguments).await;
    let text = outcome.for_model();
    let expected = "error: the command timed out after 500 ms and was ended; output so far:\n1000";
    assert!(text.starts_with(expected));
    assert!(text.len() < LIMIT + 1000);
    assert_eq!(outcome.metadata.truncated, Some(true));
    let file = fs::metadata(outcome.metadata.output_path.unwrap()).unwrap();
    assert!(file.len() <= 50 * 1024 * 1024);
    assert_nobody(&mark);
}

#[tokio::test]
async fn a_flood_in_the_background_holds_nobody_up() {
    let shell = Shell::new();
    let mark = mark();
    let text = shell.run(&format!("yes {mark} & echo started")).await;
    let expected = format!("[1 process still runs; it ends with this agent: yes {mark}]");
    assert!(text.ends_with(&expected), "{}", &text[text.len() - 200..]);
    shell.bash.end("a").await;
    assert_nobody(&mark);
}

#[tokio::test]
async fn what_is_printed_after_the_call_goes_on_in_the_file() {
    let shell = Shell::new();
    let command = "(while [ ! -e go ]; do sleep 0.01; done; echo after) & echo before";
    let outcome = shell.outcome(command).await;
    let path = shell.path("s/outputs/1-bash.txt");
    let text = outcome.for_model();
    let expected = format!("before\n[further output goes to {}]\n[", path.display());
    assert!(text.starts_with(&expected), "{text}");
    assert_eq!(outcome.metadata.truncated, None);
    assert_eq!(
        outcome.metadata.output_path,
        path.to_str().map(str::to_owned)
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "before\n");
    fs::write(shell.path("w/go"), "").unwrap();
    until("the rest is in the file", || {
        fs::read_to_string(&path).unwrap() == "before\nafter\n"
    })
    .await;
}

#[tokio::test]
async fn a_long_output_fits_into_a_request_with_its_exit_code() {
    let shell = Shell::new();
    for bytes in [LIMIT, LIMIT + 1, 4 * LIMIT] {
        let command = format!("head -c {bytes} /dev/zero | tr '\\0' x; exit 7");
        let answer = shell.run(&command).await;
        assert!(answer.len() <= 200 * 1024, "{}", answer.len());
        assert!(answer.ends_with("\n[exit code 7]"), "{bytes}");
    }
}
