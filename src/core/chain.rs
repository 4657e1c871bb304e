//! The way of one leader's call: Redis read, serializer, source, write-back.
//!
//! A [`Chain`] holds no clock and does no I/O. It is told what happened and when, and answers what
//! comes next. Every instant is checked against the deadline that was fixed when the step began, so
//! a timer that fires late (a stalled event loop) or early cannot change a verdict.

use super::Nanos;

/// What a finished Redis read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadResult {
    /// A served frame; its payload still has to pass the serializer.
    Hit,
    /// No value, or one that must not be served.
    Miss,
    /// The read failed: nothing is known about Redis.
    Failed,
}

/// What to do after a read was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRead {
    /// Hand the payload to the serializer.
    Load,
    /// A clean miss: run the source.
    Source,
    /// The read failed: report it once, then run the source.
    Failed,
    /// The deadline had passed: report it once, then run the source.
    TimedOut,
    /// The chain no longer waits for a read: ignore.
    Stale,
}

/// Where an accepted value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Publication {
    /// Into the process-local layer.
    pub local: bool,
    /// Into Redis.
    pub remote: bool,
}

/// What to do after the source settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterSource {
    /// In time: publish a value so, or pass a failure on.
    Accept(Publication),
    /// After its deadline: the caller gets a timeout, the result is dropped.
    TimedOut,
    /// The chain no longer waits for its source: ignore.
    Stale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing asked of Redis; the source comes next.
    Start,
    Reading {
        deadline: Nanos,
    },
    Loading,
    Sourcing {
        deadline: Option<Nanos>,
    },
    /// Answered. Only a write may still be under way.
    Answered,
}

/// What this chain learned from Redis, which decides whether it may write there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Learned {
    Nothing,
    /// A clean miss, or a payload that nobody could load: the value may be replaced.
    Replaceable,
    /// A failed or timed-out read: no second operation on an unhealthy Redis.
    Failure,
}

/// One leader's chain.
#[derive(Clone, Debug)]
pub struct Chain {
    step: Step,
    learned: Learned,
    local: bool,
    tracked: bool,
    barred: bool,
}

impl Chain {
    /// A chain that has yet to do anything. `local` says that the process-local layer was an
    /// active miss and wants the value; `tracked` that the value can be invalidated.
    #[must_use]
    pub const fn new(local: bool, tracked: bool) -> Self {
        Self {
            step: Step::Start,
            learned: Learned::Nothing,
            local,
            tracked,
            barred: false,
        }
    }

    /// The id was invalidated: what was loaded before must not enter the process-local layer.
    pub const fn bar(&mut self) {
        self.barred = true;
    }

    /// The Redis read begins now and may be waited for until `deadline`.
    pub const fn read_started(&mut self, deadline: Nanos) {
        self.step = Step::Reading { deadline };
    }

    /// The read settled at `at`. At or after the deadline that is a timeout, whatever it brought.
    pub const fn read_settled(&mut self, result: ReadResult, at: Nanos) -> AfterRead {
        let Step::Reading { deadline } = self.step else {
            return AfterRead::Stale;
        };
        if at >= deadline {
            return self.read_failed(AfterRead::TimedOut);
        }
        match result {
            ReadResult::Hit => {
                self.step = Step::Loading;
                AfterRead::Load
            }
            ReadResult::Miss => {
                self.step = Step::Start;
                self.learned = Learned::Replaceable;
                AfterRead::Source
            }
            ReadResult::Failed => self.read_failed(AfterRead::Failed),
        }
    }

    /// A timer says it is `at`. `Stale` when the deadline has not come or the read is over.
    pub const fn read_due(&mut self, at: Nanos) -> AfterRead {
        match self.step {
            Step::Reading { deadline } if at >= deadline => self.read_failed(AfterRead::TimedOut),
            _ => AfterRead::Stale,
        }
    }

    const fn read_failed(&mut self, verdict: AfterRead) -> AfterRead {
        self.step = Step::Start;
        self.learned = Learned::Failure;
        verdict
    }

    /// The serializer rejected the payload: a miss whose value may be replaced.
    pub const fn load_failed(&mut self) {
        self.step = Step::Start;
        self.learned = Learned::Replaceable;
    }

    /// The serializer made a value of the payload; it is the call's answer.
    pub const fn loaded(&mut self) -> Publication {
        self.step = Step::Answered;
        Publication {
            local: self.local && !self.barred,
            remote: false,
        }
    }

    /// The source begins now and may run until `deadline`, when it has one.
    pub const fn source_started(&mut self, deadline: Option<Nanos>) {
        self.step = Step::Sourcing { deadline };
    }

    /// The source settled at `at`, with a value or a failure.
    pub const fn source_settled(&mut self, at: Nanos) -> AfterSource {
        let Step::Sourcing { deadline } = self.step else {
            return AfterSource::Stale;
        };
        self.step = Step::Answered;
        if let Some(deadline) = deadline
            && at >= deadline
        {
            return AfterSource::TimedOut;
        }
        AfterSource::Accept(Publication {
            local: self.local && !self.barred && self.is_safe_locally(),
            remote: matches!(self.learned, Learned::Replaceable),
        })
    }

    /// A failed read says nothing about the watermark, and before the stamp nobody knows whether the
    /// value was invalidated while it was loaded. Without a Redis layer there is no watermark to ask.
    const fn is_safe_locally(&self) -> bool {
        !self.tracked || matches!(self.learned, Learned::Nothing)
    }

    /// Whether the process-local layer takes the value once the server has accepted its stamp.
    #[must_use]
    pub const fn publishes_when_stamped(&self) -> bool {
        self.local && self.tracked && !self.barred && matches!(self.learned, Learned::Replaceable)
    }

    /// A timer says it is `at`. `Stale` when the deadline has not come or the source is over.
    pub const fn source_due(&mut self, at: Nanos) -> AfterSource {
        match self.step {
            Step::Sourcing {
                deadline: Some(deadline),
            } if at >= deadline => {
                self.step = Step::Answered;
                AfterSource::TimedOut
            }
            _ => AfterSource::Stale,
        }
    }

    /// When the read under way is given up.
    #[must_use]
    pub const fn read_deadline(&self) -> Option<Nanos> {
        match self.step {
            Step::Reading { deadline } => Some(deadline),
            _ => None,
        }
    }

    /// Whether the chain waits for a Redis read.
    #[must_use]
    pub const fn is_reading(&self) -> bool {
        matches!(self.step, Step::Reading { .. })
    }

    /// Whether the call has its answer.
    #[must_use]
    pub const fn is_answered(&self) -> bool {
        matches!(self.step, Step::Answered)
    }
}

#[cfg(test)]
mod tests;
