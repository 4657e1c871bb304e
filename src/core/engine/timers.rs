//! Which deadline comes next, and what one that is due means.

use super::super::Nanos;
use super::super::chain::{AfterRead, AfterSource};
use super::super::flight::FlightId;
use super::super::metrics::Counter;
use super::{AfterDelay, Due, Engine, Timer};

impl Engine {
    /// The next deadline that is due at `now`, if any.
    pub fn pop_due(&mut self, now: Nanos) -> Option<Due> {
        while let Some(number) = self.deadlines.pop_due(now) {
            let id = FlightId(number);
            let Some(flight) = self.flights.get_mut(id) else {
                continue;
            };
            let use_case = flight.use_case;
            if flight.chain.is_answered() && !flight.chain.is_reading() {
                self.flights.unlist(id);
                return Some(Due::Linger(id));
            }
            match flight.chain.source_due(now) {
                AfterSource::TimedOut => {
                    self.source_timed_out(id, use_case);
                    return Some(Due::Source(id));
                }
                AfterSource::TimedOutAwaitRead => {
                    self.hedge_failed(id, use_case, Counter::SourceTimeout);
                    return Some(Due::SourceAwaitRead(id));
                }
                _ => {}
            }
            if self.times_reads {
                match self.read_due(id, now) {
                    AfterRead::TimedOut => return Some(Due::Read(id)),
                    AfterRead::Over => return Some(Due::ReadOver(id)),
                    _ => {}
                }
                match self.hedge_due(id, now) {
                    AfterDelay::Hedge => return Some(Due::Hedge(id)),
                    AfterDelay::Denied => return Some(Due::HedgeDenied(id)),
                    AfterDelay::Stale => {}
                }
            }
        }
        self.shadows.pop_due(now).map(Due::Shadow)
    }

    /// Whether the caller's timer must be set anew: see [`Engine::timer`].
    #[must_use]
    pub fn timer_changed(&self) -> bool {
        let wanted = self.wanted_timer();
        match (self.announced.at, wanted.at) {
            (None, None) => false,
            (Some(set), Some(earliest)) if set <= earliest => {
                // A timer that fires early costs less than setting one for each deadline that ends.
                self.announced.referenced != wanted.referenced
            }
            _ => true,
        }
    }

    /// What the caller's timer has to be from now on.
    pub fn timer(&mut self) -> Timer {
        self.announced = self.wanted_timer();
        self.announced
    }

    fn wanted_timer(&self) -> Timer {
        Timer {
            at: match (self.deadlines.next(), self.shadows.next_due()) {
                (Some(call), Some(shadow)) => Some(call.min(shadow)),
                (call, shadow) => call.or(shadow),
            },
            referenced: self.deadlines.referenced_len() > 0,
        }
    }
}
