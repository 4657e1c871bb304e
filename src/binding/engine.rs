//! The engine as JavaScript sees it.

#![expect(clippy::needless_pass_by_value, reason = "the macro hands arguments over by value")]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Buffer, Either, Env, Unknown};
use napi_derive::napi;

use super::batch::Failure;
use super::cell::{EngineCell, Reader};
use super::client::{CompressionConfig, NativeClient};
use super::clock::{self, Clock};
use super::codes;
use super::figures::{self, CounterReader, EngineGauges};
use super::lines::Lines;
use super::payload::to_payload;
use super::policy::PolicyLeaves;
use super::raw;
use super::steps::{self, Step};
use crate::core::engine::{CallOptions, Engine, EngineOptions, UseCaseId, UseCaseOptions, WriteResult};
use crate::core::flight::FlightId;
use crate::core::hedge::read::ReadDelay;
use crate::core::local::Eviction;
use crate::core::policy::Leaves;
use crate::remote::{Envelope, WriteRequest};

/// Who reads Redis for an engine.
#[napi]
#[derive(PartialEq, Eq)]
pub enum RemoteKind {
    /// Nobody: there is no Redis layer.
    None = 0,
    /// A client of the caller's, in JavaScript.
    JavaScript = 1,
    /// A native client, to be attached.
    Native = 2,
}

/// What an engine is made with.
#[napi(object)]
pub struct EngineConfig {
    /// First part of every key.
    pub namespace: String,
    /// Entries of the process-local layer; 0 turns it off.
    pub local_max_size: f64,
    /// `TinyLFU` instead of LRU.
    pub tiny_lfu: bool,
    /// Who reads Redis.
    pub remote: RemoteKind,
    /// Whether JavaScript sets the clock.
    pub installed_clock: bool,
    /// How payloads are compressed; absent: not at all.
    pub compression: Option<CompressionConfig>,
    /// Most shadow jobs at once.
    pub shadow_max_in_flight: f64,
    /// Whether anyone wants to be told what became of each payload.
    pub observed: bool,
}

/// What a use case is registered with.
#[napi(object)]
pub struct UseCaseConfig {
    /// Kind of id.
    pub key_type: String,
    /// The use case's name.
    pub use_case: String,
    /// Whether its values can be invalidated.
    pub tracked: bool,
    /// What its calls are made with, unless one brings its own.
    pub call: CallConfig,
}

/// What a call is made with.
#[napi(object)]
pub struct CallConfig {
    /// Its default policy.
    pub defaults: PolicyLeaves,
    /// What is laid over it, leaf by leaf.
    pub runtime: Option<PolicyLeaves>,
    /// Milliseconds.
    pub read_timeout_ms: f64,
    /// Milliseconds; absent: no deadline.
    pub source_timeout_ms: Option<f64>,
    /// After how many milliseconds a read is hedged; 0: `"auto"`, absent: never.
    pub read_hedge_ms: Option<f64>,
}

impl From<CallConfig> for CallOptions {
    fn from(config: CallConfig) -> Self {
        let leaves = Leaves::from(config.defaults).overlay(config.runtime.unwrap_or_default().into());
        Self {
            policy: leaves.resolve(),
            read_timeout: millis(config.read_timeout_ms),
            source_timeout: config.source_timeout_ms.map(millis),
            read_hedge: config.read_hedge_ms.map(|ms| {
                if ms > 0.0 {
                    ReadDelay::Fixed(ms)
                } else {
                    ReadDelay::Auto
                }
            }),
        }
    }
}

/// When the timer has to fire.
#[napi(object)]
pub struct TimerState {
    /// Milliseconds from now; absent: no timer is needed.
    pub delay_ms: Option<f64>,
    /// Whether it keeps the process alive.
    pub referenced: bool,
}

/// One `DialCache` instance's engine.
#[napi]
pub struct NativeEngine {
    pub(super) cell: Rc<EngineCell>,
    lines: Rc<Lines>,
    pub(super) compression: Option<CompressionConfig>,
}

impl NativeEngine {
    /// An empty engine whose clock counts from `epoch`.
    pub fn new(config: EngineConfig, epoch: Instant, lines: Rc<Lines>) -> Self {
        let core = Engine::new(EngineOptions {
            namespace: config.namespace,
            local_max_size: whole(config.local_max_size),
            eviction: if config.tiny_lfu {
                Eviction::TinyLfu
            } else {
                Eviction::Lru
            },
            remote: config.remote != RemoteKind::None,
            // Only the real clock can be kept by the I/O thread.
            times_reads: config.remote != RemoteKind::Native || config.installed_clock,
            shadow_max_in_flight: usize::try_from(whole(config.shadow_max_in_flight)).unwrap_or(usize::MAX),
        });
        let cell = Rc::new(EngineCell {
            core: RefCell::new(core),
            clock: Clock::new(epoch, config.installed_clock),
            observed: config.observed,
            reader: RefCell::default(),
            refused: RefCell::default(),
        });
        Self {
            cell,
            lines,
            compression: config.compression,
        }
    }
}

#[napi]
impl NativeEngine {
    /// Reads and writes through a native client from now on. Answers this engine's number in the
    /// hub's events.
    #[napi(catch_unwind)]
    pub fn attach(&self, client: &NativeClient) -> napi::Result<u32> {
        let number = self.lines.enrol(&self.cell).ok_or_else(|| {
            napi::Error::from_reason("more than 65,535 DialCache instances are in use in this thread")
        })?;
        let reader = Reader {
            client: client.client().clone(),
            lines: Rc::clone(&self.lines),
            number,
        };
        self.cell.reader.replace(Some(reader));
        Ok(number.into())
    }

    /// Registers a use case and answers its number.
    #[napi(catch_unwind)]
    pub fn register(&self, config: UseCaseConfig) -> napi::Result<u32> {
        let options = UseCaseOptions {
            key_type: &config.key_type,
            use_case: &config.use_case,
            tracked: config.tracked,
            call: config.call.into(),
        };
        let registered = self.cell.core.borrow_mut().register(&options);
        registered
            .map(|use_case| use_case.0)
            .map_err(|error| napi::Error::from_reason(error.to_string()))
    }

    /// Makes the fast lookup of a use case: `(id: string, args?: string) => number`.
    #[napi(catch_unwind, ts_return_type = "(id: string, args?: string) => number")]
    pub fn lookup_function<'env>(&self, env: &'env Env, use_case: u32) -> napi::Result<Unknown<'env>> {
        raw::lookup_function(env, Rc::clone(&self.cell), UseCaseId(use_case))
    }

    /// Makes the function that tells a step: `(flight: number, detail?: number) => number`.
    #[napi(catch_unwind, ts_return_type = "(flight: number, detail?: number) => number")]
    pub fn step_function<'env>(&self, env: &'env Env, step: Step) -> napi::Result<Unknown<'env>> {
        raw::step_function(env, Rc::clone(&self.cell), steps::run(step))
    }

    /// Like the lookup function, for a call with options of its own.
    #[napi(catch_unwind)]
    pub fn begin(&self, use_case: u32, id: String, args: String, call: CallConfig) -> i32 {
        self.cell.begin(UseCaseId(use_case), Some(&call.into()), &id, &args)
    }

    /// A call that no key or no policy could be made for. Answers the flight that runs its source.
    #[napi(catch_unwind)]
    pub fn begin_uncached(&self, use_case: u32, call: CallConfig) -> u32 {
        let now = self.cell.clock.now();
        let mut core = self.cell.core.borrow_mut();
        core.begin_uncached(UseCaseId(use_case), Some(&call.into()), now).0
    }

    /// What happened at each layer in the latest lookup.
    #[napi(catch_unwind)]
    pub fn trace(&self) -> u32 {
        codes::trace(self.cell.core.borrow().trace())
    }

    /// Why the native client refused the latest read.
    #[napi(catch_unwind)]
    pub fn take_refused(&self) -> Option<Failure> {
        self.cell.refused.take().map(Failure::from)
    }

    /// The Redis key of a flight's value.
    #[napi(catch_unwind)]
    pub fn value_key(&self, flight: u32) -> String {
        self.cell.core.borrow().value_key(FlightId(flight)).unwrap_or_default()
    }

    /// Writes the flight's value through the native client, in the background. A failure that is
    /// known at once is returned.
    #[napi(catch_unwind)]
    pub fn write(&self, flight: u32, payload: Either<String, Buffer>, created_at_ms: f64) -> Option<Failure> {
        let id = FlightId(flight);
        let mut core = self.cell.core.borrow_mut();
        let reader = self.cell.reader.borrow();
        let (Some(reader), Some(current)) = (&*reader, core.flight(id)) else {
            core.write_settled(id, WriteResult::Failed, self.cell.clock.now());
            return Some(Failure {
                kind: "internal".into(),
                message: "there is no flight or no native client to write with, which is a bug".into(),
            });
        };
        let generation = current.generation;
        let request = WriteRequest {
            value_key: core.value_key(id).unwrap_or_default(),
            watermark_key: core.watermark_key(id),
            ttl_ms: current.remote_ttl_ms,
            payload: to_payload(payload),
            envelope: Envelope::Ours,
            compression: self.compression.map(Into::into),
            created_at_ms: whole(created_at_ms),
        };
        match reader.write(id, generation, request) {
            Ok(()) => None,
            Err(error) => {
                core.write_settled(id, WriteResult::Failed, self.cell.clock.now());
                Some(error.into())
            }
        }
    }

    /// The Redis key of the watermark of a flight's id; absent for untracked keys.
    #[napi(catch_unwind)]
    pub fn watermark_key(&self, flight: u32) -> Option<String> {
        self.cell.core.borrow().watermark_key(FlightId(flight))
    }

    /// An id was invalidated: drops its tracked entries here and bars what is being loaded for it. Answers the
    /// watermark's Redis key.
    #[napi(catch_unwind)]
    pub fn invalidate(&self, key_type: String, id: String) -> napi::Result<String> {
        let key = self.cell.core.borrow_mut().invalidate(&key_type, &id);
        key.map_err(|error| napi::Error::from_reason(error.to_string()))
    }

    /// How long Redis keeps the flight's value, in milliseconds.
    #[napi(catch_unwind)]
    pub fn remote_ttl_ms(&self, flight: u32) -> f64 {
        let core = self.cell.core.borrow();
        core.flight(FlightId(flight))
            .map_or(0.0, |flight| float(flight.remote_ttl_ms))
    }

    /// The next deadline that is due, packed; -1 when none is.
    #[napi(catch_unwind)]
    pub fn pop_due(&self) -> i32 {
        let now = self.cell.clock.now();
        codes::due(self.cell.core.borrow_mut().pop_due(now))
    }

    /// What the timer has to be from now on.
    #[napi(catch_unwind)]
    pub fn timer(&self) -> TimerState {
        let now = self.cell.clock.now();
        let timer = self.cell.core.borrow_mut().timer();
        TimerState {
            delay_ms: timer.at.map(|at| clock::ms_until(at, now)),
            referenced: timer.referenced,
        }
    }

    /// Slots to clear; they are used again afterwards.
    #[napi(catch_unwind)]
    pub fn take_freed(&self) -> Vec<u32> {
        self.cell
            .core
            .borrow_mut()
            .take_freed()
            .into_iter()
            .map(|slot| slot.0)
            .collect()
    }

    /// Turns the Redis layer off. Answers the flights whose reads fail by that.
    #[napi(catch_unwind)]
    pub fn close_remote(&self) -> Vec<u32> {
        let now = self.cell.clock.now();
        let failed = self.cell.core.borrow_mut().close_remote(now);
        failed.into_iter().map(|flight| flight.0).collect()
    }

    /// Sets an installed clock, in milliseconds.
    #[napi(catch_unwind)]
    pub fn set_now(&self, ms: f64) {
        self.cell.clock.set(ms);
    }

    /// Facts of this moment.
    #[napi(catch_unwind)]
    pub fn gauges(&self) -> EngineGauges {
        figures::gauges(&self.cell.core.borrow(), self.cell.clock.now())
    }

    /// Reads what this engine counts.
    #[napi(catch_unwind)]
    pub fn counters(&self) -> CounterReader {
        CounterReader::new(&self.cell.core.borrow())
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "JavaScript's numbers; counts stay far below 2^53"
)]
pub const fn float(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "JavaScript has checked that it is a whole number, and the cast saturates"
)]
pub const fn whole(number: f64) -> u64 {
    number as u64
}

pub const fn millis(ms: f64) -> Duration {
    Duration::from_millis(whole(ms))
}
