//! What a source is told, and what it answers.

use super::super::Nanos;

/// Names one operation of a source. Never that of a later operation in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpId {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// How far generations count before they start again, so that an id is exact as a JavaScript number.
pub(super) const GENERATIONS: u32 = 1 << 21;

impl OpId {
    /// The id as a number below 2^53.
    #[must_use]
    pub const fn number(self) -> u64 {
        ((self.generation as u64) << 32) | self.slot as u64
    }

    /// The id of this number.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    pub const fn from_number(number: u64) -> Self {
        Self {
            slot: number as u32,
            generation: (number >> 32) as u32,
        }
    }

    /// Small and dense: reused once the operation is gone. For tables of pending promises.
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.slot
    }
}

/// Why an attempt was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum AttemptKind {
    /// The operation began.
    Primary,
    /// The answer was late.
    Hedge,
    /// An attempt had failed: the same at another endpoint.
    Failover,
    /// An attempt had failed: the same after a while.
    Retry,
}

/// How an attempt settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With a usable result.
    Ok,
    /// With an error that another attempt may not meet.
    Transient,
    /// With an error that every attempt would meet.
    Fatal,
}

/// Why an attempt is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReason {
    /// Another attempt won.
    Lost,
    /// Another attempt failed for good.
    SiblingFailed,
    /// The operation's time is up.
    Deadline,
    /// The caller aborted.
    Aborted,
}

/// What the caller is rejected with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// This attempt's own error, by identity.
    Attempt(u32),
    /// All attempts' errors together; the cause is the primary's.
    Attempts,
    /// The time was up.
    Deadline {
        /// Whether it was the deadline that the call brought, rather than the operation's own timeout.
        given: bool,
    },
    /// The caller's own abort reason.
    Aborted,
    /// No endpoint's breaker let the first attempt through.
    BreakerOpen,
}

/// What is worth telling, before the step that it explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A hedge starts.
    Hedge {
        /// The attempt's number.
        attempt: u32,
        /// Where.
        endpoint: u32,
        /// How long after the operation began.
        after: Nanos,
    },
    /// A failover starts.
    Failover {
        /// The attempt's number.
        attempt: u32,
        /// Where the failed attempt was.
        from: u32,
        /// Where this one goes.
        endpoint: u32,
    },
    /// A retry starts.
    Retry {
        /// The attempt's number.
        attempt: u32,
        /// Where.
        endpoint: u32,
        /// How long it waited.
        backoff: Nanos,
    },
    /// An attempt brought the result.
    Winner {
        /// The attempt's number.
        attempt: u32,
        /// What started it.
        kind: AttemptKind,
        /// Where.
        endpoint: u32,
        /// How long the race lasted: from the start of its last runner to the win. 0 without a race.
        margin: Nanos,
        /// How many attempts were still running.
        losers: u32,
    },
}

/// What to do for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Tell this to whoever listens.
    Tell(Event),
    /// Start an attempt.
    Start {
        /// Its number: 1, 2, ...
        attempt: u32,
        /// Why.
        kind: AttemptKind,
        /// Where: from 0.
        endpoint: u32,
    },
    /// Ask the user's gate whether a hedge may start now, and tell [`super::Source::gate`].
    AskGate,
    /// Abort an attempt. Nobody waits for it any more, and it need not be told when it settles.
    Cancel {
        /// Its number.
        attempt: u32,
        /// Why.
        reason: CancelReason,
    },
    /// The caller gets this attempt's result. The last step of an operation, as `Reject` is, unless
    /// losers run on (`cancelLoser: false`).
    Resolve {
        /// Its number.
        attempt: u32,
    },
    /// The caller is rejected.
    Reject(Rejection),
}

/// One action for one operation. An event at one operation may bring steps of another: a call that
/// begins can earn an earlier one its hedge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whose.
    pub op: OpId,
    /// What to do.
    pub action: Action,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_as_a_javascript_number() {
        let id = OpId {
            slot: u32::MAX,
            generation: GENERATIONS - 1,
        };
        assert_eq!(id.number(), (1 << 53) - 1);
        assert_eq!(OpId::from_number(id.number()), id);
        assert_eq!(id.slot(), u32::MAX);
    }
}
