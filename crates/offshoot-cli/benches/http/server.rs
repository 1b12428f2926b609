//! A server in the manner of OpenAI's that answers at once, and notes when it was asked.
//!
//! What it answers stands in the prompt: `fan:N` makes N children, `nest:N` a
//! child that does the rest, `text:N` says N bytes and calls a small tool, `hold`
//! answers after a while. Whoever brings results back, or asks anything else,
//! hears `done`. A request whose prompt begins with `root` is the root's: its
//! first two are the moments that are measured.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long a program is left alone before its memory counts as idle.
const IDLE: Duration = Duration::from_millis(300);

/// Bytes of text in one delta.
const PIECE: usize = 32;

/// The state of the program when a request of its root came.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    /// When it came.
    pub(crate) at: Instant,
    /// When its answer began.
    pub(crate) answered: Instant,
    /// Processor time the program had used.
    pub(crate) cpu_ms: f64,
    /// Memory it had, after it was idle if it was held.
    pub(crate) resident_mb: f64,
}

#[derive(Default)]
struct Notes {
    /// Who is measured.
    process: Option<u32>,
    moments: Vec<Moment>,
}

/// The server. Ends with the process.
pub(crate) struct Server {
    address: SocketAddr,
    notes: Arc<Mutex<Notes>>,
    _tokio: tokio::runtime::Runtime,
}

/// What is noted of one run.
pub(crate) struct Watched<'a>(&'a Server);

impl Watched<'_> {
    /// Returns the root's first request and its last.
    pub(crate) fn taken(self) -> [Moment; 2] {
        let notes = self.0.notes();
        let first = notes.moments.first().expect("the root asked");
        let last = notes.moments.last().expect("the root asked");
        [*first, *last]
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        listener.set_nonblocking(true).expect("bind");
        let address = listener.local_addr().expect("bind");
        let notes: Arc<Mutex<Notes>> = Arc::default();
        let tokio = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("build a runtime");
        let theirs = notes.clone();
        tokio.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("listen");
            let mut clients = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).expect("set an option");
                clients.spawn(serve(stream, theirs.clone()));
                while clients.try_join_next().is_some() {}
            }
        });
        Self {
            address,
            notes,
            _tokio: tokio,
        }
    }

    /// Returns the base address.
    pub(crate) fn address(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Forgets the run before.
    pub(crate) fn expect_root(&self) {
        *self.notes() = Notes::default();
    }

    /// Says which process the next requests come from.
    pub(crate) fn watch(&self, process: u32) -> Watched<'_> {
        self.notes().process = Some(process);
        Watched(self)
    }

    fn notes(&self) -> std::sync::MutexGuard<'_, Notes> {
        lock(&self.notes)
    }
}

fn lock(notes: &Mutex<Notes>) -> std::sync::MutexGuard<'_, Notes> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the requests of one connection.
async fn serve(mut stream: TcpStream, notes: Arc<Mutex<Notes>>) {
    let mut buffer = Vec::with_capacity(64 * 1024);
    while let Some(body) = request(&mut stream, &mut buffer).await {
        let at = Instant::now();
        let body: Value = serde_json::from_slice(&body).expect("a request in JSON");
        let messages = body["messages"].as_array().expect("messages");
        let asked = messages.iter().find(|message| message["role"] == "user");
        let asked = asked.and_then(|message| message["content"].as_str());
        let prompt = asked.unwrap_or_default();
        let is_back = messages
            .last()
            .is_some_and(|message| message["role"] == "tool");
        if prompt == "root hold" {
            tokio::time::sleep(IDLE).await;
        }
        let answer = answer(if is_back { "done" } else { prompt });
        if prompt.starts_with("root") {
            note(&notes, at);
        }
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

fn note(notes: &Mutex<Notes>, at: Instant) {
    let mut notes = lock(notes);
    let (cpu_ms, resident_mb) = notes.process.map_or((0.0, 0.0), used);
    notes.moments.push(Moment {
        at,
        answered: Instant::now(),
        cpu_ms,
        resident_mb,
    });
}

/// Reads one request; `None` when the client is gone.
async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .and_then(|length| length.trim().parse::<usize>().ok())
                .expect("a request that says its length");
            let whole = end + 4 + length;
            while buffer.len() < whole {
                if stream.read_buf(buffer).await.ok()? == 0 {
                    return None;
                }
            }
            let body = buffer[end + 4..whole].to_vec();
            buffer.drain(..whole);
            return Some(body);
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

/// Returns the answer to a prompt, head and all.
fn answer(prompt: &str) -> Vec<u8> {
    let wanted = |word: &str| {
        let at = prompt.find(word)? + word.len();
        let digits: String = prompt[at..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse::<usize>().ok()
    };
    let mut events = String::new();
    let mut reason = "tool_calls";
    if let Some(children) = wanted("fan:") {
        for index in 0..children {
            call(&mut events, index, "task", &task("child done"));
        }
    } else if let Some(levels) = wanted("nest:").filter(|levels| *levels > 0) {
        let rest = format!("child nest:{}", levels - 1);
        call(&mut events, 0, "task", &task(&rest));
    } else if let Some(bytes) = wanted("text:") {
        for _ in 0..bytes / PIECE {
            event(&mut events, &json!({ "content": "x".repeat(PIECE) }), None);
        }
        call(&mut events, 0, "todo", &json!({ "items": [] }));
    } else {
        event(&mut events, &json!({ "content": "done" }), None);
        reason = "stop";
    }
    event(&mut events, &json!({}), Some(reason));
    events.push_str("data: [DONE]\n\n");
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
        events.len()
    );
    [head.into_bytes(), events.into_bytes()].concat()
}

fn task(prompt: &str) -> Value {
    json!({ "subagent_type": "general", "prompt": prompt })
}

fn call(events: &mut String, index: usize, tool: &str, arguments: &Value) {
    let function = json!({ "name": tool, "arguments": arguments.to_string() });
    let call = json!({
        "index": index,
        "id": format!("call_{index}"),
        "type": "function",
        "function": function,
    });
    event(events, &json!({ "tool_calls": [call] }), None);
}

fn event(events: &mut String, delta: &Value, reason: Option<&str>) {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
    let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice] });
    events.push_str("data: ");
    events.push_str(&chunk.to_string());
    events.push_str("\n\n");
}

/// Returns the processor time a process has used, in milliseconds, and its memory in megabytes.
fn used(process: u32) -> (f64, f64) {
    let folder = format!("/proc/{process}");
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let first = |text: &str| -> f64 {
        let word = text.split_whitespace().next();
        word.and_then(|word| word.parse().ok()).unwrap_or(0.0)
    };
    let threads = std::fs::read_dir(format!("{folder}/task"));
    let nanoseconds: f64 = threads
        .into_iter()
        .flatten()
        .flatten()
        .map(|thread| first(&read(format!("{}/schedstat", thread.path().display()))))
        .sum();
    let status = read(format!("{folder}/status"));
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    (
        nanoseconds / 1e6,
        first(resident.unwrap_or_default()) * 1024.0 / 1e6,
    )
}
