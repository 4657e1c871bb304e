use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[test]
fn deadlines_fall_due_earliest_first() {
    let mut deadlines = Deadlines::new();
    for (id, at) in [(0, 30), (1, 10), (2, 20)] {
        deadlines.arm(id, at, true);
    }
    assert_eq!(deadlines.next(), Some(10));
    assert_eq!(deadlines.pop_due(9), None);
    assert_eq!(deadlines.pop_due(10), Some(1), "due at the very instant");
    assert_eq!(deadlines.pop_due(10), None);
    assert_eq!(deadlines.pop_due(u64::MAX), Some(2));
    assert_eq!(deadlines.pop_due(u64::MAX), Some(0));
    assert_eq!(deadlines.pop_due(u64::MAX), None);
    assert_eq!(deadlines.next(), None);
}

#[test]
fn deadlines_of_one_instant_fall_due_in_the_order_they_were_armed() {
    let mut deadlines = Deadlines::new();
    let armed = [5, 3, 9, 0, 7, 1, 8, 2, 6, 4];
    for id in armed {
        deadlines.arm(id, 100, true);
    }
    let due: Vec<_> = std::iter::from_fn(|| deadlines.pop_due(100)).collect();
    assert_eq!(due, armed);
}

#[test]
fn arming_again_moves_the_deadline_and_its_turn() {
    let mut deadlines = Deadlines::new();
    deadlines.arm(0, 10, true);
    deadlines.arm(1, 10, true);
    deadlines.arm(0, 10, false);
    assert_eq!((deadlines.len(), deadlines.referenced_len()), (2, 1));
    assert_eq!(deadlines.get(0), Some(10));
    assert_eq!(deadlines.pop_due(10), Some(1));
    deadlines.arm(0, 50, true);
    assert_eq!(deadlines.pop_due(49), None);
    assert_eq!(deadlines.pop_due(50), Some(0));
}

#[test]
fn a_disarmed_deadline_never_falls_due() {
    let mut deadlines = Deadlines::new();
    assert!(!deadlines.disarm(3), "an id never seen");
    deadlines.arm(3, 10, true);
    assert!(deadlines.disarm(3));
    assert!(!deadlines.disarm(3));
    assert_eq!(deadlines.pop_due(u64::MAX), None);
    assert_eq!(deadlines.referenced_len(), 0);
    assert_eq!(deadlines.get(3), None);
    assert!(deadlines.is_empty());
}

#[test]
fn an_unreferenced_deadline_falls_due_like_any_other() {
    let mut deadlines = Deadlines::new();
    deadlines.arm(0, 10, false);
    assert_eq!((deadlines.len(), deadlines.referenced_len()), (1, 0));
    assert_eq!(deadlines.pop_due(10), Some(0));
}

#[derive(Debug, Clone)]
enum Step {
    Arm { id: u32, at: u64, referenced: bool },
    Disarm { id: u32 },
    Pop { now: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0..40_u32;
    prop_oneof![
        4 => (id.clone(), 0..50_u64, any::<bool>())
            .prop_map(|(id, at, referenced)| Step::Arm { id, at, referenced }),
        2 => id.prop_map(|id| Step::Disarm { id }),
        1 => (0..60_u64).prop_map(|now| Step::Pop { now }),
    ]
}

/// The obvious way: deadlines sorted by time and turn, searched by id.
#[derive(Debug, Default)]
struct Model {
    sorted: BTreeMap<(u64, usize), (u32, bool)>,
    turn: usize,
}

impl Model {
    fn disarm(&mut self, id: u32) -> bool {
        let before = self.sorted.len();
        self.sorted.retain(|_, armed| armed.0 != id);
        self.sorted.len() < before
    }

    fn arm(&mut self, id: u32, at: u64, referenced: bool) {
        self.disarm(id);
        self.turn += 1;
        self.sorted.insert((at, self.turn), (id, referenced));
    }

    fn pop(&mut self, now: u64) -> Option<u32> {
        let first = self.sorted.first_entry()?;
        (first.key().0 <= now).then(|| first.remove().0)
    }
}

proptest! {
    #[test]
    fn behaves_as_a_sorted_map(steps in prop::collection::vec(step(), 1..300)) {
        let mut deadlines = Deadlines::new();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Arm { id, at, referenced } => {
                    deadlines.arm(id, at, referenced);
                    model.arm(id, at, referenced);
                }
                Step::Disarm { id } => prop_assert_eq!(deadlines.disarm(id), model.disarm(id)),
                Step::Pop { now } => prop_assert_eq!(deadlines.pop_due(now), model.pop(now)),
            }
            prop_assert_eq!(deadlines.len(), model.sorted.len());
            prop_assert_eq!(deadlines.is_empty(), model.sorted.is_empty());
            prop_assert_eq!(deadlines.next(), model.sorted.keys().next().map(|key| key.0));
            let referenced = model.sorted.values().filter(|armed| armed.1).count();
            prop_assert_eq!(deadlines.referenced_len(), referenced);
        }
        while let Some(id) = model.pop(u64::MAX) {
            prop_assert_eq!(deadlines.pop_due(u64::MAX), Some(id));
        }
        prop_assert_eq!(deadlines.pop_due(u64::MAX), None);
    }
}
