//! What the engine is told of a leader's call, step by step: one number in, one number out.

use napi_derive::napi;

use super::cell::EngineCell;
use super::codes;
use super::passage::Passed;
use crate::core::chain::ReadResult;
use crate::core::engine::WriteResult;
use crate::core::flight::FlightId;

/// A step, and the detail told with it.
#[napi]
#[derive(Clone, Copy)]
pub enum Step {
    /// A read that JavaScript made has settled: 0 hit, 1 miss, anything else a failure. Answers a
    /// [`codes::Reply`].
    ReadSettled = 0,
    /// The serializer rejected the payload. Answers 1 when the call still waits.
    LoadFailed = 1,
    /// The serializer made a value of the payload. Answers as [`codes::settled`].
    Loaded = 2,
    /// The source begins. Answers 1 when the timer must be set anew.
    SourceStarted = 3,
    /// The source settled: 1 with a value, 0 with a failure. Answers as [`codes::settled`].
    SourceSettled = 4,
    /// The value could not be dumped.
    DumpFailed = 5,
    /// A write that JavaScript made has settled: 0 stored, 1 fenced, anything else a failure. Answers
    /// as [`codes::settled`]: a tracked value may have been placed.
    WriteSettled = 6,
    /// Nothing happened. Answers 1 when the timer must be set anew.
    TimerChanged = 7,
    /// Nothing happened. Answers 1 while the flight's read is pending.
    Reading = 8,
    /// JavaScript had the payload taken out of its envelope: a [`Passed`].
    Opened = 9,
    /// JavaScript had the payload put into its envelope: a [`Passed`].
    Sealed = 10,
}

/// Tells a flight's engine.
pub type Run = fn(&EngineCell, FlightId, u32) -> i32;

/// The function of a step.
pub const fn run(step: Step) -> Run {
    match step {
        Step::ReadSettled => read_settled,
        Step::LoadFailed => load_failed,
        Step::Loaded => loaded,
        Step::SourceStarted => source_started,
        Step::SourceSettled => source_settled,
        Step::DumpFailed => dump_failed,
        Step::WriteSettled => write_settled,
        Step::TimerChanged => timer_changed,
        Step::Reading => reading,
        Step::Opened => opened,
        Step::Sealed => sealed,
    }
}

fn read_settled(cell: &EngineCell, flight: FlightId, result: u32) -> i32 {
    let result = match result {
        0 => ReadResult::Hit,
        1 => ReadResult::Miss,
        _ => ReadResult::Failed,
    };
    codes::reply(cell.core.borrow_mut().read_settled(flight, result, cell.clock.now()))
}

fn load_failed(cell: &EngineCell, flight: FlightId, _: u32) -> i32 {
    cell.core.borrow_mut().load_failed(flight).into()
}

fn loaded(cell: &EngineCell, flight: FlightId, _: u32) -> i32 {
    let mut core = cell.core.borrow_mut();
    let slot = core.loaded(flight, cell.clock.now());
    codes::placed(slot, &core)
}

fn source_started(cell: &EngineCell, flight: FlightId, _: u32) -> i32 {
    let mut core = cell.core.borrow_mut();
    core.source_started(flight, cell.clock.now());
    core.timer_changed().into()
}

fn source_settled(cell: &EngineCell, flight: FlightId, ok: u32) -> i32 {
    let mut core = cell.core.borrow_mut();
    let settled = core.source_settled(flight, ok != 0, cell.clock.now());
    codes::settled(settled, core.timer_changed(), core.has_freed())
}

fn dump_failed(cell: &EngineCell, flight: FlightId, _: u32) -> i32 {
    cell.core.borrow_mut().dump_failed(flight);
    0
}

fn write_settled(cell: &EngineCell, flight: FlightId, result: u32) -> i32 {
    let result = match result {
        0 => WriteResult::Stored,
        1 => WriteResult::Fenced,
        _ => WriteResult::Failed,
    };
    let mut core = cell.core.borrow_mut();
    let slot = core.write_settled(flight, result, cell.clock.now());
    codes::placed(slot, &core)
}

fn reading(cell: &EngineCell, flight: FlightId, _: u32) -> i32 {
    cell.core.borrow().is_reading(flight).into()
}

fn timer_changed(cell: &EngineCell, _: FlightId, _: u32) -> i32 {
    cell.core.borrow().timer_changed().into()
}

fn opened(cell: &EngineCell, flight: FlightId, passed: u32) -> i32 {
    cell.core.borrow().opened(flight, Passed::as_opened(passed));
    0
}

fn sealed(cell: &EngineCell, flight: FlightId, passed: u32) -> i32 {
    cell.core.borrow().sealed(flight, Passed::as_sealed(passed));
    0
}
