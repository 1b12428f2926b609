//! A server on loopback that says, byte for byte, what a test tells it to.
//!
//! Has no test of its own. Speaks just enough HTTP/1.1 to take a request and to
//! answer it in chunks whose size the test decides. Each request gets the next
//! reply of the list, the last one again and again.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// One answer.
#[derive(Clone)]
pub(crate) struct Reply {
    head: String,
    pieces: Vec<Vec<u8>>,
    end: End,
}

/// What follows the last piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The body ends as it should.
    Whole,
    /// The connection is closed before that.
    Cut,
    /// Nothing, until the client goes away.
    Hang,
}

/// A request, as it arrived.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Counts of what happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) connections: usize,
    /// Requests that came.
    pub(crate) asked: usize,
    /// Requests that are not answered to the end.
    pub(crate) open: usize,
    pub(crate) most_open: usize,
    /// Clients that went away while a reply hung.
    pub(crate) gone: usize,
}

pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
    /// Ended with the server.
    _tasks: JoinSet<()>,
}

struct State {
    replies: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Seen>>,
    counts: watch::Sender<Counts>,
    /// Replies wait until it is open.
    gate: watch::Sender<bool>,
}

impl Reply {
    /// Streams events, in one piece.
    pub(crate) fn events(data: &[&str]) -> Self {
        let lines: Vec<String> = data
            .iter()
            .map(|data| format!("data: {data}\n\n"))
            .collect();
        Self::stream(&lines.concat())
    }

    /// Streams a text as it is.
    pub(crate) fn stream(text: &str) -> Self {
        Self::new("200 OK", "content-type: text/event-stream\r\n", text)
    }

    /// Answers with a status, header lines and a body.
    pub(crate) fn new(status: &str, headers: &str, body: &str) -> Self {
        Self {
            head: format!("HTTP/1.1 {status}\r\n{headers}transfer-encoding: chunked\r\n\r\n"),
            pieces: vec![body.as_bytes().to_vec()],
            end: End::Whole,
        }
    }

    /// Sends it in pieces of `size` bytes.
    pub(crate) fn in_pieces_of(mut self, size: usize) -> Self {
        let whole = self.pieces.concat();
        self.pieces = whole.chunks(size).map(<[u8]>::to_vec).collect();
        self
    }

    pub(crate) fn then_cut(mut self) -> Self {
        self.end = End::Cut;
        self
    }

    pub(crate) fn then_hang(mut self) -> Self {
        self.end = End::Hang;
        self
    }

    /// Says nothing at all.
    pub(crate) fn silence() -> Self {
        Self {
            head: String::new(),
            pieces: Vec::new(),
            end: End::Hang,
        }
    }
}

impl Server {
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let server = Self::start_shut(replies).await;
        server.open();
        server
    }

    /// A server that takes requests and holds its replies back until `open`.
    pub(crate) async fn start_shut(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            replies: Mutex::new(replies.into_iter().collect()),
            seen: Mutex::default(),
            counts: watch::channel(Counts::default()).0,
            gate: watch::channel(false).0,
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, state.clone()));
        Self {
            address,
            state,
            _tasks: tasks,
        }
    }

    pub(crate) fn open(&self) {
        self.state.gate.send_replace(true);
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What came so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    pub(crate) fn counts(&self) -> Counts {
        *self.state.counts.borrow()
    }

    /// Waits until the counts are as they should be.
    pub(crate) async fn until(&self, met: impl FnMut(&Counts) -> bool) {
        let mut counts = self.state.counts.subscribe();
        counts.wait_for(met).await.unwrap();
    }
}

/// Returns an address where nobody listens.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        state.counts.send_modify(|counts| counts.connections += 1);
        let state = state.clone();
        connections.spawn(async move {
            // A client that goes away is what some tests are about.
            drop(serve(stream, &state).await);
        });
    }
}

async fn serve(mut stream: TcpStream, state: &State) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    while let Some(seen) = read_request(&mut stream).await? {
        state.seen.lock().unwrap().push(seen);
        state.counts.send_modify(|counts| {
            counts.asked += 1;
            counts.open += 1;
            counts.most_open = counts.most_open.max(counts.open);
        });
        let mut gate = state.gate.subscribe();
        gate.wait_for(|open| *open).await.unwrap();
        let reply = {
            let mut replies = state.replies.lock().unwrap();
            match replies.len() {
                1 => replies[0].clone(),
                _ => replies.pop_front().unwrap(),
            }
        };
        let went_on = send(&mut stream, &reply, state).await;
        state.counts.send_modify(|counts| counts.open -= 1);
        if !went_on? {
            break;
        }
    }
    Ok(())
}

/// Sends a reply and tells whether the connection may be used again.
async fn send(stream: &mut TcpStream, reply: &Reply, state: &State) -> std::io::Result<bool> {
    stream.write_all(reply.head.as_bytes()).await?;
    for piece in reply.pieces.iter().filter(|piece| !piece.is_empty()) {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        stream.write_all(&chunk).await?;
    }
    match reply.end {
        End::Whole => stream.write_all(b"0\r\n\r\n").await.map(|()| true),
        End::Cut => Ok(false),
        End::Hang => {
            let gone = !matches!(stream.read(&mut [0; 64]).await, Ok(1..));
            state
                .counts
                .send_modify(|counts| counts.gone += usize::from(gone));
            Ok(false)
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<Seen>> {
    let mut read = Vec::new();
    let head_end = loop {
        if let Some(at) = read.windows(4).position(|end| end == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&read[..head_end]).to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap();
    let length: usize = length.lines().next().unwrap().parse().unwrap();
    while read.len() < head_end + length {
        stream.read_buf(&mut read).await?;
    }
    let head = String::from_utf8_lossy(&read[..head_end]).into_owned();
    let body = String::from_utf8(read[head_end..].to_vec()).unwrap();
    Ok(Some(Seen { head, body }))
}
