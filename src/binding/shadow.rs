//! Shadow jobs as JavaScript runs them. Rare enough for ordinary methods and objects.

use napi::bindgen_prelude::{Buffer, Either};
use napi_derive::napi;

use super::batch::Failure;
use super::engine::{NativeEngine, float, whole};
use super::payload::to_payload;
use crate::core::engine::{NoJob, ShadowPlan};
use crate::core::flight::FlightId;
use crate::core::shadow::{Next, Outcome, ShadowId, Told};
use crate::remote::{Envelope, ReadRequest, WriteRequest};

/// Whether a leader is shadowed.
#[napi]
pub enum ShadowSample {
    /// No.
    No = 0,
    /// No, because its shadow ramp is no percentage.
    InvalidRamp = 1,
    /// When its Redis hit is served.
    WhenServed = 2,
    /// From its source's start on.
    BesideSource = 3,
}

/// Why there is no job, in place of its number.
#[napi]
pub enum ShadowRefusal {
    /// It was dropped, which is an outcome.
    Dropped = -1,
    /// There was nothing to do.
    None = -2,
}

/// What a job is told; see the core's `Told`.
#[napi]
#[derive(Clone, Copy)]
pub enum ShadowEvent {
    /// Its first step may begin.
    Started = 0,
    /// The source brought a value.
    SourceOk = 1,
    /// The source failed.
    SourceFailed = 2,
    /// The caller has its value.
    Answered = 3,
    /// The first read found a payload.
    Hit = 4,
    /// It found nothing.
    Miss = 5,
    /// A read failed.
    ReadFailed = 6,
    /// The confirming read found the same bytes.
    Same = 7,
    /// It did not.
    Changed = 8,
    /// The serializer made a value.
    Loaded = 9,
    /// The serializer rejected the payload.
    LoadFailed = 10,
    /// The values are equal.
    Equal = 11,
    /// They are not.
    Different = 12,
    /// They could not be compared.
    CompareFailed = 13,
    /// The value to write was serialized.
    Dumped = 14,
    /// Redis took it.
    Stored = 15,
    /// Redis refused it.
    Fenced = 16,
    /// It did not.
    FillFailed = 17,
    /// A timer fired.
    Due = 18,
    /// The Redis layer was turned off.
    Closed = 19,
    /// The value to write could not be serialized.
    DumpFailed = 20,
}

/// What a job does next; from `Done` on it is over, and the outcome's place in `shadowOutcomes()` is added.
#[napi]
pub enum ShadowNext {
    /// Nothing yet.
    Wait = 0,
    /// Nothing: it is over.
    Stale = 1,
    /// Read Redis.
    Read = 2,
    /// Run the source.
    Source = 3,
    /// Load the payload.
    Load = 4,
    /// Compare.
    Compare = 5,
    /// Read Redis once more.
    Confirm = 6,
    /// Serialize the value.
    Dump = 7,
    /// Write it.
    Fill = 8,
    /// Over.
    Done = 16,
}

const OUTCOMES: [(Outcome, &str); 13] = [
    (Outcome::Match, "match"),
    (Outcome::Mismatch, "mismatch"),
    (Outcome::Superseded, "superseded"),
    (Outcome::Filled, "filled"),
    (Outcome::FillBlocked, "fill_blocked"),
    (Outcome::FillError, "fill_error"),
    (Outcome::RedisError, "redis_error"),
    (Outcome::SourceError, "source_error"),
    (Outcome::DeserializationError, "deserialization_error"),
    (Outcome::ComparisonError, "comparison_error"),
    (Outcome::ConfirmationError, "confirmation_error"),
    (Outcome::Timeout, "timeout"),
    (Outcome::Dropped, "dropped"),
];

/// The labels of all outcomes.
#[napi]
#[cfg_attr(
    test,
    allow(
        dead_code,
        reason = "the macros export nothing to unit tests, which run without Node"
    )
)]
pub fn shadow_outcomes() -> Vec<&'static str> {
    OUTCOMES.iter().map(|(_, label)| *label).collect()
}

/// What a job reads and writes.
#[napi(object)]
pub struct ShadowFacts {
    /// The logical key.
    pub logical_key: String,
    /// The Redis key of the value.
    pub value_key: String,
    /// The Redis key of the watermark; absent for an untracked one.
    pub watermark_key: Option<String>,
    /// How long Redis keeps a value it is filled with, in milliseconds.
    pub ttl_ms: f64,
    /// Whether the values of a mismatch are logged.
    pub log_mismatches: bool,
}

#[napi]
impl NativeEngine {
    /// Whether the flight is shadowed.
    #[napi(catch_unwind)]
    pub fn shadow_sample(&self, flight: u32) -> ShadowSample {
        use crate::core::shadow::Origin;
        match self.cell.core.borrow().shadow_plan(FlightId(flight)) {
            ShadowPlan::None => ShadowSample::No,
            ShadowPlan::Invalid => ShadowSample::InvalidRamp,
            ShadowPlan::Sampled {
                origin: Origin::Served, ..
            } => ShadowSample::WhenServed,
            ShadowPlan::Sampled {
                origin: Origin::RampedDown,
                ..
            } => ShadowSample::BesideSource,
        }
    }

    /// When the payload that the native client found for a flight was written, in milliseconds since
    /// the Unix epoch.
    #[napi(catch_unwind)]
    pub fn created_at_ms(&self, flight: u32) -> Option<f64> {
        let core = self.cell.core.borrow();
        core.flight(FlightId(flight))?.created_at_ms.map(float)
    }

    /// Begins the flight's job. Answers its number, or a refusal.
    #[napi(catch_unwind)]
    pub fn begin_shadow(&self, flight: u32) -> i32 {
        let now = self.cell.clock.now();
        match self.cell.core.borrow_mut().begin_shadow(FlightId(flight), now) {
            Ok(ShadowId(job)) => job.cast_signed(),
            Err(NoJob::Dropped) => ShadowRefusal::Dropped as i32,
            Err(NoJob::Unsampled) => ShadowRefusal::None as i32,
        }
    }

    /// Tells a job, and answers what it does next.
    #[napi(catch_unwind)]
    pub fn tell_shadow(&self, job: u32, event: ShadowEvent) -> i32 {
        let now = self.cell.clock.now();
        let mut core = self.cell.core.borrow_mut();
        next(core.tell_shadow(ShadowId(job), told(event), now))
    }

    /// Drops a job that a bug has ended.
    #[napi(catch_unwind)]
    pub fn forget_shadow(&self, job: u32) {
        self.cell.core.borrow_mut().forget_shadow(ShadowId(job));
    }

    /// What the job reads and writes; absent when it is gone.
    #[napi(catch_unwind)]
    pub fn shadow_facts(&self, job: u32) -> Option<ShadowFacts> {
        let core = self.cell.core.borrow();
        let keys = core.shadow_keys(ShadowId(job))?;
        let facts = &core.shadow(ShadowId(job))?.facts;
        Some(ShadowFacts {
            logical_key: keys.logical,
            value_key: keys.value,
            watermark_key: keys.watermark,
            ttl_ms: float(facts.ttl_ms),
            log_mismatches: facts.log_mismatches,
        })
    }

    /// Reads for a job through the native client. A failure that is known at once is returned, and no
    /// event follows.
    #[napi(catch_unwind)]
    pub fn read_shadow(&self, job: u32, call: u32) -> Option<Failure> {
        let core = self.cell.core.borrow();
        let reader = self.cell.reader.borrow();
        let (Some(reader), Some(keys), Some(job)) =
            (&*reader, core.shadow_keys(ShadowId(job)), core.shadow(ShadowId(job)))
        else {
            return Some(gone());
        };
        let request = ReadRequest {
            value_key: keys.value,
            watermark_key: keys.watermark,
            deadline: self.cell.clock.instant(job.read_until(self.cell.clock.now())),
            hedge_at: None,
            envelope: Envelope::Ours,
        };
        reader.read_weakly(call, request).err().map(Failure::from)
    }

    /// Writes a job's value through the native client. A failure that is known at once is returned,
    /// and no event follows.
    #[napi(catch_unwind)]
    pub fn write_shadow(
        &self,
        job: u32,
        call: u32,
        payload: Either<String, Buffer>,
        created_at_ms: f64,
    ) -> Option<Failure> {
        let core = self.cell.core.borrow();
        let reader = self.cell.reader.borrow();
        let (Some(reader), Some(keys), Some(job)) =
            (&*reader, core.shadow_keys(ShadowId(job)), core.shadow(ShadowId(job)))
        else {
            return Some(gone());
        };
        let request = WriteRequest {
            value_key: keys.value,
            watermark_key: keys.watermark,
            ttl_ms: job.facts.ttl_ms,
            payload: to_payload(payload),
            envelope: Envelope::Ours,
            compression: self.compression.map(Into::into),
            created_at_ms: whole(created_at_ms),
        };
        reader.write_weakly(call, request).err().map(Failure::from)
    }
}

fn gone() -> Failure {
    Failure {
        kind: "internal".into(),
        message: "there is no shadow job or no native client, which is a bug".into(),
    }
}

const fn told(event: ShadowEvent) -> Told {
    match event {
        ShadowEvent::Started => Told::Started,
        ShadowEvent::SourceOk => Told::SourceOk,
        ShadowEvent::SourceFailed => Told::SourceFailed,
        ShadowEvent::Answered => Told::Answered,
        ShadowEvent::Hit => Told::Hit,
        ShadowEvent::Miss => Told::Miss,
        ShadowEvent::ReadFailed => Told::ReadFailed,
        ShadowEvent::Same => Told::Same,
        ShadowEvent::Changed => Told::Changed,
        ShadowEvent::Loaded => Told::Loaded,
        ShadowEvent::LoadFailed => Told::LoadFailed,
        ShadowEvent::Equal => Told::Equal,
        ShadowEvent::Different => Told::Different,
        ShadowEvent::CompareFailed => Told::CompareFailed,
        ShadowEvent::Dumped => Told::Dumped,
        ShadowEvent::Stored => Told::Stored,
        ShadowEvent::Fenced => Told::Fenced,
        ShadowEvent::FillFailed => Told::FillFailed,
        ShadowEvent::Due => Told::Due,
        ShadowEvent::Closed => Told::Closed,
        ShadowEvent::DumpFailed => Told::DumpFailed,
    }
}

fn next(next: Next) -> i32 {
    match next {
        Next::Wait => ShadowNext::Wait as i32,
        Next::Stale => ShadowNext::Stale as i32,
        Next::Read => ShadowNext::Read as i32,
        Next::Source => ShadowNext::Source as i32,
        Next::Load => ShadowNext::Load as i32,
        Next::Compare => ShadowNext::Compare as i32,
        Next::Confirm => ShadowNext::Confirm as i32,
        Next::Dump => ShadowNext::Dump as i32,
        Next::Fill => ShadowNext::Fill as i32,
        Next::Done(outcome) => {
            let place = OUTCOMES.iter().position(|(known, _)| *known == outcome);
            ShadowNext::Done as i32 + i32::try_from(place.unwrap_or_default()).unwrap_or_default()
        }
    }
}
