//! When an operation hedges, and what may deny it.
//!
//! At the right delay as many hedges are due as the budget earns. But they are due in bursts, so the
//! budget runs empty now and then, and whoever is denied then is a straggler as likely as not: one
//! denial in twenty is enough to lose the p99.9. Two things keep that from happening, and neither
//! makes the budget any wider.
//!
//! While the budget is low, the `"auto"` delay is longer: hedges that come a little later hardly cost
//! anything, and fewer are wanted. And a hedge that only the budget denies is not lost: it waits, and
//! starts when the calls that follow have earned it, if by then the answer is still not there.

use super::super::Nanos;
use super::super::hedge::window::LatencyWindow;
use super::figures::HedgeEvent;
use super::operations::NextHedge;
use super::plan::HedgePlan;
use super::state::Source;
use super::step::{Action, AttemptKind, Event, OpId, Step};

impl Source {
    /// After how long a call that begins now is hedged; `None` when the source does not hedge.
    pub fn hedge_delay(&mut self, now: Nanos) -> Option<Nanos> {
        let plan = self.plan(None).hedge?;
        Some(self.delay_of(plan, now))
    }

    /// The user's gate has answered [`Action::AskGate`]. To be told at once.
    pub fn gate(&mut self, op: OpId, allowed: bool, now: Nanos, out: &mut Vec<Step>) {
        let Some(operation) = self.operation(op) else {
            return;
        };
        let NextHedge::Asking { again } = operation.next_hedge else {
            return;
        };
        self.consider(op, allowed, again, now, out);
        self.rearm(op);
    }

    /// Plans the hedge beside the attempts that run.
    pub(super) fn plan_hedge(&mut self, op: OpId, now: Nanos) {
        let plan = self.operation(op).and_then(|operation| operation.hedge_left());
        let next = plan.map_or(NextHedge::None, |plan| {
            NextHedge::At(now.saturating_add(self.delay_of(plan, now)))
        });
        if let Some(operation) = self.operation(op) {
            operation.next_hedge = next;
            operation.hedge_from = now;
        }
    }

    /// The delay of a hedge is over, unless the budget is so low that it is longer.
    pub(super) fn delay_over(&mut self, op: OpId, now: Nanos, out: &mut Vec<Step>) {
        let fullness = self.budget.fullness();
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        let auto = operation.plan.hedge.is_some_and(|plan| plan.delay.is_none());
        if auto
            && let Some(window) = &mut self.window
            && let Some(delay) = window.quantile(now)
        {
            let delay = stretched(delay, fullness);
            let at = operation.hedge_from.saturating_add(delay);
            if at > now {
                operation.next_hedge = NextHedge::At(at);
                return;
            }
        }
        self.hedge_due(op, now, out);
    }

    fn delay_of(&mut self, plan: HedgePlan, now: Nanos) -> Nanos {
        if let Some(delay) = plan.delay {
            return delay;
        }
        let window = self
            .window
            .get_or_insert_with(|| Box::new(LatencyWindow::new(self.window_options)));
        window.quantile(now).unwrap_or(plan.initial_delay)
    }

    /// A hedge is due: asks the user's gate when there is one.
    pub(super) fn hedge_due(&mut self, op: OpId, now: Nanos, out: &mut Vec<Step>) {
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        operation.hedges += 1;
        self.ask(op, false, now, out);
    }

    fn ask(&mut self, op: OpId, again: bool, now: Nanos, out: &mut Vec<Step>) {
        let asks = self.asks;
        let Some(operation) = self.operation(op) else {
            return;
        };
        operation.next_hedge = NextHedge::Asking { again };
        if asks {
            out.push(Step {
                op,
                action: Action::AskGate,
            });
        } else {
            self.consider(op, true, again, now, out);
        }
    }

    fn consider(&mut self, op: OpId, allowed: bool, again: bool, now: Nanos, out: &mut Vec<Step>) {
        let open = allowed && self.gate.allows(self.in_flight);
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        if operation.is_due(now) {
            // The timer that is set for the deadline settles the call.
            operation.next_hedge = NextHedge::None;
            self.figures.hedge(HedgeEvent::DeniedDeadline);
            return;
        }
        if !open {
            return self.denied(op, HedgeEvent::DeniedGate, now, out);
        }
        let Some(endpoint) = self.endpoints.for_hedge(&operation.plan, &operation.attempts) else {
            return self.denied(op, HedgeEvent::DeniedBreaker, now, out);
        };
        if !self.budget.withdraw() {
            return self.wait_for_budget(op, again, out);
        }
        let event = Event::Hedge {
            attempt: operation.attempts.len() + 1,
            endpoint,
            after: now.saturating_sub(operation.started_at),
        };
        out.push(Step {
            op,
            action: Action::Tell(event),
        });
        self.launch(op, AttemptKind::Hedge, endpoint, now, out);
    }

    /// This hedge does not start. The next one may.
    fn denied(&mut self, op: OpId, event: HedgeEvent, now: Nanos, out: &mut Vec<Step>) {
        self.figures.hedge(event);
        let racing = self
            .operation(op)
            .is_some_and(|operation| operation.attempts.any_running());
        if racing {
            self.plan_hedge(op, now);
        } else {
            self.reject_with_errors(op, out);
        }
    }

    fn wait_for_budget(&mut self, op: OpId, again: bool, out: &mut Vec<Step>) {
        if !again {
            self.figures.hedge(HedgeEvent::DeniedBudget);
        }
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        if operation.attempts.any_running() {
            operation.next_hedge = NextHedge::Waiting;
            self.waiting.push_back(op);
            if self.waiting.len() > 2 * self.operations.len() + FEW {
                let operations = &self.operations;
                self.waiting.retain(|op| operations.is_waiting(*op));
            }
        } else {
            self.reject_with_errors(op, out);
        }
    }

    /// A call has paid in: the hedge that has waited longest may start now.
    pub(super) fn serve_waiting(&mut self, now: Nanos, out: &mut Vec<Step>) {
        while self.budget.can_withdraw() {
            let Some(op) = self.waiting.pop_front() else {
                return;
            };
            if self.operations.is_waiting(op) {
                self.ask(op, true, now, out);
                self.rearm(op);
                if self.asks {
                    // One at a time: the answer decides whether the token is still there.
                    return;
                }
            }
        }
    }
}

/// So many operations that are over may stay in the queue, besides as many as are under way.
const FEW: usize = 64;
/// Below this part of the burst the budget counts as low.
const LOW: f64 = 0.6;
/// How much longer the delay is when nothing is left.
const STRETCH: f64 = 0.5;

/// The delay when the budget is so full, from 0 to 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a part of a delay, which need not be exact"
)]
fn stretched(delay: Nanos, fullness: f64) -> Nanos {
    let lack = ((LOW - fullness) / LOW).max(0.0);
    delay.saturating_add((delay as f64 * STRETCH * lack) as Nanos)
}
