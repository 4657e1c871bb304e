//! How an operation goes on after a failure, and how it ends without a result.

use super::super::Nanos;
use super::figures::HedgeEvent;
use super::operations::{NextHedge, Phase};
use super::retry::backoff;
use super::state::Source;
use super::step::{Action, AttemptKind, CancelReason, Event, OpId, Rejection, Step};

impl Source {
    /// An attempt at an endpoint has failed in a way that another may not.
    pub(super) fn failed(&mut self, op: OpId, from: u32, now: Nanos, out: &mut Vec<Step>) {
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        if operation.attempts.any_running() {
            // What runs may hang: it is no reason to leave an endpoint untried.
            self.fail_over(op, from, now, out);
            return;
        }
        // A hedge runs beside something. What comes now is no hedge, and plans its own.
        operation.next_hedge = NextHedge::None;
        if operation.attempts.len() >= operation.plan.max_attempts {
            return self.reject_with_errors(op, out);
        }
        if self.fail_over(op, from, now, out) {
            return;
        }
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        if let Some(plan) = operation.plan.retry {
            let backoff = backoff(plan, operation.retries, &mut self.endpoints.random);
            let until = now.saturating_add(backoff);
            let fits = operation.deadline.is_none_or(|deadline| until < deadline);
            if !fits || !self.endpoints.lets_retry(&operation.plan, &operation.attempts, until) {
                return self.reject_with_errors(op, out);
            }
            operation.retries += 1;
            operation.phase = Phase::BackingOff { until, backoff };
        } else if operation.hedge_left().is_some() {
            // Nothing is left to wait for: the hedge starts now or not at all.
            self.hedge_due(op, now, out);
        } else {
            return self.reject_with_errors(op, out);
        }
        self.rearm(op);
    }

    /// Starts an attempt at another endpoint, if that is allowed and one is left.
    fn fail_over(&mut self, op: OpId, from: u32, now: Nanos, out: &mut Vec<Step>) -> bool {
        let Some(operation) = self.operations.get_mut(op) else {
            return false;
        };
        if operation.attempts.len() >= operation.plan.max_attempts {
            return false;
        }
        let Some(plan) = operation.plan.failover else {
            return false;
        };
        let Some(endpoint) = self.endpoints.alternate(plan, &operation.attempts, now) else {
            return false;
        };
        let event = Event::Failover {
            attempt: operation.attempts.len() + 1,
            from,
            endpoint,
        };
        out.push(Step {
            op,
            action: Action::Tell(event),
        });
        self.launch(op, AttemptKind::Failover, endpoint, now, out);
        self.rearm(op);
        true
    }

    pub(super) fn retry(&mut self, op: OpId, backoff: Nanos, now: Nanos, out: &mut Vec<Step>) {
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        let Some(endpoint) = self.endpoints.for_retry(&operation.plan, &operation.attempts, now) else {
            return self.reject_with_errors(op, out);
        };
        let event = Event::Retry {
            attempt: operation.attempts.len() + 1,
            endpoint,
            backoff,
        };
        out.push(Step {
            op,
            action: Action::Tell(event),
        });
        self.launch(op, AttemptKind::Retry, endpoint, now, out);
    }

    /// The operation's time is up.
    pub(super) fn expire(&mut self, op: OpId, now: Nanos, out: &mut Vec<Step>) {
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        let rejection = Rejection::Deadline {
            given: operation.deadline_given,
        };
        let answered = operation.phase == Phase::Answered;
        if matches!(operation.next_hedge, NextHedge::At(_)) {
            self.figures.hedge(HedgeEvent::DeniedDeadline);
        }
        self.cancel_running(op, CancelReason::Deadline, now, out);
        if answered {
            self.close_when_idle(op);
        } else {
            self.reject(op, rejection, out);
        }
    }

    /// Nothing is pending and nothing comes: one attempt's error is the call's own.
    pub(super) fn reject_with_errors(&mut self, op: OpId, out: &mut Vec<Step>) {
        let attempts = self.operations.get_mut(op).map_or(0, |op| op.attempts.len());
        let rejection = if attempts == 1 {
            Rejection::Attempt(1)
        } else {
            Rejection::Attempts
        };
        self.reject(op, rejection, out);
    }

    pub(super) fn reject(&mut self, op: OpId, rejection: Rejection, out: &mut Vec<Step>) {
        out.push(Step {
            op,
            action: Action::Reject(rejection),
        });
        self.close(op);
    }
}
