//! The keeper: the process between us and a command.
//!
//! Runs one command, passes on what it prints, and stays until nothing that the
//! command started is left. It is single-threaded but for the thread that waits
//! for ended processes, and never waits for us: what we do not read in time is
//! left out of the live output, and its own summary is whole. That we are gone it
//! sees by the end of its socket, and then it kills. It ends well (code 0) if and
//! only if nothing is left.

mod reaper;
mod recording;
mod start;
mod terminal;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Pid;

use self::reaper::{News, Reaper};
use self::recording::Recording;
use self::start::Running;
use super::processes::{self, Process};
use super::sweep;
use super::wire::{End, Job, Message, Order, Report, Until};

/// How long processes have to end when they are asked to.
const GRACE: Duration = Duration::from_millis(500);

/// How long processes that outlive the shell are awaited: some only print what is left, such as
/// `>(tee log)`, and a server that cannot start says so.
const LINGER: Duration = Duration::from_millis(100);

/// How often it is tried to kill, at first and after `GIVE_UP`.
const SWEEP_EVERY: Duration = Duration::from_millis(10);
const SWEEP_SELDOM: Duration = Duration::from_secs(1);

/// How long killing may take until we are told that something is left.
const GIVE_UP: Duration = Duration::from_secs(2);

/// The code of a command that could not be started, as shells have it.
const NOT_STARTED: u8 = 126;

/// Most bytes of the job; a command's six-fold at worst, two paths, and what a hook is told.
const MOST_JOB: u32 = 16 * 1024 * 1024;

/// Runs as keeper of a command and returns the code to exit with, when nothing is left to keep.
///
/// For a process of its own: `Keeper` says how it is started. What stands behind the keeper's own
/// arguments is a command that it is to run in the terminal of another program; without one it is
/// told over the socket that is its standard input.
pub fn keep(command: Option<OsString>) -> u8 {
    match command {
        Some(command) => terminal::run(&command).unwrap_or(NOT_STARTED),
        None => u8::from(run().is_err()),
    }
}

fn run() -> io::Result<()> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // What people see in `ps`, whatever program this is.
    rustix::thread::set_name(c"offshoot-keeper").ok();
    // Away from our terminal: its signals are for us, and commands cannot open it. It fails only
    // where there is a session of its own already.
    rustix::process::setsid().ok();
    let me = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(me))?;
    let Some(job) = read_job(&socket)? else {
        return Ok(());
    };
    socket.set_nonblocking(true)?;
    match start::start(me, &job) {
        Ok(running) => Keep::new(me, socket, running, &job).run(),
        Err(why) => refuse(&socket, why),
    }
}

fn read_job(mut socket: &UnixStream) -> io::Result<Option<Job>> {
    let mut length = [0; 4];
    match socket.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let length = u32::from_le_bytes(length);
    if length > MOST_JOB {
        return Err(io::Error::other("the job is too long"));
    }
    let mut body = vec![0; length as usize];
    socket.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

fn refuse(mut socket: &UnixStream, why: String) -> io::Result<()> {
    let mut bytes = Vec::new();
    Message::Refused(why).encode_to(&mut bytes);
    socket.write_all(&bytes)
}

/// What is being done about the processes.
#[derive(Clone, Copy)]
enum Phase {
    /// Nothing: they run.
    Running,
    /// They were asked to end.
    Terminating { until: Instant },
    /// They are being killed.
    Killing { since: Instant, next: Instant },
}

struct Keep {
    me: Pid,
    socket: UnixStream,
    /// Whether we can still be heard and can still give orders.
    host: Host,
    /// What is on its way to us.
    outgoing: Vec<u8>,
    reaper: Reaper,
    recording: Recording,
    /// What is complained of, where that is kept apart.
    complaints: Option<Recording>,
    phase: Phase,
    /// Whether anything was ended by order.
    ordered: bool,
    /// How the shell ended, and until when the rest is awaited.
    ended: Option<(End, Instant)>,
    /// Until when it is heard.
    until: Until,
    /// Whether any process is left.
    nobody_left: bool,
    reported: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    Listens,
    Gone,
}

impl Keep {
    fn new(me: Pid, socket: UnixStream, running: Running, job: &Job) -> Self {
        let Running {
            output,
            errors,
            reaper,
        } = running;
        Self {
            me,
            socket,
            host: Host::Listens,
            outgoing: Vec::new(),
            reaper,
            recording: Recording::new(output, job.scratch.as_deref()),
            complaints: errors.map(|errors| Recording::new(errors, None)),
            phase: Phase::Running,
            ordered: false,
            ended: None,
            until: job.until,
            nobody_left: false,
            reported: false,
        }
    }

    fn run(mut self) -> io::Result<()> {
        loop {
            let now = now();
            self.advance(now)?;
            if self.nobody_left && (self.reported && self.outgoing.is_empty() || self.is_alone()) {
                return Ok(());
            }
            self.wait(now)?;
        }
    }

    fn is_alone(&self) -> bool {
        self.host == Host::Gone
    }

    /// Does what is due.
    fn advance(&mut self, now: Instant) -> io::Result<()> {
        match self.phase {
            Phase::Terminating { until } if now >= until => self.begin_killing(now),
            Phase::Running | Phase::Terminating { .. } | Phase::Killing { .. } => {}
        }
        if let Phase::Killing { since, next } = self.phase
            && !self.nobody_left
            && now >= next
        {
            sweep::kill(|all| self.kept(all))?;
            let pause = if self.has_given_up(now) {
                SWEEP_SELDOM
            } else {
                SWEEP_EVERY
            };
            let next = now + pause;
            self.phase = Phase::Killing { since, next };
        }
        if !self.reported && self.is_time_to_report(now) {
            self.report()?;
        } else if !self.reported && self.outgoing.is_empty() {
            self.recording.say_what_is_due(now, &mut self.outgoing);
        }
        self.send();
        Ok(())
    }

    fn begin_killing(&mut self, now: Instant) {
        if !matches!(self.phase, Phase::Killing { .. }) {
            let (since, next) = (now, now);
            self.phase = Phase::Killing { since, next };
        }
    }

    fn has_given_up(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Killing { since, .. } if now >= since + GIVE_UP)
    }

    fn is_time_to_report(&self, now: Instant) -> bool {
        match (self.phase, self.ended) {
            _ if self.nobody_left => true,
            (Phase::Running, Some((_, linger))) => now >= linger && !self.may_say_more(),
            (Phase::Running, None) | (Phase::Terminating { .. }, _) => false,
            (Phase::Killing { .. }, _) => self.has_given_up(now),
        }
    }

    /// Tells whether somebody may still say what the command means, and is waited for: who waits has a
    /// limit, and then gives an order.
    fn may_say_more(&self) -> bool {
        // Of a command that failed what it printed counts for nothing.
        let ended_well = matches!(self.ended, Some((End::Exit(0), _)));
        self.until == Until::NobodyPrints && ended_well && self.recording.is_open()
    }

    fn report(&mut self) -> io::Result<()> {
        self.recording.drain();
        if let Some(complaints) = &mut self.complaints {
            complaints.drain();
        }
        let left: Vec<String> = if self.nobody_left {
            Vec::new()
        } else {
            let kept = self.kept(&processes::all()?);
            let alive = kept.iter().filter(|process| !process.is_dead());
            alive.map(Process::command_line).collect()
        };
        if !left.is_empty() {
            self.recording.go_on_in_file();
        }
        self.recording.say_the_rest(&mut self.outgoing);
        self.recording.sync();
        if let Some(complaints) = &mut self.complaints {
            complaints.sync();
        }
        let report = Report {
            end: self.ended.map(|(end, _)| end),
            ordered: self.ordered,
            text: self.recording.text(),
            complaints: self
                .complaints
                .as_ref()
                .map_or_else(String::new, Recording::text),
            bytes: self.recording.total(),
            truncated: self.recording.is_cut(),
            output_path: self.recording.path(),
            output_open: self.recording.is_open(),
            left,
        };
        Message::Ended(report).encode_to(&mut self.outgoing);
        self.reported = true;
        Ok(())
    }

    /// Everything that the command has started.
    fn kept(&self, all: &[Process]) -> Vec<Process> {
        processes::descendants(all, &[self.me])
    }

    fn send(&mut self) {
        while !self.outgoing.is_empty() && !self.is_alone() {
            match self.socket.write(&self.outgoing) {
                Ok(length) => drop(self.outgoing.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Who cannot hear us cannot order either, and will not come back.
                Err(_) => self.obey(Order::Kill),
            }
        }
    }

    /// Waits until something happens, or until something is due, and takes what happened.
    fn wait(&mut self, now: Instant) -> io::Result<()> {
        let timeout = self.next_due(now).map(|due| timespec(due - now));
        let mut interest = PollFlags::IN;
        if !self.outgoing.is_empty() {
            interest |= PollFlags::OUT;
        }
        let mut descriptors = Vec::new();
        if !self.nobody_left {
            // After the last news its end is always there, and would keep us awake.
            descriptors.push(PollFd::from_borrowed_fd(self.reaper.as_fd(), PollFlags::IN));
        }
        if !self.is_alone() {
            descriptors.push(PollFd::from_borrowed_fd(self.socket.as_fd(), interest));
        }
        if let Some(output) = self.recording.source() {
            descriptors.push(PollFd::from_borrowed_fd(output, PollFlags::IN));
        }
        if let Some(errors) = self.complaints.as_ref().and_then(Recording::source) {
            descriptors.push(PollFd::from_borrowed_fd(errors, PollFlags::IN));
        }
        match rustix::event::poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        drop(descriptors);
        // None of these waits, so it does not matter which of them has something.
        self.recording.take();
        if let Some(complaints) = &mut self.complaints {
            complaints.take();
        }
        self.take_news();
        self.take_orders();
        Ok(())
    }

    fn next_due(&self, now: Instant) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Running => None,
            Phase::Terminating { until } => Some(until),
            Phase::Killing { next, .. } => (!self.nobody_left).then_some(next),
        };
        let (linger, live) = if self.reported {
            (None, None)
        } else {
            let linger = self.ended.map(|(_, linger)| linger);
            // By then only its end, the last process or an order is news.
            let linger = linger.filter(|linger| now < *linger || !self.may_say_more());
            let live = self.outgoing.is_empty().then(|| self.recording.due());
            (linger, live.flatten())
        };
        let due = [phase, linger, live].into_iter().flatten().min();
        // A moment that has passed is due by now.
        due.map(|due| due.max(now))
    }

    fn take_news(&mut self) {
        while let Some(news) = self.reaper.news() {
            match news {
                News::ShellEnded(end) => self.ended = Some((end, now() + LINGER)),
                News::NobodyLeft => self.nobody_left = true,
            }
        }
    }

    fn take_orders(&mut self) {
        let mut orders = [0; 16];
        while !self.is_alone() {
            match self.socket.read(&mut orders) {
                Ok(0) => self.obey(Order::Kill),
                Ok(length) => {
                    for order in orders[..length].iter().copied() {
                        if let Some(order) = Order::from_byte(order) {
                            self.obey(order);
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.obey(Order::Kill),
            }
        }
    }

    fn obey(&mut self, order: Order) {
        self.ordered |= !self.nobody_left;
        match order {
            Order::Terminate => {
                if matches!(self.phase, Phase::Running) {
                    let asked = sweep::terminate(|all| self.kept(all));
                    // Who cannot be asked is killed.
                    let grace = if asked.is_ok() { GRACE } else { Duration::ZERO };
                    let until = now() + grace;
                    self.phase = Phase::Terminating { until };
                }
            }
            Order::Kill => {
                self.host = Host::Gone;
                self.begin_killing(now());
            }
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    // Rounded up, so that what is waited for is due afterwards.
    let duration = duration + Duration::from_millis(1);
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a process of its own, below the machine's clock and no other"
)]
fn now() -> Instant {
    Instant::now()
}
