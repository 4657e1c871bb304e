//! What happened goes in, steps come out.

use super::super::Nanos;
use super::attempts::Attempt;
use super::figures::{AttemptOutcome, HedgeEvent};
use super::operations::{New, NextHedge, Phase};
use super::state::{Call, Source};
use super::step::{Action, AttemptKind, CancelReason, Event, OpId, Outcome, Rejection, Step};

impl Source {
    /// A call begins. Its steps are added to `out`; there is always at least one.
    pub fn start(&mut self, call: &Call, now: Nanos, out: &mut Vec<Step>) -> OpId {
        let own = call.plan.timeout.map(|timeout| now.saturating_add(timeout));
        let deadline = own.into_iter().chain(call.deadline).min();
        let op = self.operations.insert(&New {
            plan: call.plan,
            now,
            deadline,
            // Of two that end together, the one that was handed in is the one its owner looks at.
            deadline_given: call.deadline.is_some() && call.deadline == deadline,
        });
        if call.aborted {
            self.reject(op, Rejection::Aborted, out);
            return op;
        }
        if deadline.is_some_and(|deadline| deadline <= now) {
            self.expire(op, now, out);
            return op;
        }
        let Some(endpoint) = self.endpoints.primary(call.plan.failover, now) else {
            self.reject(op, Rejection::BreakerOpen, out);
            return op;
        };
        self.budget.deposit();
        self.launch(op, AttemptKind::Primary, endpoint, now, out);
        self.rearm(op);
        self.serve_waiting(now, out);
        op
    }

    /// An attempt has settled. What is not, or no longer, under way is ignored.
    ///
    /// At or after the operation's deadline it settles the call as a timeout, whatever it brought and
    /// whether or not the timer has fired.
    pub fn settled(&mut self, op: OpId, attempt: u32, outcome: Outcome, now: Nanos, out: &mut Vec<Step>) {
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        if operation.attempts.running_mut(attempt).is_none() {
            return;
        }
        if operation.is_due(now) {
            self.expire(op, now, out);
            return;
        }
        let answered = operation.phase == Phase::Answered;
        let ended = match outcome {
            Outcome::Ok => AttemptOutcome::Ok,
            Outcome::Transient | Outcome::Fatal => AttemptOutcome::Error,
        };
        let Some(ended) = self.end(op, attempt, ended, now) else {
            return;
        };
        if answered {
            self.close_when_idle(op);
            return;
        }
        match outcome {
            Outcome::Ok => self.win(op, attempt, &ended, now, out),
            Outcome::Fatal => {
                self.cancel_running(op, CancelReason::SiblingFailed, now, out);
                self.reject(op, Rejection::Attempt(attempt), out);
            }
            Outcome::Transient => self.failed(op, ended.endpoint, now, out),
        }
    }

    /// The caller aborted. Ignored once the call is settled.
    pub fn abort(&mut self, op: OpId, now: Nanos, out: &mut Vec<Step>) {
        match self.operations.get_mut(op) {
            Some(operation) if operation.phase != Phase::Answered => {
                self.cancel_running(op, CancelReason::Aborted, now, out);
                self.reject(op, Rejection::Aborted, out);
            }
            _ => {}
        }
    }

    /// The caller stopped waiting because it took too long, whatever the operation's own deadline is: its
    /// attempts ran into it all the same. Ignored once the call is settled.
    pub fn time_out(&mut self, op: OpId, now: Nanos, out: &mut Vec<Step>) {
        match self.operations.get_mut(op) {
            Some(operation) if operation.phase != Phase::Answered => self.expire(op, now, out),
            _ => {}
        }
    }

    /// When [`Source::advance`] has something to do.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        self.deadlines.next()
    }

    /// Time has passed: hedges, backoffs and deadlines that are due.
    pub fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        while let Some(slot) = self.deadlines.pop_due(now) {
            let Some(op) = self.operations.id_at(slot) else {
                continue;
            };
            if let Some(operation) = self.operations.get_mut(op) {
                operation.armed = None;
            }
            self.due(op, now, out);
        }
    }

    fn due(&mut self, op: OpId, now: Nanos, out: &mut Vec<Step>) {
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        if operation.is_due(now) {
            self.expire(op, now, out);
            return;
        }
        match (operation.phase, operation.next_hedge) {
            (Phase::BackingOff { until, backoff }, _) if until <= now => self.retry(op, backoff, now, out),
            (Phase::Racing, NextHedge::At(at)) if at <= now => self.delay_over(op, now, out),
            _ => {}
        }
        self.rearm(op);
    }

    /// Starts an attempt, and plans the hedge beside it.
    pub(super) fn launch(&mut self, op: OpId, kind: AttemptKind, endpoint: u32, now: Nanos, out: &mut Vec<Step>) {
        let permit = self.endpoints.begin(endpoint, now);
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        operation.phase = Phase::Racing;
        let attempt = operation.attempts.start(Attempt {
            kind,
            endpoint,
            started_at: now,
            permit,
            running: true,
        });
        self.in_flight += u32::from(kind != AttemptKind::Hedge);
        self.figures.started(kind);
        self.plan_hedge(op, now);
        out.push(Step {
            op,
            action: Action::Start {
                attempt,
                kind,
                endpoint,
            },
        });
    }

    /// A running attempt is over, in whatever way. Answers what it was.
    fn end(&mut self, op: OpId, number: u32, outcome: AttemptOutcome, now: Nanos) -> Option<Attempt> {
        let attempt = {
            let attempt = self.operations.get_mut(op)?.attempts.running_mut(number)?;
            attempt.running = false;
            *attempt
        };
        let is_hedge = attempt.kind == AttemptKind::Hedge;
        self.in_flight -= u32::from(!is_hedge);
        self.figures.ended(attempt.kind, outcome);
        if number == 1
            && let Some(window) = &mut self.window
        {
            window.record(now.saturating_sub(attempt.started_at), now);
        }
        if let (Some(permit), Some(breaker)) = (attempt.permit, self.endpoints.breaker_mut(attempt.endpoint)) {
            match outcome {
                AttemptOutcome::Ok => breaker.succeeded(permit, now),
                AttemptOutcome::Error | AttemptOutcome::Timeout => breaker.failed(permit, now),
                AttemptOutcome::Cancelled => breaker.cancelled(permit),
            }
        }
        if is_hedge && self.operations.get_mut(op)?.phase != Phase::Answered {
            match outcome {
                AttemptOutcome::Ok => self.figures.hedge(HedgeEvent::Won),
                AttemptOutcome::Error | AttemptOutcome::Timeout => self.figures.hedge(HedgeEvent::Failed),
                AttemptOutcome::Cancelled => self.figures.hedge(HedgeEvent::Lost),
            }
        }
        Some(attempt)
    }

    fn win(&mut self, op: OpId, attempt: u32, winner: &Attempt, now: Nanos, out: &mut Vec<Step>) {
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        operation.next_hedge = NextHedge::None;
        let (mut losers, mut lost_hedges, mut last_start) = (0, 0, 0);
        for loser in operation.attempts.running() {
            losers += 1;
            lost_hedges += u32::from(loser.kind == AttemptKind::Hedge);
            last_start = last_start.max(loser.started_at);
        }
        let margin = match losers {
            0 => 0,
            _ => now.saturating_sub(last_start.max(winner.started_at)),
        };
        let cancels = operation.plan.hedge.is_none_or(|hedge| hedge.cancel_loser);
        let won = Event::Winner {
            attempt,
            kind: winner.kind,
            endpoint: winner.endpoint,
            margin,
            losers,
        };
        out.push(Step {
            op,
            action: Action::Tell(won),
        });
        if cancels {
            self.cancel_running(op, CancelReason::Lost, now, out);
        } else {
            operation.phase = Phase::Answered;
            (0..lost_hedges).for_each(|_| self.figures.hedge(HedgeEvent::Lost));
        }
        out.push(Step {
            op,
            action: Action::Resolve { attempt },
        });
        self.close_when_idle(op);
    }

    pub(super) fn cancel_running(&mut self, op: OpId, reason: CancelReason, now: Nanos, out: &mut Vec<Step>) {
        let outcome = match reason {
            CancelReason::Deadline => AttemptOutcome::Timeout,
            CancelReason::Lost | CancelReason::SiblingFailed | CancelReason::Aborted => AttemptOutcome::Cancelled,
        };
        while let Some(attempt) = self.operations.get_mut(op).and_then(|op| op.attempts.next_running()) {
            self.end(op, attempt, outcome, now);
            out.push(Step {
                op,
                action: Action::Cancel { attempt, reason },
            });
        }
    }

    pub(super) fn close_when_idle(&mut self, op: OpId) {
        let running = self.operations.get_mut(op).is_some_and(|op| op.attempts.any_running());
        if running {
            self.rearm(op);
        } else {
            self.close(op);
        }
    }

    pub(super) fn close(&mut self, op: OpId) {
        if self
            .operations
            .get_mut(op)
            .is_some_and(|operation| operation.armed.is_some())
        {
            self.deadlines.disarm(op.slot);
        }
        self.operations.remove(op);
        if self.operations.len() == 0 {
            self.waiting.clear();
        }
    }

    /// Sets the operation's timer to what it waits for.
    pub(super) fn rearm(&mut self, op: OpId) {
        let Some(operation) = self.operations.get_mut(op) else {
            return;
        };
        let wanted = operation.wake_at();
        if wanted == operation.armed {
            return;
        }
        operation.armed = wanted;
        match wanted {
            Some(at) => self.deadlines.arm(op.slot, at, true),
            None => {
                self.deadlines.disarm(op.slot);
            }
        }
    }
}
