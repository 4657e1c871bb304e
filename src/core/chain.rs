//! The way of one leader's call: Redis read, serializer, source, write-back.
//!
//! A [`Chain`] holds no clock and does no I/O. It is told what happened and when, and answers what
//! comes next. Every instant is checked against the deadline that was fixed when the step began, so
//! a timer that fires late (a stalled event loop) or early cannot change a verdict.
//!
//! Read and source follow each other, unless the read is hedged: then the source may start while the
//! read is pending, and the first usable result is the call's answer. An error is never usable, so
//! each waits for the other when it fails.

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

/// What to do after a read was told. What comes after a miss or a failure says [`Chain::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRead {
    /// Hand the payload to the serializer.
    Load,
    /// A clean miss.
    Miss,
    /// The read failed: report it once.
    Failed,
    /// The deadline had passed: report it once.
    TimedOut,
    /// The source had answered before, and a clean miss followed: write its value.
    Write,
    /// The source had answered before, and there is nothing to write: the call is over.
    Over,
    /// The chain no longer waits for a read: ignore.
    Stale,
}

/// What to do once the read is over without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Run the source.
    RunSource,
    /// The source is running already.
    AwaitSource,
    /// The source has failed already: its error is the call's.
    PassError,
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
    /// A value in time: answer with it and publish it so.
    Accept(Publication),
    /// A value in time, while the read is still pending: answer with it and publish it so. What
    /// becomes of Redis says the end of the read.
    Outrun(Publication),
    /// It failed: pass its error on.
    Failed,
    /// After its deadline: the caller gets a timeout, the result is dropped.
    TimedOut,
    /// It failed, but the read may still bring a value.
    AwaitRead,
    /// It took too long, but the read may still bring a value.
    TimedOutAwaitRead,
    /// The chain no longer waits for its source: ignore.
    Stale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    Idle,
    Pending { deadline: Nanos, hedge_at: Option<Nanos> },
    Loading,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Idle,
    Running { deadline: Option<Nanos> },
    Failed,
    Over,
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
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about a call that are independent of each other"
)]
pub struct Chain {
    read: Read,
    source: Source,
    learned: Learned,
    answered: bool,
    local: bool,
    tracked: bool,
    barred: bool,
    /// The source began before the read was over, so before its watermark was known.
    hedged: bool,
}

impl Chain {
    /// A chain that has yet to do anything. `local` says that the process-local layer was an
    /// active miss and wants the value; `tracked` that the value can be invalidated.
    #[must_use]
    pub const fn new(local: bool, tracked: bool) -> Self {
        Self {
            read: Read::Idle,
            source: Source::Idle,
            learned: Learned::Nothing,
            answered: false,
            local,
            tracked,
            barred: false,
            hedged: false,
        }
    }

    /// The id was invalidated: what was loaded before must not enter the process-local layer.
    pub const fn bar(&mut self) {
        self.barred = true;
    }

    /// The Redis read begins now and may be waited for until `deadline`. At `hedge_at`, if it has
    /// not settled, the source may be started beside it.
    pub const fn read_started(&mut self, deadline: Nanos, hedge_at: Option<Nanos>) {
        self.read = Read::Pending { deadline, hedge_at };
    }

    /// The read settled at `at`. At or after the deadline that is a timeout, whatever it brought.
    pub const fn read_settled(&mut self, result: ReadResult, at: Nanos) -> AfterRead {
        let Read::Pending { deadline, .. } = self.read else {
            return AfterRead::Stale;
        };
        self.read = Read::Over;
        if at >= deadline {
            return self.read_failed(AfterRead::TimedOut);
        }
        match result {
            ReadResult::Hit if self.answered => AfterRead::Over,
            ReadResult::Hit => {
                self.read = Read::Loading;
                AfterRead::Load
            }
            ReadResult::Miss => {
                self.learned = Learned::Replaceable;
                if self.answered {
                    AfterRead::Write
                } else {
                    AfterRead::Miss
                }
            }
            ReadResult::Failed => self.read_failed(AfterRead::Failed),
        }
    }

    /// A timer says it is `at`. `Stale` when the deadline has not come or the read is over.
    pub const fn read_due(&mut self, at: Nanos) -> AfterRead {
        match self.read {
            Read::Pending { deadline, .. } if at >= deadline => {
                self.read = Read::Over;
                self.read_failed(AfterRead::TimedOut)
            }
            _ => AfterRead::Stale,
        }
    }

    const fn read_failed(&mut self, verdict: AfterRead) -> AfterRead {
        self.learned = Learned::Failure;
        if self.answered { AfterRead::Over } else { verdict }
    }

    /// A timer says it is `at`. True, once, when the read is to be hedged now.
    pub const fn hedge_due(&mut self, at: Nanos) -> bool {
        match self.read {
            Read::Pending {
                deadline,
                hedge_at: Some(hedge_at),
            } if at >= hedge_at && at < deadline => {
                self.read = Read::Pending {
                    deadline,
                    hedge_at: None,
                };
                true
            }
            _ => false,
        }
    }

    /// What follows a read that brought no value.
    #[must_use]
    pub const fn next(&self) -> Next {
        match self.source {
            Source::Idle => Next::RunSource,
            Source::Running { .. } => Next::AwaitSource,
            Source::Failed | Source::Over => Next::PassError,
        }
    }

    /// The serializer rejected the payload: a miss whose value may be replaced. False when the call
    /// had its answer before.
    pub const fn load_failed(&mut self) -> bool {
        self.read = Read::Over;
        if self.answered {
            return false;
        }
        self.learned = Learned::Replaceable;
        true
    }

    /// The serializer made a value of the payload; it is the call's answer, unless the call has one.
    pub const fn loaded(&mut self) -> Option<Publication> {
        self.read = Read::Over;
        if self.answered {
            return None;
        }
        self.answered = true;
        Some(Publication {
            local: self.local && !self.barred,
            remote: false,
        })
    }

    /// The source begins now and may run until `deadline`, when it has one.
    pub const fn source_started(&mut self, deadline: Option<Nanos>) {
        self.hedged = self.may_hit();
        self.source = Source::Running { deadline };
    }

    /// The source settled at `at`, with a value (`ok`) or a failure.
    pub const fn source_settled(&mut self, ok: bool, at: Nanos) -> AfterSource {
        let Source::Running { deadline } = self.source else {
            return AfterSource::Stale;
        };
        if self.answered {
            self.source = Source::Over;
            return AfterSource::Stale;
        }
        if let Some(deadline) = deadline
            && at >= deadline
        {
            return self.source_failed(AfterSource::TimedOut, AfterSource::TimedOutAwaitRead);
        }
        if !ok {
            return self.source_failed(AfterSource::Failed, AfterSource::AwaitRead);
        }
        self.source = Source::Over;
        self.answered = true;
        let publication = Publication {
            local: self.local && !self.barred && self.is_safe_locally(),
            remote: matches!(self.learned, Learned::Replaceable),
        };
        if self.is_reading() {
            AfterSource::Outrun(publication)
        } else {
            AfterSource::Accept(publication)
        }
    }

    const fn source_failed(&mut self, verdict: AfterSource, meanwhile: AfterSource) -> AfterSource {
        if self.may_hit() {
            self.source = Source::Failed;
            return meanwhile;
        }
        self.source = Source::Over;
        self.answered = true;
        verdict
    }

    /// Whether the read may still bring a value.
    const fn may_hit(&self) -> bool {
        matches!(self.read, Read::Pending { .. } | Read::Loading)
    }

    /// A failed read says nothing about the watermark, and before the stamp nobody knows whether the
    /// value was invalidated while it was loaded. Without a Redis layer there is no watermark to ask.
    const fn is_safe_locally(&self) -> bool {
        !self.tracked || (matches!(self.learned, Learned::Nothing) && !self.hedged)
    }

    /// Whether the process-local layer takes the value once the server has accepted its stamp.
    #[must_use]
    pub const fn publishes_when_stamped(&self) -> bool {
        self.local && self.tracked && !self.barred && !self.hedged && matches!(self.learned, Learned::Replaceable)
    }

    /// A timer says it is `at`. `Stale` when the deadline has not come or the source is over.
    pub const fn source_due(&mut self, at: Nanos) -> AfterSource {
        match self.source {
            Source::Running {
                deadline: Some(deadline),
            } if at >= deadline && !self.answered => {
                self.source_failed(AfterSource::TimedOut, AfterSource::TimedOutAwaitRead)
            }
            _ => AfterSource::Stale,
        }
    }

    /// The source failed, and the read brought nothing either: the call ends with the source's error.
    pub const fn error_passed(&mut self) {
        self.answered = true;
    }

    /// When the read under way is given up.
    #[must_use]
    pub const fn read_deadline(&self) -> Option<Nanos> {
        match self.read {
            Read::Pending { deadline, .. } => Some(deadline),
            _ => None,
        }
    }

    /// When the read under way may be hedged.
    #[must_use]
    pub const fn hedge_at(&self) -> Option<Nanos> {
        match self.read {
            Read::Pending { hedge_at, .. } => hedge_at,
            _ => None,
        }
    }

    /// When the source under way is given up.
    #[must_use]
    pub const fn source_deadline(&self) -> Option<Nanos> {
        match self.source {
            Source::Running { deadline } if !self.answered => deadline,
            _ => None,
        }
    }

    /// Whether the chain waits for a Redis read.
    #[must_use]
    pub const fn is_reading(&self) -> bool {
        matches!(self.read, Read::Pending { .. })
    }

    /// Whether the source answered a hedged read before anything was known of Redis.
    #[must_use]
    pub const fn was_outrun(&self) -> bool {
        self.hedged && matches!(self.learned, Learned::Nothing)
    }

    /// Whether the source began beside the read.
    #[must_use]
    pub const fn was_hedged(&self) -> bool {
        self.hedged
    }

    /// Whether the call has its answer.
    #[must_use]
    pub const fn is_answered(&self) -> bool {
        self.answered
    }
}

#[cfg(test)]
mod tests;
