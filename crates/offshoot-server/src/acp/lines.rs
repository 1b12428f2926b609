//! Lines in and out: one JSON-RPC message a line, on any pair of byte streams.
//!
//! Requests and responses are the protocol library's; session updates are ours. Both go through one
//! queue to one writer, so a client sees them in the order in which they were queued. The library queues
//! its own lines a moment after it is told to: `Outgoing::after_library` waits for that, for the few places
//! where an update has to follow a response. A line that is too long, or is not UTF-8, is answered with a
//! parse error and skipped; the connection goes on.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::{Client, UntypedMessage};
use futures_util::{Sink, Stream, sink, stream};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::sync::{mpsc, oneshot};

use super::wire::Notification;

/// The longest line that is read: room for a prompt with attachments in base64.
pub(super) const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// Lines that may wait for the writer. Beyond that the sender waits: a client that reads slowly slows
/// down its own updates, and nothing else.
const QUEUE: usize = 1024;

/// The method of a line that never leaves: it marks a place among the library's lines.
const MARK: &str = "_offshoot/mark";

/// Stands for a line that cannot be read. It is no JSON, so the library answers with a parse error.
const UNREADABLE: &str = "unreadable";

/// Where lines for the client go.
#[derive(Clone)]
pub(super) struct Outgoing {
    lines: mpsc::Sender<Vec<u8>>,
    marks: Arc<Mutex<Marks>>,
}

/// The marks that the library has not queued yet.
#[derive(Default)]
struct Marks {
    last: u64,
    waits: BTreeMap<u64, oneshot::Sender<()>>,
}

/// The parameters of a mark.
#[derive(Serialize, Deserialize)]
struct Mark {
    number: u64,
}

/// A line of ours.
#[derive(Serialize)]
struct Message<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: &'a Notification,
}

impl Outgoing {
    /// Makes the queue, and the writer that empties it until every sender, or the client, is gone.
    pub(super) fn new<W: AsyncWrite + Send + Unpin + 'static>(
        output: W,
    ) -> (
        Self,
        impl Future<Output = io::Result<()>> + Send + use<W> + 'static,
    ) {
        let (lines, queued) = mpsc::channel(QUEUE);
        let marks = Arc::default();
        (Self { lines, marks }, write(queued, output))
    }

    /// Queues a session update. Nothing happens if the client is gone.
    pub(super) async fn update(&self, notification: &Notification) {
        let message = Message {
            jsonrpc: "2.0",
            method: "session/update",
            params: notification,
        };
        match serde_json::to_vec(&message) {
            Ok(line) => drop(self.lines.send(line).await),
            Err(error) => tracing::error!(%error, "a session update cannot be written"),
        }
    }

    /// Waits until everything that the library was given before is queued, or the client is gone.
    pub(super) async fn after_library(&self, connection: &ConnectionTo<Client>) {
        let (reached, wait) = oneshot::channel();
        let number = {
            let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
            marks.last += 1;
            let number = marks.last;
            marks.waits.insert(number, reached);
            number
        };
        let mark = UntypedMessage::new(MARK, Mark { number });
        if mark
            .and_then(|mark| connection.send_notification(mark))
            .is_ok()
        {
            drop(wait.await);
        }
    }

    /// Returns where the library's lines go.
    pub(super) fn sink(&self) -> impl Sink<String, Error = io::Error> + Send + use<> + 'static {
        sink::unfold(self.clone(), |this, line: String| async move {
            if let Some(number) = mark(&line) {
                let mut marks = this.marks.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(wait) = marks.waits.remove(&number) {
                    // An error says that the waiting task has ended.
                    wait.send(()).ok();
                }
            } else {
                let sent = this.lines.send(line.into_bytes()).await;
                sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            }
            Ok(this)
        })
    }
}

/// Returns the number of a mark; `None` for a message.
fn mark(line: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Marked {
        method: String,
        params: Mark,
    }
    if line.len() > 128 || !line.contains(MARK) {
        return None;
    }
    let marked: Marked = serde_json::from_str(line).ok()?;
    (marked.method == MARK).then_some(marked.params.number)
}

/// Writes queued lines, many at a time, and flushes when none waits.
async fn write(
    mut queued: mpsc::Receiver<Vec<u8>>,
    output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    let mut lines = Vec::new();
    while queued.recv_many(&mut lines, QUEUE).await > 0 {
        for mut line in lines.drain(..) {
            line.push(b'\n');
            output.write_all(&line).await?;
        }
        output.flush().await?;
    }
    output.shutdown().await
}

/// Returns the client's lines, each without its end.
pub(super) fn incoming(
    input: impl AsyncRead + Send + Unpin + 'static,
) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    stream::try_unfold(BufReader::new(input), |mut input| async move {
        loop {
            match read_line(&mut input).await? {
                None => return Ok(None),
                Some(line) if line.trim().is_empty() => {}
                Some(line) => return Ok(Some((line, input))),
            }
        }
    })
}

/// Reads one line, and no more of it than is taken.
async fn read_line(input: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let read = input.fill_buf().await?;
        if read.is_empty() {
            if line.is_empty() && !too_long {
                return Ok(None);
            }
            break;
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(read.len());
        too_long |= line.len() + taken > LONGEST_LINE;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(&read[..taken]);
        }
        input.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            break;
        }
    }
    let unreadable = || UNREADABLE.to_owned();
    Ok(Some(match String::from_utf8(line) {
        Ok(line) if !too_long => line,
        Ok(_) | Err(_) => unreadable(),
    }))
}
