//! Clusters under load whose nodes die, freeze and hand slots over.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dialcache_native::remote::{Client, ErrorKind, Event, Options, ReadOutcome, RemoteError, Status};

use crate::support::{Cluster, Harness, PATIENCE, invalidation, text, tracked, tracked_write, until};

/// Reads a second, all in all.
const RATE: u64 = 2_000;
const IDS: u64 = 300;

/// How a read ended, or why it was refused.
#[derive(Debug, PartialEq, Eq, Hash)]
enum End {
    Hit,
    Miss,
    Failed(ErrorKind),
    Due,
}

struct Load {
    harness: Harness,
    client: Client,
    next: u64,
    /// Reads under way or ended, with what they were about.
    reads: Vec<(u64, u64)>,
    refused: Vec<(u64, RemoteError)>,
    writes: Vec<u64>,
}

fn id(number: u64) -> String {
    format!("id{}", number % IDS)
}

impl Load {
    /// A client that has stored every id.
    fn new(options: Options) -> Self {
        let (harness, client) = Harness::connected_with(options);
        let mut load = Self {
            harness,
            client,
            next: 0,
            reads: Vec::new(),
            refused: Vec::new(),
            writes: Vec::new(),
        };
        for number in 0..IDS {
            load.write(number);
        }
        for ticket in std::mem::take(&mut load.writes) {
            assert!(load.harness.written(ticket).unwrap());
        }
        load
    }

    fn ticket(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn read(&mut self, number: u64) {
        let ticket = self.ticket();
        let request = tracked(&id(number), "get", Some(Duration::from_millis(250)));
        match self.client.read(ticket, request) {
            Ok(()) => self.reads.push((ticket, number % IDS)),
            Err(error) => self.refused.push((number % IDS, error)),
        }
    }

    fn write(&mut self, number: u64) {
        let ticket = self.ticket();
        let request = tracked_write(&id(number), "get", text(&id(number)));
        if self.client.write(ticket, request).is_ok() {
            self.writes.push(ticket);
        }
    }

    /// Reads at the rate, each tenth with a write beside it, for as long as `going`.
    fn run(&mut self, mut going: impl FnMut(Duration) -> bool) {
        let start = Instant::now();
        let mut sent = 0;
        while going(start.elapsed()) {
            let wanted = u64::try_from(start.elapsed().as_millis()).unwrap() * RATE / 1000;
            while sent < wanted {
                self.read(sent);
                if sent % 10 == 0 {
                    self.write(sent);
                }
                sent += 1;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Everything that has to end, counted by the ids' owner, who is given by number.
    fn ends(&mut self, owner: impl Fn(u64) -> usize) -> HashMap<(usize, End), usize> {
        let mut ends = HashMap::new();
        for (number, error) in std::mem::take(&mut self.refused) {
            *ends.entry((owner(number), End::Failed(error.kind))).or_default() += 1;
        }
        for (ticket, number) in std::mem::take(&mut self.reads) {
            let end = match self.harness.end_of(ticket) {
                Event::Read {
                    outcome: ReadOutcome::Hit(hit),
                    ..
                } => {
                    assert_eq!(hit.payload, text(&id(number)), "another id's value");
                    End::Hit
                }
                Event::Read {
                    outcome: ReadOutcome::Miss,
                    ..
                } => End::Miss,
                Event::Read {
                    outcome: ReadOutcome::Failed(error),
                    ..
                } => End::Failed(error.kind),
                Event::Due { .. } => End::Due,
                other => panic!("expected a read's end, got {other:?}"),
            };
            *ends.entry((owner(number), end)).or_default() += 1;
        }
        for ticket in std::mem::take(&mut self.writes) {
            // Success or failure: every write ends.
            let _ = self.harness.written(ticket);
        }
        ends
    }

    /// Whether every id is a hit. Those that are not are written.
    fn all_hit(&mut self) -> bool {
        let mut all = true;
        for number in 0..IDS {
            let ticket = self.ticket();
            let request = tracked(&id(number), "get", Some(PATIENCE));
            let is_sent = self.client.read(ticket, request).is_ok();
            if !is_sent || !matches!(self.harness.outcome(ticket), ReadOutcome::Hit(_)) {
                all = false;
                self.write(number);
            }
        }
        for ticket in std::mem::take(&mut self.writes) {
            let _ = self.harness.written(ticket);
        }
        all
    }
}

fn owners(cluster: &Cluster, seen_by: usize) -> HashMap<u64, usize> {
    (0..IDS)
        .map(|number| {
            let key = format!("{{{}}}", id(number));
            (number, cluster.owner(&key, seen_by).expect("every slot is served"))
        })
        .collect()
}

#[test]
fn a_killed_primary_is_replaced_by_its_replica_and_the_others_do_not_notice() {
    let mut cluster = Cluster::start_with(1, &[]);
    let mut load = Load::new(cluster.options());
    let owner = owners(&cluster, 1);
    let dead = owner[&0];
    let witness = (0..3).find(|index| *index != dead).unwrap();

    load.run(|passed| passed < Duration::from_millis(300));
    // Replicas have it too, but for what the last moments wrote.
    cluster.servers[dead].kill();
    let key = format!("{{{}}}", id(0));
    let mut promoted = None;
    load.run(|passed| {
        assert!(passed < PATIENCE, "no replica is promoted");
        if promoted.is_none() && cluster.owner(&key, witness).is_some_and(|owner| owner != dead) {
            promoted = Some(passed);
        }
        promoted.is_none_or(|at| passed < at + Duration::from_secs(1))
    });

    let ends = load.ends(|number| owner[&number]);
    for ((index, end), count) in &ends {
        if *index == dead {
            let is_open = matches!(
                end,
                End::Hit | End::Miss | End::Due | End::Failed(ErrorKind::Disconnected)
            );
            assert!(is_open, "{count} {end:?}");
        } else {
            assert!(
                matches!(end, End::Hit | End::Miss),
                "{count} {end:?} where nothing happened"
            );
        }
    }
    assert!(
        ends.get(&(dead, End::Failed(ErrorKind::Disconnected)))
            .is_some_and(|count| *count > 100)
    );
    until(|| load.all_hit());
    assert_eq!(load.client.status(), Status::Ready);
    let ticket = load.ticket();
    load.client.invalidate(ticket, invalidation(&id(0), 0)).unwrap();
    load.harness.invalidated(ticket).unwrap();

    // The old one comes back as a replica; nothing goes to it.
    cluster.servers[dead].launch();
    load.run(|passed| passed < Duration::from_secs(1));
    let ends = load.ends(|number| owner[&number]);
    assert!(
        ends.keys().all(|(_, end)| matches!(end, End::Hit | End::Miss)),
        "{ends:?}"
    );
}

#[test]
fn an_invalidation_outlasts_a_failover() {
    let mut cluster = Cluster::start_with(1, &[]);
    let (mut harness, client) = Harness::connected_with(Options {
        response_timeout: PATIENCE,
        ..cluster.options()
    });
    let dead = cluster.owner("{id}", 0).unwrap();
    cluster.servers[dead].kill();
    client.invalidate(1, invalidation("id", 60_000)).unwrap();
    harness.invalidated(1).unwrap();
    client.write(2, tracked_write("id", "get", text("value"))).unwrap();
    assert!(!harness.written(2).unwrap());
}

#[test]
fn a_frozen_primary_costs_its_own_slots_only() {
    let cluster = Cluster::start();
    let mut load = Load::new(Options {
        max_pending: 150,
        connect_timeout: Duration::from_millis(300),
        response_timeout: Duration::from_millis(400),
        ..cluster.options()
    });
    let owner = owners(&cluster, 1);
    let frozen = owner[&0];
    let witness = (0..3).find(|index| *index != frozen).unwrap();
    cluster.servers[frozen].freeze();
    load.run(|passed| passed < Duration::from_secs(2));
    let ends = load.ends(|number| owner[&number]);
    for ((index, end), count) in &ends {
        if *index != frozen {
            assert!(
                matches!(end, End::Hit | End::Miss),
                "{count} {end:?} where nothing happened"
            );
        }
    }
    // First its own budget fills up, then it is known to be dead.
    assert!(
        ends.contains_key(&(frozen, End::Failed(ErrorKind::Overloaded))),
        "{ends:?}"
    );
    assert!(
        ends.contains_key(&(frozen, End::Failed(ErrorKind::Disconnected))),
        "{ends:?}"
    );
    assert!(!ends.contains_key(&(frozen, End::Hit)), "{ends:?}");
    assert_eq!(load.client.status(), Status::Ready);

    cluster.servers[frozen].thaw();
    until(|| cluster.owner(&format!("{{{}}}", id(0)), witness) == Some(frozen));
    until(|| load.all_hit());
    assert_eq!(load.client.stats().pending, 0);
}

#[test]
fn slots_move_under_load_and_nobody_notices() {
    let cluster = Cluster::start();
    let mut load = Load::new(cluster.options());
    let keys: Vec<_> = (0..IDS).map(|number| format!("{{{}}}", id(number))).collect();
    let from = cluster.owner(&keys[0], 0).unwrap();
    let to = (from + 1) % 3;
    let moving: Vec<_> = keys
        .iter()
        .filter(|key| cluster.owner(key, 0) == Some(from))
        .take(60)
        .cloned()
        .collect();
    let cluster = &cluster;
    thread::scope(|scope| {
        let mover = scope.spawn(move || {
            for key in moving {
                cluster.move_slot(&key, from, to);
            }
        });
        load.run(|passed| passed < Duration::from_millis(300) || !mover.is_finished());
    });
    load.run(|passed| passed < Duration::from_millis(300));
    let ends = load.ends(|_| 0);
    assert!(
        ends.keys().all(|(_, end)| matches!(end, End::Hit | End::Miss)),
        "{ends:?}"
    );
    until(|| load.all_hit());
    assert!(cluster.owner(&keys[0], to) == Some(to));
    assert_eq!(load.client.status(), Status::Ready);
}

#[test]
fn a_reshard_by_the_clusters_own_tool_goes_by_unnoticed() {
    let cluster = Cluster::start();
    let mut load = Load::new(cluster.options());
    let binary = std::env::var("REDIS_CLI").unwrap_or_else(|_| String::from("redis-cli"));
    let mut tool = Command::new(binary)
        .args(["--cluster", "rebalance", &cluster.addresses()[0]])
        .args([
            "--cluster-weight",
            &format!("{}=2", cluster.node_id(2)),
            "--cluster-pipeline",
            "5",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("run redis-cli");
    load.run(|passed| passed < PATIENCE && tool.try_wait().unwrap().is_none());
    assert!(tool.wait().unwrap().success());
    let ends = load.ends(|_| 0);
    assert!(
        ends.keys().all(|(_, end)| matches!(end, End::Hit | End::Miss)),
        "{ends:?}"
    );
    until(|| load.all_hit());
}

#[test]
fn a_dead_cluster_is_down_and_comes_back_by_itself() {
    let mut cluster = Cluster::start();
    let mut load = Load::new(cluster.options());
    for server in &mut cluster.servers {
        server.kill();
    }
    load.harness.expect_status(Status::Reconnecting);
    for number in 0..50 {
        load.read(number);
    }
    let ends = load.ends(|_| 0);
    assert_eq!(ends, HashMap::from([((0, End::Failed(ErrorKind::Disconnected)), 50)]));
    for server in &mut cluster.servers {
        server.launch();
    }
    load.harness.expect_status(Status::Ready);
    until(|| load.all_hit());
    assert!(load.client.stats().reconnects >= 3);
}

#[test]
fn closing_ends_what_waits_on_any_node() {
    let cluster = Cluster::start();
    let mut load = Load::new(cluster.options());
    for server in &cluster.servers {
        server.freeze();
    }
    for number in 0..100 {
        load.read(number);
        load.write(number);
    }
    load.client.close();
    let ends = load.ends(|_| 0);
    assert_eq!(ends, HashMap::from([((0, End::Failed(ErrorKind::Closed)), 100)]));
    assert_eq!(load.client.stats().pending, 0);
    for server in &cluster.servers {
        server.thaw();
    }
}
