//! Calls: who hits, who joins, who leads.

use super::super::*;
use super::story::{Leader, Stage, off};
use super::{IDS, USE_CASES, World, name};

impl World {
    pub(super) fn call(&mut self, use_case: usize, id: usize) {
        let begin = begin(&mut self.engine, self.use_cases[use_case], IDS[id], self.now);
        let now = self.now;
        let policies = &USE_CASES[use_case];
        let mut key = format!("urn:id:{}", IDS[id]);
        if policies.tracked {
            key = format!("{{{key}}}");
        }
        let key = format!("{key}#{}", name(use_case));
        let local_off = off(policies.local, policies.ramp_local, &key, "local");
        let remote_off = off(policies.remote, policies.ramp_remote, &key, "remote");
        let reads = !self.closed && remote_off.is_none();
        let shared = policies.coalesce && (local_off.is_none() || reads);
        // A layer without room is off, however well or badly it is configured.
        let local_off = if self.room {
            local_off
        } else {
            Some(OffReason::PolicyDisabled)
        };

        let mut trace = Trace::default();
        if let Some(reason) = local_off {
            trace.local = LayerTrace::Off(reason);
            self.events.tell(use_case, Counter::local_off(reason));
        }
        let same = |leader: &&mut Leader| leader.use_case == use_case && leader.id == id && leader.joinable(now);
        if let Some(leader) = self.leaders.iter_mut().rev().find(same).filter(|_| shared) {
            assert_eq!(begin, Begin::Join(leader.flight));
            if leader.unanswered() {
                leader.followers += 1;
            }
            self.events.tell(use_case, Counter::Coalesced);
            assert_eq!(self.engine.trace(), trace);
            return;
        }
        if local_off.is_none() {
            self.events.tell(use_case, Counter::LocalRequest);
            let known = self.local.get(&(use_case, id)).filter(|local| now < local.expires);
            if let Some(local) = known {
                let Begin::Hit(slot) = begin else {
                    panic!("{begin:?} instead of a hit");
                };
                assert_eq!(self.slots[&slot], local.value);
                trace.local = LayerTrace::Hit;
                self.events.tell(use_case, Counter::LocalHit);
                assert_eq!(self.engine.trace(), trace);
                return;
            }
            trace.local = LayerTrace::Miss;
            self.events.tell(use_case, Counter::LocalMiss);
        }
        match remote_off {
            _ if self.closed => {}
            None => {
                trace.remote = LayerTrace::Miss;
                self.events.tell(use_case, Counter::RemoteRequest);
                self.events.tell(use_case, Counter::ReadDeadlineArmed);
            }
            Some(reason) => {
                trace.remote = LayerTrace::Off(reason);
                self.events.tell(use_case, Counter::remote_off(reason));
            }
        }
        assert_eq!(self.engine.trace(), trace);
        let flight = match begin {
            Begin::Read(flight) if reads => flight,
            Begin::Source(flight) if !reads => flight,
            other => panic!("{other:?} instead of a leader"),
        };
        self.reads += u64::from(reads);
        self.lead(Leader {
            flight,
            use_case,
            id,
            started: now,
            followers: 0,
            stage: Stage::Reading,
            local: local_off.is_none(),
            read: reads,
            shared,
            tracked: policies.tracked,
            clean: false,
            value: self.leaders.len(),
            invalidated: false,
            kept: false,
            linger_armed: false,
        });
    }

    pub(super) fn uncached(&mut self, use_case: usize) {
        let flight = self.engine.begin_uncached(self.use_cases[use_case], None, self.now);
        assert_eq!(self.engine.trace(), Trace::default());
        self.lead(Leader {
            flight,
            use_case,
            id: usize::MAX,
            started: self.now,
            followers: 0,
            stage: Stage::Reading,
            local: false,
            read: false,
            shared: false,
            tracked: false,
            clean: false,
            value: self.leaders.len(),
            invalidated: false,
            kept: false,
            linger_armed: false,
        });
    }

    fn lead(&mut self, leader: Leader) {
        let reads = leader.read;
        self.leaders.push(leader);
        if !reads {
            self.start_source(self.leaders.len() - 1);
        }
    }

    /// Braces could be taken for a tracked key's own. What a call cannot be named by it does not count.
    pub(super) fn bad_key(&mut self, use_case: usize) {
        if USE_CASES[use_case].tracked {
            let begin = self.engine.begin(self.use_cases[use_case], None, "{1}", "", self.now);
            assert!(begin.is_err());
        }
    }
}
