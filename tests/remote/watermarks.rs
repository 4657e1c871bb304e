//! Random histories of one identity against a real server: writes in one go and in halves,
//! invalidations, expiries.

use std::cell::RefCell;
use std::thread;
use std::time::Duration;

use dialcache_native::core::envelope::Payload;
use dialcache_native::core::watermark::{Stamp, admits};
use dialcache_native::remote::{Client, ReadOutcome};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use redis::Commands;

use crate::support::{Harness, PATIENCE, Server, invalidation, text, tracked, tracked_write};

const STAMP: &str = include_str!("../../src/remote/scripts/stamp.lua");
const USE_CASES: [&str; 2] = ["get", "list"];
const WATERMARK: &str = "{id}#watermark";
const TTL_MS: u64 = 60_000;

/// One step. Loads are numbered by the step they began at.
#[derive(Clone, Debug)]
enum Step {
    /// A writer begins to load its value from the source.
    Load {
        writer: usize,
    },
    /// A writer stores what it loaded.
    Write {
        writer: usize,
    },
    /// The first half of a write.
    Place {
        writer: usize,
    },
    /// The second half of a write.
    Stamp {
        writer: usize,
    },
    Invalidate {
        buffer_ms: u64,
    },
    Read {
        use_case: usize,
    },
    /// A value's TTL ends.
    Expire {
        use_case: usize,
    },
    /// The server evicts the watermark, which it must not.
    LoseWatermark,
    Wait {
        ms: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let writer = 0..4_usize;
    let use_case = 0..USE_CASES.len();
    prop_oneof![
        4 => writer.clone().prop_map(|writer| Step::Load { writer }),
        3 => writer.clone().prop_map(|writer| Step::Write { writer }),
        3 => writer.clone().prop_map(|writer| Step::Place { writer }),
        4 => writer.prop_map(|writer| Step::Stamp { writer }),
        3 => prop_oneof![Just(0), 1..25_u64].prop_map(|buffer_ms| Step::Invalidate { buffer_ms }),
        6 => use_case.clone().prop_map(|use_case| Step::Read { use_case }),
        1 => use_case.prop_map(|use_case| Step::Expire { use_case }),
        1 => Just(Step::LoseWatermark),
        2 => (1..12_u64).prop_map(|ms| Step::Wait { ms }),
    ]
}

/// What one use case's key holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stored {
    Nothing,
    Placeholder { loaded: usize, nonce: u64 },
    Value { loaded: usize, created_at_ms: u64 },
}

/// The model: what is stored, and every invalidation so far with the step it happened at.
struct Model {
    stored: [Stored; USE_CASES.len()],
    watermark: Option<u64>,
    /// Step, watermark it left, whether the server still knows of it.
    invalidations: Vec<(usize, u64, bool)>,
    loaded: [usize; 4],
    nonces: [u64; 4],
}

struct World {
    server: Server,
    redis: redis::Connection,
    harness: Harness,
    client: Client,
    ticket: u64,
}

impl World {
    fn now(&mut self) -> u64 {
        let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(&mut self.redis).unwrap();
        seconds * 1000 + micros / 1000
    }

    fn next_ticket(&mut self) -> u64 {
        self.ticket += 1;
        self.ticket
    }

    fn watermark(&mut self) -> Option<u64> {
        self.redis.get(WATERMARK).unwrap()
    }

    fn stamp(&mut self, use_case: usize, nonce: u64) -> Stamp {
        let reply: i64 = redis::cmd("EVAL")
            .arg(STAMP)
            .arg(2)
            .arg(value_key(use_case))
            .arg(WATERMARK)
            .arg(nonce.to_be_bytes().as_slice())
            .arg(TTL_MS)
            .query(&mut self.redis)
            .unwrap();
        Stamp::from_reply(reply).expect("one of its replies")
    }

    fn run(&mut self, steps: &[Step]) -> Result<(), TestCaseError> {
        let () = redis::cmd("FLUSHALL").query(&mut self.redis).unwrap();
        let mut model = Model {
            stored: [Stored::Nothing; USE_CASES.len()],
            watermark: None,
            invalidations: Vec::new(),
            loaded: [0; 4],
            nonces: [0; 4],
        };
        for (now, step) in steps.iter().enumerate() {
            self.step(&mut model, now, step)?;
            prop_assert_eq!(self.watermark(), model.watermark);
        }
        Ok(())
    }

    fn step(&mut self, model: &mut Model, now: usize, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Load { writer } => model.loaded[writer] = now,
            Step::Write { writer } => {
                let use_case = writer % USE_CASES.len();
                let ticket = self.next_ticket();
                let request = tracked_write("id", USE_CASES[use_case], payload(model.loaded[writer]));
                let from = self.now();
                self.client.write(ticket, request).unwrap();
                let accepted = self.harness.written(ticket).unwrap();
                let stamp = if accepted { Stamp::Stamped } else { Stamp::Barred };
                let loaded = model.loaded[writer];
                self.settle(model, use_case, Some(loaded), stamp, from)?;
            }
            Step::Place { writer } => {
                let use_case = writer % USE_CASES.len();
                let nonce = (now as u64 + 1) << 8 | writer as u64;
                model.nonces[writer] = nonce;
                let frame = [
                    &[0],
                    nonce.to_be_bytes().as_slice(),
                    &[0],
                    payload(model.loaded[writer]).as_bytes(),
                ]
                .concat();
                let () = self.redis.pset_ex(value_key(use_case), frame, TTL_MS).unwrap();
                let loaded = model.loaded[writer];
                model.stored[use_case] = Stored::Placeholder { loaded, nonce };
            }
            Step::Stamp { writer } => {
                let use_case = writer % USE_CASES.len();
                let nonce = model.nonces[writer];
                let from = self.now();
                let stamp = self.stamp(use_case, nonce);
                let own = match model.stored[use_case] {
                    Stored::Placeholder { loaded, nonce: stored } if stored == nonce => Some(loaded),
                    _ => None,
                };
                self.settle(model, use_case, own, stamp, from)?;
            }
            Step::Invalidate { buffer_ms } => {
                let ticket = self.next_ticket();
                let from = self.now();
                self.client.invalidate(ticket, invalidation("id", buffer_ms)).unwrap();
                self.harness.invalidated(ticket).unwrap();
                let to = self.now();
                let watermark = self.watermark().expect("a watermark");
                let old = model.watermark.unwrap_or(0);
                prop_assert!(watermark >= old.max(from + buffer_ms) && watermark <= old.max(to + buffer_ms));
                let ttl: u64 = self.redis.pttl(WATERMARK).unwrap();
                let passed = self.now();
                prop_assert!(passed + ttl + 1 >= watermark + 60_000, "kept a minute longer");
                model.watermark = Some(watermark);
                model.invalidations.push((now, watermark, true));
            }
            Step::Read { use_case } => self.read(model, use_case)?,
            Step::Expire { use_case } => {
                let () = self.redis.del(value_key(use_case)).unwrap();
                model.stored[use_case] = Stored::Nothing;
            }
            Step::LoseWatermark => {
                let () = self.redis.del(WATERMARK).unwrap();
                model.watermark = None;
                for invalidation in &mut model.invalidations {
                    invalidation.2 = false;
                }
            }
            Step::Wait { ms } => thread::sleep(Duration::from_millis(ms)),
        }
        Ok(())
    }

    /// What a stamp that began at `from` did; `own` is when its placeholder's value was loaded, if
    /// that was still there.
    fn settle(
        &mut self,
        model: &mut Model,
        use_case: usize,
        own: Option<usize>,
        stamp: Stamp,
        from: u64,
    ) -> Result<(), TestCaseError> {
        let to = self.now();
        match stamp {
            Stamp::Barred => {
                prop_assert!(
                    model.watermark.is_some_and(|watermark| watermark >= from),
                    "barred by nothing"
                );
                if own.is_some() {
                    model.stored[use_case] = Stored::Nothing;
                    prop_assert!(!self.redis.exists::<_, bool>(value_key(use_case)).unwrap());
                }
            }
            Stamp::Stamped => {
                let raw: Vec<u8> = self.redis.get(value_key(use_case)).unwrap();
                let created_at_ms = u64::from_be_bytes(raw[1..9].try_into().unwrap());
                prop_assert_eq!(raw[0], 1);
                prop_assert!((from..=to).contains(&created_at_ms));
                match model.watermark {
                    Some(watermark) => prop_assert!(watermark < created_at_ms),
                    None => model.watermark = Some(created_at_ms - 1),
                }
                let (value, watermark): (u64, u64) = (
                    self.redis.pttl(value_key(use_case)).unwrap(),
                    self.redis.pttl(WATERMARK).unwrap(),
                );
                // The two are not asked at one moment.
                prop_assert!(watermark + 1_000 >= value + 60_000);
                let Some(loaded) = own else {
                    return Err(TestCaseError::fail("stamped what was not its own"));
                };
                model.stored[use_case] = Stored::Value { loaded, created_at_ms };
            }
            Stamp::PlaceholderLost => prop_assert!(own.is_none(), "its placeholder was there"),
        }
        Ok(())
    }

    fn read(&mut self, model: &Model, use_case: usize) -> Result<(), TestCaseError> {
        let ticket = self.next_ticket();
        let from = self.now();
        self.client
            .read(ticket, tracked("id", USE_CASES[use_case], Some(PATIENCE)))
            .unwrap();
        let hit = match self.harness.outcome(ticket) {
            ReadOutcome::Hit(hit) => Some(hit),
            ReadOutcome::Miss => None,
            ReadOutcome::Failed(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let watermark = model.watermark.map(|ms| ms.to_string().into_bytes());
        let Stored::Value { loaded, created_at_ms } = model.stored[use_case] else {
            prop_assert!(hit.is_none());
            return Ok(());
        };
        prop_assert_eq!(hit.is_some(), admits(watermark.as_deref(), created_at_ms));
        let Some(hit) = hit else { return Ok(()) };
        prop_assert_eq!(hit.payload, payload(loaded));
        prop_assert_eq!(hit.created_at_ms, created_at_ms);
        for (step, until, known) in &model.invalidations {
            if loaded <= *step && *known {
                prop_assert!(from > *until, "loaded before an invalidation, served inside its buffer");
                prop_assert!(created_at_ms > *until);
            }
        }
        Ok(())
    }
}

fn value_key(use_case: usize) -> String {
    format!("{{id}}#{}", USE_CASES[use_case])
}

fn payload(loaded: usize) -> Payload {
    text(&format!("loaded at {loaded}"))
}

#[test]
fn a_value_loaded_before_an_invalidation_is_never_served_within_its_buffer() {
    let server = Server::start();
    let (harness, client) = Harness::connected(&server.url());
    let redis = server.connection();
    let world = RefCell::new(World {
        server,
        redis,
        harness,
        client,
        ticket: 0,
    });
    let mut runner = TestRunner::new(Config {
        cases: 200,
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(&proptest::collection::vec(step(), 1..60), |steps| {
        world.borrow_mut().run(&steps)
    });
    drop(world.into_inner().server);
    outcome.unwrap();
}
