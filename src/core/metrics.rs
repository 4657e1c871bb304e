//! Counters of one use case: plain additions on the owning thread.
//!
//! They are kept apart from the engine that counts, so that what it counted can still be read, and
//! little else is kept alive, when the engine itself is gone.

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;

use super::envelope::{OpenOutcome, SealOutcome};
use super::policy::OffReason;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// Process-local lookups.
    LocalRequest,
    /// Process-local hits.
    LocalHit,
    /// Process-local misses.
    LocalMiss,
    /// Calls whose process-local layer had no TTL.
    LocalPolicyDisabled,
    /// Calls whose process-local layer had a TTL out of range.
    LocalInvalidTtl,
    /// Calls whose process-local layer had a ramp out of range.
    LocalInvalidRamp,
    /// Calls that were outside the process-local layer's ramp.
    LocalRampedDown,
    /// Redis reads begun.
    RemoteRequest,
    /// Redis hits: payloads the serializer accepted.
    RemoteHit,
    /// Clean Redis misses, and payloads that were rejected.
    RemoteMiss,
    /// Calls whose Redis layer had no TTL.
    RemotePolicyDisabled,
    /// Calls whose Redis layer had a TTL out of range.
    RemoteInvalidTtl,
    /// Calls whose Redis layer had a ramp out of range.
    RemoteInvalidRamp,
    /// Calls that were outside the Redis layer's ramp.
    RemoteRampedDown,
    /// Read deadlines armed: one for each leader that really reads.
    ReadDeadlineArmed,
    /// Reads given up at their deadline.
    ReadTimeout,
    /// Reads that failed otherwise.
    ReadFailed,
    /// Payloads the serializer rejected.
    LoadFailed,
    /// Values the serializer could not dump.
    DumpFailed,
    /// Hedged reads whose hit won over the source beside them.
    ReadHedgeHit,
    /// Hedged reads that the source beside them outran.
    ReadHedgeOutrun,
    /// Hedged reads whose source failed while the read was pending.
    ReadHedgeSourceError,
    /// Hedges of reads that the budget denied.
    ReadHedgeDenied,
    /// Calls that joined a flight.
    Coalesced,
    /// Source runs begun.
    SourceCall,
    /// Source runs that failed by themselves.
    SourceFailed,
    /// Source runs given up at their deadline.
    SourceTimeout,
    /// Redis writes accepted by the server.
    WriteOk,
    /// Redis writes that an invalidation forbade.
    WriteFenced,
    /// Redis writes that failed.
    WriteFailed,
    /// Accepted values that were kept out of Redis because their read had failed.
    WriteSkipped,
    /// Payloads for Redis that were compressed.
    Compressed,
    /// Payloads for Redis that were too small to be compressed.
    BelowThreshold,
    /// Payloads for Redis that compressing would not have made smaller.
    NotSmaller,
    /// Payloads for Redis that were bigger than a reader may decompress.
    WriteOverLimit,
    /// Payloads from Redis that were decompressed.
    Decompressed,
    /// Payloads from Redis that looked compressed and could not be decompressed.
    FallbackRaw,
    /// Payloads from Redis that were compressed, of more than the permitted bytes.
    ReadOverLimit,
}

impl Counter {
    /// Every counter, in the order of their declaration.
    pub const ALL: [Self; COUNTERS] = [
        Self::LocalRequest,
        Self::LocalHit,
        Self::LocalMiss,
        Self::LocalPolicyDisabled,
        Self::LocalInvalidTtl,
        Self::LocalInvalidRamp,
        Self::LocalRampedDown,
        Self::RemoteRequest,
        Self::RemoteHit,
        Self::RemoteMiss,
        Self::RemotePolicyDisabled,
        Self::RemoteInvalidTtl,
        Self::RemoteInvalidRamp,
        Self::RemoteRampedDown,
        Self::ReadDeadlineArmed,
        Self::ReadTimeout,
        Self::ReadFailed,
        Self::LoadFailed,
        Self::DumpFailed,
        Self::ReadHedgeHit,
        Self::ReadHedgeOutrun,
        Self::ReadHedgeSourceError,
        Self::ReadHedgeDenied,
        Self::Coalesced,
        Self::SourceCall,
        Self::SourceFailed,
        Self::SourceTimeout,
        Self::WriteOk,
        Self::WriteFenced,
        Self::WriteFailed,
        Self::WriteSkipped,
        Self::Compressed,
        Self::BelowThreshold,
        Self::NotSmaller,
        Self::WriteOverLimit,
        Self::Decompressed,
        Self::FallbackRaw,
        Self::ReadOverLimit,
    ];

    /// What counts a process-local layer that was off.
    #[must_use]
    pub const fn local_off(reason: OffReason) -> Self {
        match reason {
            OffReason::PolicyDisabled => Self::LocalPolicyDisabled,
            OffReason::InvalidTtl => Self::LocalInvalidTtl,
            OffReason::InvalidRamp => Self::LocalInvalidRamp,
            OffReason::RampedDown => Self::LocalRampedDown,
        }
    }

    /// What counts a Redis layer that was off.
    #[must_use]
    pub const fn remote_off(reason: OffReason) -> Self {
        match reason {
            OffReason::PolicyDisabled => Self::RemotePolicyDisabled,
            OffReason::InvalidTtl => Self::RemoteInvalidTtl,
            OffReason::InvalidRamp => Self::RemoteInvalidRamp,
            OffReason::RampedDown => Self::RemoteRampedDown,
        }
    }

    /// What counts a payload on its way to Redis; `None` for one that the compressor has no part in.
    /// A failure of the compressor is an error, which is counted where it is reported.
    #[must_use]
    pub const fn sealed(outcome: SealOutcome) -> Option<Self> {
        match outcome {
            SealOutcome::Disabled | SealOutcome::Failed => None,
            SealOutcome::BelowThreshold => Some(Self::BelowThreshold),
            SealOutcome::NotSmaller => Some(Self::NotSmaller),
            SealOutcome::OverLimit => Some(Self::WriteOverLimit),
            SealOutcome::Compressed => Some(Self::Compressed),
        }
    }

    /// What counts a payload on its way from Redis; `None` for one that was not compressed.
    #[must_use]
    pub const fn opened(outcome: OpenOutcome) -> Option<Self> {
        match outcome {
            OpenOutcome::Passthrough => None,
            OpenOutcome::Decompressed => Some(Self::Decompressed),
            OpenOutcome::FallbackRaw => Some(Self::FallbackRaw),
            OpenOutcome::OverLimit => Some(Self::ReadOverLimit),
        }
    }
}

const COUNTERS: usize = Counter::ReadOverLimit as usize + 1;

/// The counters of one use case. Clones count together.
#[derive(Clone, Debug)]
pub struct Counters(Rc<[Cell<u64>; COUNTERS]>);

impl Default for Counters {
    fn default() -> Self {
        Self(Rc::new([const { Cell::new(0) }; COUNTERS]))
    }
}

impl Counters {
    /// Counts one event.
    pub fn add(&self, counter: Counter) {
        let cell = &self.0[counter as usize];
        cell.set(cell.get() + 1);
    }

    /// Uncounts an event that was counted and then did not come about.
    pub fn take_back(&self, counter: Counter) {
        let cell = &self.0[counter as usize];
        cell.set(cell.get() - 1);
    }

    /// How often the event was counted.
    #[must_use]
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize].get()
    }
}

/// One use case's counters, with its names.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Kind of id.
    pub key_type: Box<str>,
    /// The use case's name.
    pub use_case: Box<str>,
    /// What was counted.
    pub counters: Counters,
}

/// The counters of everything registered, in the order of registration. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct CounterList(Rc<RefCell<Vec<Counted>>>);

impl CounterList {
    /// Counters for one more use case. Those of the same names are counted together.
    #[must_use]
    pub fn counters(&self, key_type: &str, use_case: &str) -> Counters {
        let known = self
            .all()
            .iter()
            .find(|counted| *counted.key_type == *key_type && *counted.use_case == *use_case)
            .map(|counted| counted.counters.clone());
        known.unwrap_or_else(|| self.add(key_type, use_case))
    }

    fn add(&self, key_type: &str, use_case: &str) -> Counters {
        let counters = Counters::default();
        self.0.borrow_mut().push(Counted {
            key_type: key_type.into(),
            use_case: use_case.into(),
            counters: counters.clone(),
        });
        counters
    }

    /// What was counted so far.
    #[must_use]
    pub fn all(&self) -> Ref<'_, [Counted]> {
        Ref::map(self.0.borrow(), Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_all() {
        let positions = Counter::ALL.map(|counter| counter as usize);
        assert!(positions.into_iter().eq(0..COUNTERS));
    }

    #[test]
    fn clones_count_together() {
        let counters = Counters::default();
        counters.clone().add(Counter::SourceCall);
        counters.add(Counter::SourceCall);
        assert_eq!(counters.get(Counter::SourceCall), 2);
        assert_eq!(counters.get(Counter::WriteSkipped), 0);
    }

    #[test]
    fn one_name_is_counted_in_one_place_and_outlives_who_counts() {
        let list = CounterList::default();
        let (first, again) = (list.counters("user", "Get"), list.counters("user", "Get"));
        let other = list.counters("team", "Get");
        first.add(Counter::LocalHit);
        again.add(Counter::LocalHit);
        other.add(Counter::LocalMiss);
        drop((first, again, other));
        let all = list.all();
        let read: Vec<_> = all
            .iter()
            .map(|counted| (&*counted.key_type, counted.counters.get(Counter::LocalHit)))
            .collect();
        assert_eq!(read, [("user", 2), ("team", 0)]);
    }

    #[test]
    fn each_reason_of_each_layer_has_a_counter_of_its_own() {
        let reasons = [
            OffReason::PolicyDisabled,
            OffReason::InvalidTtl,
            OffReason::InvalidRamp,
            OffReason::RampedDown,
        ];
        let counters = Counters::default();
        for reason in reasons {
            counters.add(Counter::local_off(reason));
            counters.add(Counter::remote_off(reason));
        }
        assert!(
            reasons
                .into_iter()
                .flat_map(|reason| [Counter::local_off(reason), Counter::remote_off(reason)])
                .all(|counter| counters.get(counter) == 1)
        );
    }
}
