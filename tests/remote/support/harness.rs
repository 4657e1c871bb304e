//! An I/O thread whose events can be waited for.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use dialcache_native::core::envelope::Payload;
use dialcache_native::remote::{
    Client, Envelope, Event, Hit, InvalidateRequest, IoThread, Options, ReadOutcome, ReadRequest, RemoteError, Sealing,
    Sink, Status, Ticket, WriteRequest,
};

use super::{PATIENCE, QUIET};

struct Recorder(Sender<Event>);

impl Sink for Recorder {
    fn deliver(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

/// An I/O thread, and everything it has said.
pub struct Harness {
    pub io: IoThread,
    events: Receiver<Event>,
    ended: HashMap<Ticket, Event>,
    statuses: VecDeque<Status>,
    credentials: VecDeque<u64>,
    hedges: VecDeque<(Ticket, Instant)>,
}

impl Harness {
    pub fn new() -> Self {
        let (sender, events) = mpsc::channel();
        Self {
            io: IoThread::start(Arc::new(Recorder(sender))),
            events,
            ended: HashMap::new(),
            statuses: VecDeque::new(),
            credentials: VecDeque::new(),
            hedges: VecDeque::new(),
        }
    }

    /// A client that has connected.
    pub fn connected(url: &str) -> (Self, Client) {
        Self::connected_with(Options {
            url: url.to_owned(),
            ..Options::default()
        })
    }

    /// A client with options that has connected.
    pub fn connected_with(options: Options) -> (Self, Client) {
        let mut harness = Self::new();
        let client = harness.io.connect(options).expect("valid options");
        harness.expect_status(Status::Ready);
        (harness, client)
    }

    /// The event that ended a request.
    pub fn end_of(&mut self, ticket: Ticket) -> Event {
        self.wait(|harness| harness.ended.remove(&ticket))
            .unwrap_or_else(|| panic!("request {ticket} has no end"))
    }

    /// How a read ended that had to be in time.
    pub fn outcome(&mut self, ticket: Ticket) -> ReadOutcome {
        match self.end_of(ticket) {
            Event::Read { outcome, .. } => outcome,
            other => panic!("expected a read's end, got {other:?}"),
        }
    }

    pub fn hit(&mut self, ticket: Ticket) -> Hit {
        match self.outcome(ticket) {
            ReadOutcome::Hit(hit) => hit,
            other => panic!("expected a hit, got {other:?}"),
        }
    }

    /// Why a read failed.
    pub fn failure(&mut self, ticket: Ticket) -> RemoteError {
        match self.outcome(ticket) {
            ReadOutcome::Failed(error) => error,
            other => panic!("expected a failure, got {other:?}"),
        }
    }

    /// Whether a write's value was stored, rather than fenced off.
    pub fn written(&mut self, ticket: Ticket) -> Result<bool, RemoteError> {
        self.sealed(ticket).1
    }

    /// A write's end, with what sealing made of its payload.
    pub fn sealed(&mut self, ticket: Ticket) -> (Option<Sealing>, Result<bool, RemoteError>) {
        match self.end_of(ticket) {
            Event::Write { sealing, outcome, .. } => (sealing, outcome),
            other => panic!("expected a write's end, got {other:?}"),
        }
    }

    pub fn invalidated(&mut self, ticket: Ticket) -> Result<(), RemoteError> {
        match self.end_of(ticket) {
            Event::Invalidate { outcome, .. } => outcome,
            other => panic!("expected an invalidation's end, got {other:?}"),
        }
    }

    pub fn ready(&mut self, ticket: Ticket) -> Result<(), RemoteError> {
        match self.end_of(ticket) {
            Event::Ready { outcome, .. } => outcome,
            other => panic!("expected the end of a wait, got {other:?}"),
        }
    }

    /// The next status change.
    pub fn status(&mut self) -> Status {
        self.wait(|harness| harness.statuses.pop_front())
            .expect("a status change")
    }

    pub fn expect_status(&mut self, status: Status) {
        assert_eq!(self.status(), status);
    }

    /// The next read that has no reply yet, and when that was noticed.
    pub fn hedged(&mut self) -> (Ticket, Instant) {
        self.wait(|harness| harness.hedges.pop_front())
            .expect("a read without a reply")
    }

    /// The next request for credentials.
    pub fn asked(&mut self) -> u64 {
        self.wait(|harness| harness.credentials.pop_front())
            .expect("a request for credentials")
    }

    /// A request for credentials that is there already.
    pub fn asked_now(&mut self) -> Option<u64> {
        self.take(Duration::from_millis(1));
        self.credentials.pop_front()
    }

    /// Panics when anything is said within a short while.
    pub fn expect_silence(&mut self) {
        assert!(self.ended.is_empty(), "unexpected: {:?}", self.ended);
        assert!(self.statuses.is_empty(), "unexpected: {:?}", self.statuses);
        assert!(self.hedges.is_empty(), "unexpected: {:?}", self.hedges);
        if let Ok(event) = self.events.recv_timeout(QUIET) {
            panic!("unexpected: {event:?}");
        }
    }

    /// Waits until a client's figures are as wanted.
    pub fn until(&mut self, client: &Client, wanted: impl Fn(&dialcache_native::remote::Stats) -> bool) {
        let start = Instant::now();
        while !wanted(&client.stats()) {
            assert!(start.elapsed() < PATIENCE, "still {:?}", client.stats());
            self.take(Duration::from_millis(1));
        }
    }

    fn wait<T>(&mut self, mut found: impl FnMut(&mut Self) -> Option<T>) -> Option<T> {
        let start = Instant::now();
        loop {
            if let Some(found) = found(self) {
                return Some(found);
            }
            if start.elapsed() > PATIENCE {
                return None;
            }
            self.take(Duration::from_millis(100));
        }
    }

    fn take(&mut self, patience: Duration) {
        match self.events.recv_timeout(patience) {
            Ok(Event::Status { status, .. }) => self.statuses.push_back(status),
            Ok(Event::Credentials { request, .. }) => self.credentials.push_back(request),
            Ok(Event::Hedge { ticket, at }) => {
                assert!(!self.ended.contains_key(&ticket), "request {ticket} is over already");
                self.hedges.push_back((ticket, at));
            }
            Ok(event) => {
                let ticket = event.ticket().expect("only these have none");
                let before = self.ended.insert(ticket, event);
                assert!(before.is_none(), "request {ticket} ended twice: {before:?}");
            }
            Err(_) => {}
        }
    }
}

/// An untracked read.
pub fn read(key: &str, deadline: Option<Duration>) -> ReadRequest {
    ReadRequest {
        value_key: key.to_owned(),
        watermark_key: None,
        envelope: Envelope::Ours,
        deadline: deadline.map(|wait| Instant::now() + wait),
        hedge_at: None,
    }
}

/// A read of one use case of a tracked identity.
pub fn tracked(id: &str, use_case: &str, deadline: Option<Duration>) -> ReadRequest {
    ReadRequest {
        watermark_key: Some(watermark_key(id)),
        ..read(&format!("{{{id}}}#{use_case}"), deadline)
    }
}

/// A tracked write for a minute.
pub fn tracked_write(id: &str, use_case: &str, payload: Payload) -> WriteRequest {
    WriteRequest {
        watermark_key: Some(watermark_key(id)),
        created_at_ms: 0,
        ..write(&format!("{{{id}}}#{use_case}"), payload)
    }
}

pub fn invalidation(id: &str, future_buffer_ms: u64) -> InvalidateRequest {
    InvalidateRequest {
        watermark_key: watermark_key(id),
        future_buffer_ms,
    }
}

fn watermark_key(id: &str) -> String {
    format!("{{{id}}}#watermark")
}

/// An untracked write for a minute.
pub fn write(key: &str, payload: Payload) -> WriteRequest {
    WriteRequest {
        value_key: key.to_owned(),
        watermark_key: None,
        ttl_ms: 60_000,
        payload,
        envelope: Envelope::Ours,
        compression: None,
        created_at_ms: 1_700_000_000_123,
    }
}

pub fn text(text: &str) -> Payload {
    Payload::Text(text.to_owned())
}
