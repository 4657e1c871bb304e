//! What `stats()` is made of.

use napi::bindgen_prelude::Float64Array;
use napi_derive::napi;

use super::clock;
use super::engine::float;
use crate::core::Nanos;
use crate::core::engine::Engine;
use crate::core::metrics::{Counter, CounterList};

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
    /// Shadow jobs that hold a place.
    pub shadows: u32,
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
        shadows: count(gauges.shadows),
    }
}

/// What [`CounterReader::read`] answers of each use case, in this order.
const COLUMNS: &[(&str, Counter)] = &[
    ("localRequests", Counter::LocalRequest),
    ("localHits", Counter::LocalHit),
    ("localMisses", Counter::LocalMiss),
    ("localPolicyDisabled", Counter::LocalPolicyDisabled),
    ("localInvalidTtl", Counter::LocalInvalidTtl),
    ("localInvalidRamp", Counter::LocalInvalidRamp),
    ("localRampedDown", Counter::LocalRampedDown),
    ("remoteRequests", Counter::RemoteRequest),
    ("remoteHits", Counter::RemoteHit),
    ("remoteMisses", Counter::RemoteMiss),
    ("remotePolicyDisabled", Counter::RemotePolicyDisabled),
    ("remoteInvalidTtl", Counter::RemoteInvalidTtl),
    ("remoteInvalidRamp", Counter::RemoteInvalidRamp),
    ("remoteRampedDown", Counter::RemoteRampedDown),
    ("readDeadlinesArmed", Counter::ReadDeadlineArmed),
    ("readTimeouts", Counter::ReadTimeout),
    ("readFailures", Counter::ReadFailed),
    ("loadFailures", Counter::LoadFailed),
    ("dumpFailures", Counter::DumpFailed),
    ("readHedgeHits", Counter::ReadHedgeHit),
    ("readHedgeOutruns", Counter::ReadHedgeOutrun),
    ("readHedgeSourceErrors", Counter::ReadHedgeSourceError),
    ("readHedgeDenials", Counter::ReadHedgeDenied),
    ("coalesced", Counter::Coalesced),
    ("sourceCalls", Counter::SourceCall),
    ("sourceFailures", Counter::SourceFailed),
    ("sourceTimeouts", Counter::SourceTimeout),
    ("writesOk", Counter::WriteOk),
    ("writesFenced", Counter::WriteFenced),
    ("writesFailed", Counter::WriteFailed),
    ("writesSkipped", Counter::WriteSkipped),
    ("compressed", Counter::Compressed),
    ("belowThreshold", Counter::BelowThreshold),
    ("notSmaller", Counter::NotSmaller),
    ("writeOverLimit", Counter::WriteOverLimit),
    ("decompressed", Counter::Decompressed),
    ("fallbackRaw", Counter::FallbackRaw),
    ("readOverLimit", Counter::ReadOverLimit),
];

/// Reads what an engine counts, also when that engine is gone. Keeps nothing else of it alive.
#[napi]
pub struct CounterReader(CounterList);

impl CounterReader {
    /// A reader of one engine's counters.
    pub fn new(engine: &Engine) -> Self {
        Self(engine.counted().clone())
    }
}

#[napi]
impl CounterReader {
    /// Names of what `read` answers of each use case, in its order.
    #[napi(catch_unwind)]
    pub fn columns() -> Vec<&'static str> {
        COLUMNS.iter().map(|(name, _)| *name).collect()
    }

    /// Key type and name of the use cases from `place` on, in turn, in the order of `read`.
    #[napi(catch_unwind)]
    pub fn names(&self, place: u32) -> Vec<String> {
        let all = self.0.all();
        let new = all.iter().skip(place as usize);
        new.flat_map(|counted| [counted.key_type.to_string(), counted.use_case.to_string()])
            .collect()
    }

    /// The counters of everything registered: one number for each of `columns()`, use case
    /// after use case. One array, because a scrape reads hundreds of them.
    #[napi(catch_unwind)]
    pub fn read(&self) -> Float64Array {
        let all = self.0.all();
        let mut numbers = Vec::with_capacity(all.len() * COLUMNS.len());
        for counted in all.iter() {
            numbers.extend(COLUMNS.iter().map(|(_, counter)| float(counted.counters.get(*counter))));
        }
        numbers.into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_counted_can_be_read() {
        for counter in Counter::ALL {
            let columns = COLUMNS.iter().filter(|(_, column)| *column == counter);
            assert_eq!(columns.count(), 1, "{counter:?}");
        }
    }
}
