//! Answers as single numbers, so that a call across the boundary returns no object.
//!
//! Every packed number is below 2^31 and therefore an unboxed small integer in V8. `lib/native.ts`
//! reads them; the constants are exported from here so that there is one list.

use napi_derive::napi;

use crate::core::chain::AfterRead;
use crate::core::engine::{AfterDelay, Due, Engine, LayerTrace, Settled, Trace};
use crate::core::flight::FlightId;
use crate::core::local::{MAX_ENTRIES, Slot};
use crate::core::policy::OffReason;
use crate::core::shadow::ShadowId;

/// The version this binary was built from: the JavaScript beside it must be of the same.
#[cfg_attr(test, expect(dead_code, reason = "only JavaScript reads it"))]
#[napi]
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Bits of a slot's or flight's number.
#[napi]
pub const NUMBER_BITS: u32 = 27;
/// The most entries the process-local layer may have.
#[napi]
pub const MOST_LOCAL_ENTRIES: u32 = 1 << 26;
const _: () = assert!(MOST_LOCAL_ENTRIES as u64 == MAX_ENTRIES);
/// Set in an answer when slots wait to be cleared.
#[napi]
pub const FREED: i32 = 1 << 30;
/// Set in a settled answer when the timer must be set anew.
#[napi]
pub const TIMER: i32 = 1 << 29;
/// Set in a settled answer when the value is to be written to Redis.
#[napi]
pub const WRITE: i32 = 1 << 28;
/// Set in a settled answer when the flight may still be joined.
#[napi]
pub const JOINABLE: i32 = 1 << 27;
/// The slot's number in an answer without one.
#[napi]
pub const NO_SLOT: i32 = (1 << 27) - 1;

/// What a call starts with, above [`NUMBER_BITS`].
#[napi]
pub enum Start {
    /// The value is in the slot of this number.
    Hit = 0,
    /// Join the flight of this number.
    Join = 1,
    /// Lead; the native client reads.
    Read = 2,
    /// Lead; JavaScript reads.
    ReadElsewhere = 3,
    /// Lead; run the source.
    Source = 4,
    /// Lead; the native client refused to read. Run the source.
    ReadRefused = 5,
    /// The id cannot be made into a key.
    KeyError = 6,
}

/// What became of a request to Redis.
#[napi]
pub enum Reply {
    /// Load the payload.
    Load = 0,
    /// A clean miss.
    Miss = 1,
    /// The read failed.
    Failed = 2,
    /// The read was given up at its deadline.
    TimedOut = 3,
    /// Nobody waits any more.
    Stale = 4,
    /// The write was done.
    Written = 5,
    /// The write failed.
    WriteFailed = 6,
    /// The source had answered before, and a clean miss followed: write its value.
    WriteBack = 7,
    /// The source had answered before, and there is nothing to write.
    Over = 8,
    /// The read is still pending: start the source beside it. Ends no request.
    Hedge = 9,
    /// The read is still pending, and the budget lets nothing start beside it. Ends no request.
    HedgeDenied = 10,
    /// A payload's passage through the envelope. How its request ended follows.
    Passage = 11,
    /// The write came too late: the id had been invalidated.
    Fenced = 12,
}

/// Why a source's result was not accepted: negative answers.
#[napi]
pub enum Refusal {
    /// A failure to pass on.
    Failed = -1,
    /// The deadline had passed.
    TimedOut = -2,
    /// Nobody waits any more.
    Stale = -3,
    /// A failure, but the read may still bring a value.
    AwaitRead = -4,
    /// The deadline had passed, but the read may still bring a value.
    TimedOutAwaitRead = -5,
}

/// What a due deadline means, above [`NUMBER_BITS`].
#[napi]
pub enum DueKind {
    /// A leader's read.
    Read = 0,
    /// A leader's source.
    Source = 1,
    /// The time in which an answered flight may be joined.
    Linger = 2,
    /// A read whose call was answered by the source.
    ReadOver = 3,
    /// The delay after which a leader's source may start beside its read.
    Hedge = 4,
    /// A leader's source, while its read may still bring a value.
    SourceAwaitRead = 5,
    /// The delay after which a leader's source might have started beside its read, had the budget let it.
    HedgeDenied = 6,
    /// A shadow job's.
    Shadow = 7,
}

/// Packs a start and its slot's or flight's number.
pub const fn start(kind: Start, number: u32, freed: bool) -> i32 {
    let packed = ((kind as i32) << NUMBER_BITS) | number.cast_signed();
    if freed { packed | FREED } else { packed }
}

/// The number of what follows a read.
pub const fn reply(verdict: AfterRead) -> i32 {
    let reply = match verdict {
        AfterRead::Load => Reply::Load,
        AfterRead::Miss => Reply::Miss,
        AfterRead::Failed => Reply::Failed,
        AfterRead::TimedOut => Reply::TimedOut,
        AfterRead::Write => Reply::WriteBack,
        AfterRead::Over => Reply::Over,
        AfterRead::Stale => Reply::Stale,
    };
    reply as i32
}

/// The number of what follows a read's delay.
pub const fn after_delay(verdict: AfterDelay) -> i32 {
    let reply = match verdict {
        AfterDelay::Hedge => Reply::Hedge,
        AfterDelay::Denied => Reply::HedgeDenied,
        AfterDelay::Stale => Reply::Stale,
    };
    reply as i32
}

/// Packs what follows a source, or an accepted payload.
pub const fn settled(settled: Settled, timer: bool, freed: bool) -> i32 {
    match settled {
        Settled::Accepted { slot, write, joinable } => {
            let number = match slot {
                Some(Slot(number)) => number.cast_signed(),
                None => NO_SLOT,
            };
            number | flag(write, WRITE) | flag(joinable, JOINABLE) | flag(timer, TIMER) | flag(freed, FREED)
        }
        // The caller asks for the timer after every refusal: they are rare.
        Settled::Failed => Refusal::Failed as i32,
        Settled::TimedOut => Refusal::TimedOut as i32,
        Settled::Stale => Refusal::Stale as i32,
        Settled::AwaitRead => Refusal::AwaitRead as i32,
        Settled::TimedOutAwaitRead => Refusal::TimedOutAwaitRead as i32,
    }
}

/// Packs where a value was placed that is settled otherwise.
pub fn placed(slot: Option<Slot>, engine: &Engine) -> i32 {
    let placed = Settled::Accepted {
        slot,
        write: false,
        joinable: false,
    };
    settled(placed, engine.timer_changed(), engine.has_freed())
}

const fn flag(set: bool, bit: i32) -> i32 {
    if set { bit } else { 0 }
}

/// Packs a due deadline; -1 when none is due.
pub const fn due(due: Option<Due>) -> i32 {
    let (kind, number) = match due {
        None => return -1,
        Some(Due::Read(FlightId(flight))) => (DueKind::Read, flight),
        Some(Due::Source(FlightId(flight))) => (DueKind::Source, flight),
        Some(Due::Linger(FlightId(flight))) => (DueKind::Linger, flight),
        Some(Due::ReadOver(FlightId(flight))) => (DueKind::ReadOver, flight),
        Some(Due::Hedge(FlightId(flight))) => (DueKind::Hedge, flight),
        Some(Due::HedgeDenied(FlightId(flight))) => (DueKind::HedgeDenied, flight),
        Some(Due::SourceAwaitRead(FlightId(flight))) => (DueKind::SourceAwaitRead, flight),
        Some(Due::Shadow(ShadowId(job))) => (DueKind::Shadow, job),
    };
    ((kind as i32) << NUMBER_BITS) | number.cast_signed()
}

/// Bits of one layer in a packed trace.
#[napi]
pub const TRACE_BITS: u32 = 3;

/// What happened at one layer.
#[napi]
pub enum Layer {
    /// Not reached, or not there.
    Absent = 0,
    /// Looked up and found.
    Hit = 1,
    /// Looked up in vain; for Redis: to be read.
    Miss = 2,
    /// Off: no TTL.
    PolicyDisabled = 3,
    /// Off: a TTL out of range.
    InvalidTtl = 4,
    /// Off: a ramp out of range.
    InvalidRamp = 5,
    /// Off: outside the ramp.
    RampedDown = 6,
}

/// Packs both layers' traces, the process-local one in the low bits.
pub const fn trace(trace: Trace) -> u32 {
    layer(trace.local) | (layer(trace.remote) << TRACE_BITS)
}

const fn layer(trace: LayerTrace) -> u32 {
    let layer = match trace {
        LayerTrace::Absent => Layer::Absent,
        LayerTrace::Hit => Layer::Hit,
        LayerTrace::Miss => Layer::Miss,
        LayerTrace::Off(OffReason::PolicyDisabled) => Layer::PolicyDisabled,
        LayerTrace::Off(OffReason::InvalidTtl) => Layer::InvalidTtl,
        LayerTrace::Off(OffReason::InvalidRamp) => Layer::InvalidRamp,
        LayerTrace::Off(OffReason::RampedDown) => Layer::RampedDown,
    };
    layer as u32
}
