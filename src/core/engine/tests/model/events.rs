//! Which events fired: those the model told, against those the engine counted.

use std::collections::BTreeMap;

use super::super::*;

/// How often each event of each use case happened in one step; never 0.
type Fired = BTreeMap<(usize, String), i64>;

/// Both sides' events of the step that is under way.
#[derive(Default)]
pub(super) struct Events {
    told: Fired,
    counted: Vec<[u64; Counter::ALL.len()]>,
}

impl Events {
    /// The model says that something happened.
    pub fn tell(&mut self, use_case: usize, counter: Counter) {
        self.change(use_case, counter, 1);
    }

    /// The model says that something told in an earlier step did not come about.
    pub fn take_back(&mut self, use_case: usize, counter: Counter) {
        self.change(use_case, counter, -1);
    }

    fn change(&mut self, use_case: usize, counter: Counter, by: i64) {
        let name = (use_case, format!("{counter:?}"));
        let count = self.told.entry(name.clone()).or_default();
        *count += by;
        if *count == 0 {
            self.told.remove(&name);
        }
    }

    /// Ends the step: what the engine has counted since the one before must be what was told.
    pub fn compare(&mut self, engine: &Engine) {
        let mut fired = Fired::new();
        let all = engine.counted().all();
        self.counted.resize(all.len(), [0; Counter::ALL.len()]);
        for (use_case, (counted, before)) in all.iter().zip(&mut self.counted).enumerate() {
            for (counter, before) in Counter::ALL.into_iter().zip(before) {
                let now = counted.counters.get(counter);
                if now != *before {
                    let change = now.cast_signed() - before.cast_signed();
                    fired.insert((use_case, format!("{counter:?}")), change);
                    *before = now;
                }
            }
        }
        assert_eq!(fired, std::mem::take(&mut self.told), "events counted, and told");
    }
}
