//! Which calls are shadowed, and their jobs.

use std::time::Duration;

use super::super::Nanos;
use super::super::flight::FlightId;
use super::super::policy::{OffReason, ShadowPolicy};
use super::super::shadow::{Job, NewJob, Next, Origin, ShadowId, Told};
use super::Engine;
use super::registry::nanos;

/// How long a job may take when its source may run for ever.
const UNBOUNDED_TIMEOUT: Duration = Duration::from_secs(60);

/// Whether a leader is shadowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShadowPlan {
    /// No: it did not reach the Redis layer, or its key is outside the shadow ramp.
    #[default]
    None,
    /// No: it reached the Redis layer, but the shadow ramp is no percentage.
    Invalid,
    /// Yes: when its Redis hit is served, or beside its source.
    Sampled {
        /// Which of both.
        origin: Origin,
        /// How long Redis keeps a value it is filled with, in milliseconds.
        ttl_ms: u64,
        /// Whether the values of a mismatch are logged.
        log_mismatches: bool,
    },
}

/// Why a leader gets no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoJob {
    /// It is not shadowed.
    Unsampled,
    /// There is no room, or a job of the same key is under way.
    Dropped,
}

/// What a job reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowKeys {
    /// The logical key.
    pub logical: String,
    /// The Redis key of the value.
    pub value: String,
    /// The Redis key of the watermark, for a tracked one.
    pub watermark: Option<String>,
}

impl ShadowPlan {
    /// The plan for a leader. `remote` is what the Redis layer answered: the lifetime of what it
    /// serves in seconds, or why it is off. `samples` says whether a ramp below 100 lets the key in.
    pub(super) fn of<E>(
        policy: ShadowPolicy,
        remote: Option<Result<u32, OffReason>>,
        samples: impl FnOnce(f64) -> Result<bool, E>,
    ) -> Result<Self, E> {
        let (origin, ttl_sec) = match remote {
            Some(Ok(ttl_sec)) => (Origin::Served, ttl_sec),
            Some(Err(OffReason::RampedDown)) => (Origin::RampedDown, policy.fill_ttl_sec),
            _ => return Ok(Self::None),
        };
        let Some(ramp) = policy.ramp else {
            return Ok(Self::Invalid);
        };
        if ramp <= 0.0 || (ramp < 100.0 && !samples(ramp)?) {
            return Ok(Self::None);
        }
        Ok(Self::Sampled {
            origin,
            ttl_ms: u64::from(ttl_sec) * 1_000,
            log_mismatches: policy.log_mismatches,
        })
    }
}

impl Engine {
    /// Whether the flight is shadowed.
    #[must_use]
    pub fn shadow_plan(&self, id: FlightId) -> ShadowPlan {
        self.flight(id).map_or(ShadowPlan::None, |flight| flight.shadow)
    }

    /// When the value that the flight's read found was written, in milliseconds since the Unix epoch.
    pub fn found(&mut self, id: FlightId, created_at_ms: u64) {
        if let Some(flight) = self.flights.get_mut(id) {
            flight.created_at_ms = Some(created_at_ms);
        }
    }

    /// Begins the job of a shadowed flight: when its payload was loaded, or its source has begun.
    ///
    /// # Errors
    /// When there is none to begin.
    pub fn begin_shadow(&mut self, id: FlightId, now: Nanos) -> Result<ShadowId, NoJob> {
        let Some(flight) = self.flights.get(id) else {
            return Err(NoJob::Unsampled);
        };
        let ShadowPlan::Sampled {
            origin,
            ttl_ms,
            log_mismatches,
        } = flight.shadow
        else {
            return Err(NoJob::Unsampled);
        };
        if !self.remote {
            return Err(NoJob::Unsampled);
        }
        let facts = NewJob {
            origin,
            use_case: flight.use_case,
            key: flight.key().into(),
            group: flight.group,
            ttl_ms,
            log_mismatches,
            read_timeout: flight.read_timeout,
            timeout: flight.source_timeout.unwrap_or_else(|| nanos(UNBOUNDED_TIMEOUT)),
        };
        self.shadows.admit(facts, now).ok_or(NoJob::Dropped)
    }

    /// Tells a job, and answers what it does next.
    pub fn tell_shadow(&mut self, id: ShadowId, told: Told, now: Nanos) -> Next {
        self.shadows.tell(id, told, now)
    }

    /// Drops a job that a bug has ended.
    pub fn forget_shadow(&mut self, id: ShadowId) {
        self.shadows.forget(id);
    }

    /// The job of this number.
    #[must_use]
    pub fn shadow(&self, id: ShadowId) -> Option<&Job> {
        self.shadows.get(id)
    }

    /// What the job reads and writes.
    #[must_use]
    pub fn shadow_keys(&self, id: ShadowId) -> Option<ShadowKeys> {
        let facts = &self.shadow(id)?.facts;
        let scheme = &self.registry.space_of(facts.use_case).scheme;
        let (id, args) = super::parts(&facts.key);
        let mut logical = String::new();
        scheme.write_logical(id, args, &mut logical).ok()?;
        Some(ShadowKeys {
            logical,
            value: scheme.value_key(id, args).ok()?,
            watermark: if scheme.tracked() {
                scheme.watermark_key(id).ok()
            } else {
                None
            },
        })
    }
}
