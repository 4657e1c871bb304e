//! Shadow validation: what Redis holds, compared with the source behind the caller's back.
//!
//! A job belongs to a leader whose key is in the shadow ramp. After a served hit the source runs for
//! the comparison; when the key is outside the Redis layer's ramp, Redis is read beside the call's
//! own source, and filled when it holds nothing. Values that differ are a mismatch only when Redis,
//! read once more, still holds the same bytes: an entry that was replaced meanwhile proves nothing.
//!
//! Like a [`Chain`](super::chain::Chain) a job is told what happened and when, and answers what comes
//! next. It ends with exactly one [`Outcome`], and nothing is begun after that; what had begun keeps
//! the job's place until it settles, so that work nobody stops stays within the bound.

mod jobs;

pub use jobs::{ShadowOptions, Shadows};

use std::rc::Rc;

use super::Nanos;
use super::engine::UseCaseId;

/// A job's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShadowId(pub u32);

/// Why a call is shadowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A Redis hit is served.
    Served,
    /// The Redis layer is off for the call because its key is outside the ramp.
    RampedDown,
}

/// How a job ended: the `outcome` label of the shadow metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Redis and source agree.
    Match,
    /// They differ, and Redis still held the same bytes afterwards.
    Mismatch,
    /// They differ, but Redis has changed since.
    Superseded,
    /// Redis held nothing and took the source's value.
    Filled,
    /// The id was invalidated, so Redis was not filled.
    FillBlocked,
    /// Redis could not be filled.
    FillError,
    /// Redis could not be read.
    RedisError,
    /// The source failed.
    SourceError,
    /// The serializer rejected the payload.
    DeserializationError,
    /// The comparator threw, or did not answer with a boolean.
    ComparisonError,
    /// The values differ, and Redis could not be read once more.
    ConfirmationError,
    /// The job took too long.
    Timeout,
    /// There was no room for a job, or one of the same key was under way.
    Dropped,
}

/// What a job is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Its first step may begin.
    Started,
    /// The source brought a value: the one run for the comparison, or the call's own.
    SourceOk,
    /// The source failed, or the call's own source timed out.
    SourceFailed,
    /// The caller has the value that its own source brought.
    Answered,
    /// The read before the comparison found a payload.
    Hit,
    /// It found nothing that may be served.
    Miss,
    /// A read failed, whichever it was.
    ReadFailed,
    /// The confirming read found the same bytes.
    Same,
    /// It found other ones, or none.
    Changed,
    /// The serializer made a value of the payload.
    Loaded,
    /// The serializer rejected the payload.
    LoadFailed,
    /// The comparator finds both values equal.
    Equal,
    /// It finds them different.
    Different,
    /// It threw, or did not answer with a boolean.
    CompareFailed,
    /// The call's value was serialized.
    Dumped,
    /// The serializer rejected it.
    DumpFailed,
    /// Redis took the value.
    Stored,
    /// Redis refused it: the id had been invalidated.
    Fenced,
    /// Redis did not take it.
    FillFailed,
    /// A timer fired.
    Due,
    /// The Redis layer was turned off.
    Closed,
}

/// What a job does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing, until it is told more.
    Wait,
    /// Nothing: the job is over.
    Stale,
    /// Read Redis.
    Read,
    /// Run the source.
    Source,
    /// Hand the payload to the serializer.
    Load,
    /// Compare both values.
    Compare,
    /// Read Redis once more.
    Confirm,
    /// Serialize the call's value before its caller can change it: it may have to be written.
    Dump,
    /// Write the call's value to Redis.
    Fill,
    /// Report how it ended.
    Done(Outcome),
}

impl Next {
    /// Whether this begins something whose end is told.
    const fn begins_work(self) -> bool {
        matches!(
            self,
            Self::Read | Self::Source | Self::Load | Self::Confirm | Self::Dump | Self::Fill
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Admitted; nothing has begun.
    Admitted,
    /// Payload or source's value are outstanding.
    Gathering,
    Loading,
    Comparing,
    Confirming,
    Filling,
    Over,
}

/// What a job begins with.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Why there is one.
    pub origin: Origin,
    /// The leader's use case.
    pub use_case: UseCaseId,
    /// The leader's key, as [`super::engine::Engine`] composes it.
    pub key: Rc<[u8]>,
    /// What the id is invalidated with; 0 for untracked keys.
    pub group: u64,
    /// How long Redis keeps a value it is filled with, in milliseconds.
    pub ttl_ms: u64,
    /// Whether the values of a mismatch are logged.
    pub log_mismatches: bool,
    /// How long each of its reads may take.
    pub read_timeout: Nanos,
    /// How long the whole job may take.
    pub timeout: Nanos,
}

/// One job.
#[derive(Debug)]
pub struct Job {
    /// What it began with.
    pub facts: NewJob,
    step: Step,
    deadline: Nanos,
    read_deadline: Option<Nanos>,
    /// Whether the first read found a payload; `None` before its reply.
    cached: Option<bool>,
    has_source: bool,
    /// Whether the call's value could be serialized; `None` before that is known.
    dumped: Option<bool>,
    barred: bool,
    /// Work that has begun and not settled.
    running: u32,
}

impl Job {
    /// When a read that begins at `now` is given up.
    #[must_use]
    pub fn read_until(&self, now: Nanos) -> Nanos {
        now.saturating_add(self.facts.read_timeout).min(self.deadline)
    }

    fn due_at(&self) -> Nanos {
        self.read_deadline.map_or(self.deadline, |read| read.min(self.deadline))
    }

    const fn ends_work(&self, told: Told) -> bool {
        match told {
            // Otherwise it is the call's.
            Told::SourceOk | Told::SourceFailed => matches!(self.facts.origin, Origin::Served),
            Told::Started
            | Told::Answered
            | Told::Equal
            | Told::Different
            | Told::CompareFailed
            | Told::Due
            | Told::Closed => false,
            _ => true,
        }
    }

    fn advance(&mut self, told: Told, now: Nanos, open: bool) -> Next {
        use Outcome::{
            ComparisonError, ConfirmationError, DeserializationError, FillBlocked, FillError, Filled, Match, Mismatch,
            RedisError, SourceError, Superseded, Timeout,
        };
        use Step::{Admitted, Comparing, Confirming, Filling, Gathering, Loading};

        // The call's source has the job's time, so both may be over at once: then this is what happened.
        if told == Told::SourceFailed && self.facts.origin == Origin::RampedDown {
            return Next::Done(SourceError);
        }
        if now >= self.deadline {
            return Next::Done(Timeout);
        }
        match (self.step, self.in_time(told, now)) {
            (Admitted, Told::Started) => self.start(open),
            (Admitted | Gathering, Told::SourceOk) if self.facts.origin == Origin::RampedDown => match self.cached {
                Some(true) => Next::Wait,
                _ => Next::Dump,
            },
            (Admitted | Gathering, Told::SourceOk | Told::Answered) => {
                self.has_source = true;
                self.gathered(open)
            }
            (Admitted | Gathering, told @ (Told::Dumped | Told::DumpFailed)) => {
                self.dumped = Some(told == Told::Dumped);
                self.gathered(open)
            }
            (Gathering, Told::SourceFailed) => Next::Done(SourceError),
            (Gathering, told @ (Told::Hit | Told::Miss)) => {
                self.read_deadline = None;
                self.cached = Some(told == Told::Hit);
                self.gathered(open)
            }
            (Gathering, Told::ReadFailed) => Next::Done(RedisError),
            (Gathering, Told::Closed) if self.cached.is_none() => Next::Done(RedisError),
            (Loading, Told::Loaded) => {
                self.step = Comparing;
                Next::Compare
            }
            (Loading, Told::LoadFailed) => Next::Done(DeserializationError),
            (Comparing, Told::Equal) => Next::Done(Match),
            (Comparing, Told::Different) if open => {
                self.step = Confirming;
                Next::Confirm
            }
            (Comparing, Told::Different) | (Confirming, Told::ReadFailed | Told::Closed) => {
                Next::Done(ConfirmationError)
            }
            (Comparing, Told::CompareFailed) => Next::Done(ComparisonError),
            (Confirming, Told::Same) => Next::Done(Mismatch),
            (Confirming, Told::Changed) => Next::Done(Superseded),
            (Filling, Told::Stored) => Next::Done(Filled),
            (Filling, Told::Fenced) => Next::Done(FillBlocked),
            (Filling, Told::FillFailed) => Next::Done(FillError),
            _ => Next::Wait,
        }
    }

    /// What was told, or that the read it is about has failed because its deadline had passed.
    fn in_time(&self, told: Told, now: Nanos) -> Told {
        match told {
            Told::Hit | Told::Miss | Told::Same | Told::Changed | Told::Due
                if self.read_deadline.is_some_and(|deadline| now >= deadline) =>
            {
                Told::ReadFailed
            }
            told => told,
        }
    }

    const fn start(&mut self, open: bool) -> Next {
        self.step = Step::Gathering;
        match self.facts.origin {
            Origin::Served => Next::Source,
            Origin::RampedDown if open => Next::Read,
            Origin::RampedDown => Next::Done(Outcome::RedisError),
        }
    }

    /// Goes on once there are both a source's value and what Redis holds.
    const fn gathered(&mut self, open: bool) -> Next {
        match self.cached {
            Some(true) if self.has_source => {
                self.step = Step::Loading;
                Next::Load
            }
            Some(false) if self.has_source => self.fill(open),
            _ => Next::Wait,
        }
    }

    const fn fill(&mut self, open: bool) -> Next {
        if self.barred {
            return Next::Done(Outcome::FillBlocked);
        }
        match self.dumped {
            None => Next::Wait,
            Some(true) if open => {
                self.step = Step::Filling;
                Next::Fill
            }
            Some(_) => Next::Done(Outcome::FillError),
        }
    }
}

#[cfg(test)]
mod tests;
