//! What `stats()` is made of.

use napi_derive::napi;

use super::clock;
use crate::core::Nanos;
use crate::core::engine::Engine;
use crate::core::metrics::{Counter, Counters};

/// Facts for `stats()` and `getCoalescingState()`.
#[napi(object)]
pub struct EngineGauges {
    /// Entries of the process-local layer.
    pub local_entries: u32,
    /// Flights whose callers wait.
    pub leaders: u32,
    /// Callers that joined them.
    pub followers: u32,
    /// Milliseconds since the oldest of them began.
    pub oldest_leader_age_ms: Option<f64>,
    /// Answered flights that may still be joined.
    pub lingering: u32,
    /// Deadlines armed in this engine's timer.
    pub timers: u32,
}

/// The counters of one use case.
#[napi(object)]
pub struct UseCaseCounters {
    /// Kind of id.
    pub key_type: String,
    /// The use case's name.
    pub use_case: String,
    /// Whether its values can be invalidated.
    pub tracked: bool,
    pub local_requests: f64,
    pub local_hits: f64,
    pub local_misses: f64,
    pub local_disabled: f64,
    pub remote_requests: f64,
    pub remote_hits: f64,
    pub remote_misses: f64,
    pub remote_disabled: f64,
    pub read_deadlines_armed: f64,
    pub read_timeouts: f64,
    pub coalesced: f64,
    pub source_calls: f64,
    pub source_timeouts: f64,
    pub writes_ok: f64,
    pub writes_fenced: f64,
    pub writes_failed: f64,
    pub writes_skipped: f64,
}

/// The engine's facts of this moment.
pub fn gauges(engine: &Engine, now: Nanos) -> EngineGauges {
    let gauges = engine.gauges();
    EngineGauges {
        local_entries: count(gauges.local_entries),
        leaders: gauges.unanswered.leaders,
        followers: gauges.unanswered.followers,
        oldest_leader_age_ms: gauges
            .unanswered
            .oldest
            .map(|oldest| clock::as_ms(now.saturating_sub(oldest))),
        lingering: count(gauges.lingering),
        timers: count(gauges.timers),
    }
}

/// The counters of everything registered.
pub fn counters(engine: &Engine) -> Vec<UseCaseCounters> {
    engine
        .counters()
        .map(|(key_type, use_case, tracked, counters)| of_use_case(key_type, use_case, tracked, counters))
        .collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "JavaScript's numbers; counts stay far below 2^53"
)]
fn of_use_case(key_type: &str, use_case: &str, tracked: bool, counters: &Counters) -> UseCaseCounters {
    let get = |counter| counters.get(counter) as f64;
    UseCaseCounters {
        key_type: key_type.into(),
        use_case: use_case.into(),
        tracked,
        local_requests: get(Counter::LocalRequest),
        local_hits: get(Counter::LocalHit),
        local_misses: get(Counter::LocalMiss),
        local_disabled: get(Counter::LocalDisabled),
        remote_requests: get(Counter::RemoteRequest),
        remote_hits: get(Counter::RemoteHit),
        remote_misses: get(Counter::RemoteMiss),
        remote_disabled: get(Counter::RemoteDisabled),
        read_deadlines_armed: get(Counter::ReadDeadlineArmed),
        read_timeouts: get(Counter::ReadTimeout),
        coalesced: get(Counter::Coalesced),
        source_calls: get(Counter::SourceCall),
        source_timeouts: get(Counter::SourceTimeout),
        writes_ok: get(Counter::WriteOk),
        writes_fenced: get(Counter::WriteFenced),
        writes_failed: get(Counter::WriteFailed),
        writes_skipped: get(Counter::WriteSkipped),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Whether this is a build for development, whose speed says nothing.
#[napi]
#[cfg_attr(
    test,
    allow(
        dead_code,
        reason = "the macros export nothing to unit tests, which run without Node"
    )
)]
pub const DEBUG_BUILD: bool = cfg!(debug_assertions);
