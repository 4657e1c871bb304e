//! What the engine answers.

use super::super::Nanos;
use super::super::flight::{FlightId, Unanswered};
use super::super::local::Slot;
use super::super::policy::OffReason;
use super::super::shadow::ShadowId;

/// What a call starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// The value is in this slot.
    Hit(Slot),
    /// Somebody already loads it.
    Join(FlightId),
    /// This call leads and reads Redis first.
    Read(FlightId),
    /// This call leads and runs the source at once.
    Source(FlightId),
}

/// What happened at one layer, for those who want each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayerTrace {
    /// Not reached, or not there.
    #[default]
    Absent,
    /// Off for this call.
    Off(OffReason),
    /// Looked up and found.
    Hit,
    /// Looked up in vain; for Redis: to be read.
    Miss,
}

/// What happened at each layer in the latest [`Engine::begin`](super::Engine::begin).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The process-local layer.
    pub local: LayerTrace,
    /// The Redis layer.
    pub remote: LayerTrace,
}

/// What to do with a value or failure that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Accepted.
    Accepted {
        /// Where the process-local layer keeps it.
        slot: Option<Slot>,
        /// Whether to write it to Redis.
        write: bool,
        /// Whether the flight may still be joined.
        joinable: bool,
    },
    /// A failure of the source, to be passed on.
    Failed,
    /// The deadline had passed.
    TimedOut,
    /// It failed, but the read it was started beside may still bring a value.
    AwaitRead,
    /// It took too long, but the read it was started beside may still bring a value.
    TimedOutAwaitRead,
    /// Not expected any more.
    Stale,
}

/// What to do at the end of a read's delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterDelay {
    /// Start the source beside the read.
    Hedge,
    /// The budget has nothing left: go on waiting.
    Denied,
    /// The read is over, or was hedged before.
    Stale,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteResult {
    /// The server took it; a tracked value has its stamp.
    Stored,
    /// The id had been invalidated: nothing is stored.
    Fenced,
    /// It failed.
    Failed,
}

/// What a due deadline means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The leader waits no longer for Redis.
    Read(FlightId),
    /// The leader's call has its answer and its read brought nothing to write.
    ReadOver(FlightId),
    /// The leader starts its source beside the read.
    Hedge(FlightId),
    /// The leader would start its source beside the read, but the budget has nothing left.
    HedgeDenied(FlightId),
    /// The leader waits no longer for its source.
    Source(FlightId),
    /// The leader waits no longer for its source, but still for its read.
    SourceAwaitRead(FlightId),
    /// Nobody joins this flight any more.
    Linger(FlightId),
    /// This shadow job has to be told.
    Shadow(ShadowId),
}

/// What the caller's timer has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timer {
    /// When to fire.
    pub at: Option<Nanos>,
    /// Whether somebody waits, so that the process must not end before.
    pub referenced: bool,
}

/// Facts for `stats()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauges {
    /// Entries of the process-local layer.
    pub local_entries: usize,
    /// Flights whose callers wait.
    pub unanswered: Unanswered,
    /// Answered flights that may still be joined.
    pub lingering: usize,
    /// Deadlines armed in this engine's timers.
    pub timers: usize,
    /// Shadow jobs that hold a place.
    pub shadows: usize,
}
