//! What a source has counted.

use super::step::AttemptKind;

/// What happened to a hedge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum HedgeEvent {
    /// It started.
    Started,
    /// It brought the result.
    Won,
    /// Another attempt did, or the operation ended otherwise while it ran.
    Lost,
    /// It failed, or ran into the deadline.
    Failed,
    /// The budget had no token when it was due. It may still start, once calls have earned one.
    DeniedBudget,
    /// The user's gate or `maxInFlight` was against it.
    DeniedGate,
    /// No endpoint's breaker was closed.
    DeniedBreaker,
    /// The time was up when it was due.
    DeniedDeadline,
}

impl HedgeEvent {
    /// All of them, in the order of their names.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Started, "started"),
        (Self::Won, "won"),
        (Self::Lost, "lost"),
        (Self::Failed, "failed"),
        (Self::DeniedBudget, "denied_budget"),
        (Self::DeniedGate, "denied_gate"),
        (Self::DeniedBreaker, "denied_breaker"),
        (Self::DeniedDeadline, "denied_deadline"),
    ];
}

/// How an attempt ended, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum AttemptOutcome {
    /// With a usable result.
    Ok,
    /// With an error.
    Error,
    /// At the operation's deadline.
    Timeout,
    /// Because it was not wanted any more.
    Cancelled,
}

impl AttemptOutcome {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Ok, "ok"),
        (Self::Error, "error"),
        (Self::Timeout, "timeout"),
        (Self::Cancelled, "cancelled"),
    ];
}

impl AttemptKind {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Primary, "primary"),
        (Self::Hedge, "hedge"),
        (Self::Failover, "failover"),
        (Self::Retry, "retry"),
    ];
}

/// The counters of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    hedges: [u64; HedgeEvent::ALL.len()],
    attempts: [[u64; AttemptOutcome::ALL.len()]; AttemptKind::ALL.len()],
    started: [u64; AttemptKind::ALL.len()],
}

/// What the counters come to. Each is 0 while nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Hedges for each request.
    pub hedge_attempt_rate: f64,
    /// Requests that a hedge answered, of all requests.
    pub hedge_win_rate: f64,
    /// Hedges that won, of all hedges.
    pub hedge_race_win_ratio: f64,
    /// Attempts beyond the first of each request, for each request: what the policies cost the origin.
    pub origin_overhead: f64,
}

impl Figures {
    pub(super) const fn hedge(&mut self, event: HedgeEvent) {
        self.hedges[event as usize] += 1;
    }

    pub(super) const fn started(&mut self, kind: AttemptKind) {
        self.started[kind as usize] += 1;
        if matches!(kind, AttemptKind::Hedge) {
            self.hedge(HedgeEvent::Started);
        }
    }

    pub(super) const fn ended(&mut self, kind: AttemptKind, outcome: AttemptOutcome) {
        self.attempts[kind as usize][outcome as usize] += 1;
    }

    /// `hedge_total` of one event.
    #[must_use]
    pub const fn hedge_total(&self, event: HedgeEvent) -> u64 {
        self.hedges[event as usize]
    }

    /// `source_attempt_total` of one kind and outcome. Attempts under way are not in it yet.
    #[must_use]
    pub const fn attempt_total(&self, kind: AttemptKind, outcome: AttemptOutcome) -> u64 {
        self.attempts[kind as usize][outcome as usize]
    }

    /// Attempts of one kind that were started.
    #[must_use]
    pub const fn started_total(&self, kind: AttemptKind) -> u64 {
        self.started[kind as usize]
    }

    /// What the counters come to.
    #[must_use]
    pub fn rates(&self) -> Rates {
        let requests = self.started_total(AttemptKind::Primary);
        let hedges = self.hedge_total(HedgeEvent::Started);
        let won = self.hedge_total(HedgeEvent::Won);
        let attempts: u64 = self.started.iter().sum();
        Rates {
            hedge_attempt_rate: part(hedges, requests),
            hedge_win_rate: part(won, requests),
            hedge_race_win_ratio: part(won, hedges),
            origin_overhead: part(attempts - requests, requests),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure to look at")]
fn part(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_names_are_in_the_order_of_the_counters() {
        let hedges = HedgeEvent::ALL.iter().map(|(event, _)| *event as usize);
        assert!(hedges.eq(0..HedgeEvent::ALL.len()));
        let outcomes = AttemptOutcome::ALL.iter().map(|(outcome, _)| *outcome as usize);
        assert!(outcomes.eq(0..AttemptOutcome::ALL.len()));
        let kinds = AttemptKind::ALL.iter().map(|(kind, _)| *kind as usize);
        assert!(kinds.eq(0..AttemptKind::ALL.len()));
    }

    #[test]
    fn rates_are_per_request_and_the_race_per_hedge() {
        assert_eq!(Figures::default().rates(), Rates::default());
        let mut figures = Figures::default();
        for (kind, times) in [
            (AttemptKind::Primary, 100),
            (AttemptKind::Hedge, 10),
            (AttemptKind::Retry, 4),
            (AttemptKind::Failover, 1),
        ] {
            (0..times).for_each(|_| figures.started(kind));
        }
        (0..6).for_each(|_| figures.hedge(HedgeEvent::Won));
        let expected = Rates {
            hedge_attempt_rate: 0.1,
            hedge_win_rate: 0.06,
            hedge_race_win_ratio: 0.6,
            origin_overhead: 0.15,
        };
        assert_eq!(figures.rates(), expected);
    }
}
