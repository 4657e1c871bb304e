//! Sources: one call of a function as several attempts at most.
//!
//! A [`Source`] holds what all calls of one source share: its latency window, its hedge budget, a
//! breaker for each endpoint, its counters, and its timers. Each call is an operation, known by its
//! [`OpId`]. The source is told what happened (a call began, an attempt settled, time passed, the
//! caller aborted) and answers with [`Step`]s: start this attempt, cancel that one, settle the call.
//! It runs nothing and reads no clock.
//!
//! The rules are those of one race: the first usable result wins, an error never wins over an attempt
//! that is pending, every attempt counts towards one maximum whatever started it, and nothing starts
//! at or after the deadline.

mod attempts;
pub mod breaker;
mod drive;
mod failing;
mod failover;
pub mod figures;
mod hedging;
mod operations;
pub mod options;
pub mod plan;
pub mod priority;
mod retry;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use failover::{FAIL_ON_STATUSES, Policy, fail_on_statuses};
pub use options::{
    BudgetOptions, CallOptions, FailoverOptions, HedgeDelay, HedgeOptions, Override, RetryOptions, SourceOptions,
};
pub use plan::Plan;
pub use priority::Priority;
pub use state::{Call, Source};
pub use step::{Action, AttemptKind, CancelReason, Event, OpId, Outcome, Rejection, Step};
