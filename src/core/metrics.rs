//! Counters of one use case: plain additions on the owning thread.

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
    /// Calls whose process-local layer was off.
    LocalDisabled,
    /// Redis reads begun.
    RemoteRequest,
    /// Redis hits: payloads the serializer accepted.
    RemoteHit,
    /// Clean Redis misses, and payloads that were rejected.
    RemoteMiss,
    /// Calls whose Redis layer was off.
    RemoteDisabled,
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
}

const COUNTERS: usize = Counter::WriteSkipped as usize + 1;

/// The counters of one use case.
#[derive(Clone, Debug)]
pub struct Counters([u64; COUNTERS]);

impl Default for Counters {
    fn default() -> Self {
        Self([0; COUNTERS])
    }
}

impl Counters {
    /// Counts one event.
    pub const fn add(&mut self, counter: Counter) {
        self.0[counter as usize] += 1;
    }

    /// Uncounts an event that was counted and then did not come about.
    pub const fn take_back(&mut self, counter: Counter) {
        self.0[counter as usize] -= 1;
    }

    /// How often the event was counted.
    #[must_use]
    pub const fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }
}
