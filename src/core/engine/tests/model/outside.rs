//! What comes from outside a leader's call: invalidations, time, the end of the Redis layer.

use std::collections::HashMap;

use super::super::*;
use super::story::{Leader, Stage};
use super::{IDS, USE_CASES, World};

impl World {
    pub(super) fn invalidate(&mut self, id: usize) {
        self.engine.invalidate("id", IDS[id]).unwrap();
        self.local
            .retain(|(use_case, other), _| *other != id || !USE_CASES[*use_case].tracked);
        for leader in &mut self.leaders {
            if leader.id == id && leader.tracked && leader.stage != Stage::Over {
                leader.invalidated = true;
                leader.linger_armed = false;
            }
        }
    }

    pub(super) fn fire(&mut self) {
        let mut due: HashMap<FlightId, Due> = HashMap::new();
        while let Some(next) = self.engine.pop_due(self.now) {
            let (Due::Read(flight) | Due::Source(flight) | Due::Linger(flight)) = next else {
                panic!("neither hedged nor shadowed: {next:?}");
            };
            due.insert(flight, next);
        }
        let now = self.now;
        let over = |leader: &Leader| leader.deadline().is_some_and(|deadline| now >= deadline);
        let expected: Vec<usize> = (0..self.leaders.len()).filter(|n| over(&self.leaders[*n])).collect();
        assert_eq!(due.len(), expected.len());
        for n in expected {
            let flight = self.leaders[n].flight;
            let kind = match self.leaders[n].stage {
                Stage::Reading => Due::Read(flight),
                Stage::Sourcing { .. } => Due::Source(flight),
                _ => Due::Linger(flight),
            };
            assert_eq!(due[&flight], kind);
            match kind {
                Due::Read(_) => {
                    self.tell(n, Counter::ReadTimeout);
                    self.start_source(n);
                }
                Due::Source(_) => {
                    self.tell(n, Counter::SourceTimeout);
                    self.leaders[n].stage = Stage::Over;
                }
                _ => self.leaders[n].linger_armed = false,
            }
        }
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
        let mut failed = self.engine.close_remote(self.now);
        let reading = |n: &usize| self.leaders[*n].stage == Stage::Reading;
        let expected: Vec<usize> = (0..self.leaders.len()).filter(reading).collect();
        let mut flights: Vec<FlightId> = expected.iter().map(|n| self.leaders[*n].flight).collect();
        failed.sort_unstable_by_key(|flight| flight.0);
        flights.sort_unstable_by_key(|flight| flight.0);
        assert_eq!(failed, flights);
        for n in expected {
            let late = self.leaders[n].read_is_late(self.now);
            self.tell(
                n,
                if late {
                    Counter::ReadTimeout
                } else {
                    Counter::ReadFailed
                },
            );
            self.start_source(n);
        }
    }
}
