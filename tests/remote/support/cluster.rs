//! Real clusters of `redis-server` processes.

use std::env;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dialcache_native::core::slot::slot;
use dialcache_native::remote::Options;

use super::{PATIENCE, Server};

/// Where the bus listens, above the port.
const BUS: u16 = 10_000;

/// Primaries and replicas; killed when dropped.
pub struct Cluster {
    pub servers: Vec<Server>,
}

impl Cluster {
    /// Three primaries. A dead one is noticed within about a second, and costs the others nothing.
    pub fn start() -> Self {
        Self::start_with(0, &[])
    }

    /// The same with so many replicas for each, and further arguments.
    pub fn start_with(replicas: usize, arguments: &[&str]) -> Self {
        let mut cluster = Self::launch(3 * (1 + replicas), arguments);
        cluster.join(replicas, &[]);
        cluster
    }

    /// Servers that do not know each other yet.
    pub fn launch(count: usize, arguments: &[&str]) -> Self {
        Self::launch_each(count, arguments, |_| {})
    }

    /// The same with something done to each before it starts.
    pub fn launch_each(count: usize, arguments: &[&str], prepare: impl Fn(&mut Server)) -> Self {
        let common = ["--cluster-enabled", "yes", "--cluster-node-timeout", "700"];
        let tolerant = [
            "--cluster-require-full-coverage",
            "no",
            "--cluster-replica-validity-factor",
            "0",
        ];
        let arguments = [&common, &tolerant, arguments].concat();
        let servers = (0..count).map(|_| {
            let mut server = Server::stopped(&arguments);
            server.port = port_with_bus();
            prepare(&mut server);
            server.launch();
            server
        });
        Self {
            servers: servers.collect(),
        }
    }

    /// Makes them one cluster. `how` goes to `redis-cli`.
    pub fn join(&mut self, replicas: usize, how: &[&str]) {
        let binary = env::var("REDIS_CLI").unwrap_or_else(|_| String::from("redis-cli"));
        let output = Command::new(binary)
            .args(["--cluster", "create"])
            .args(self.addresses())
            .args(["--cluster-replicas", &replicas.to_string(), "--cluster-yes"])
            .args(how)
            .stdin(Stdio::null())
            .output()
            .expect("run redis-cli");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
        let count = self.servers.len();
        for server in &self.servers {
            let mut redis = server.connection();
            until(|| {
                let info: String = cluster(&["INFO"]).query(&mut redis).unwrap();
                let nodes: String = cluster(&["NODES"]).query(&mut redis).unwrap();
                let replicas_known = nodes.lines().filter(|line| line.contains("slave")).count();
                info.contains("cluster_state:ok")
                    && nodes.lines().count() == count
                    && replicas_known == count - 3
                    && !nodes.contains("handshake")
            });
        }
        // A replica that was never in sync is not promoted.
        for server in &self.servers {
            let mut redis = server.connection();
            until(|| {
                let info: String = redis::cmd("INFO").arg("replication").query(&mut redis).unwrap();
                !info.contains("role:slave") || info.contains("master_link_status:up")
            });
        }
    }

    /// Every node's address.
    pub fn addresses(&self) -> Vec<String> {
        self.servers
            .iter()
            .map(|server| format!("127.0.0.1:{}", server.port))
            .collect()
    }

    /// Options for a client of the cluster.
    pub fn options(&self) -> Options {
        Options {
            nodes: self.addresses(),
            ..Options::default()
        }
    }

    /// The index of the server that serves a key, as `seen_by` has it.
    pub fn owner(&self, key: &str, seen_by: usize) -> Option<usize> {
        let mut redis = self.servers[seen_by].connection();
        let at = i64::from(slot(key));
        let ranges: Vec<redis::Value> = cluster(&["SLOTS"]).query(&mut redis).unwrap();
        ranges.iter().find_map(|range| {
            let redis::Value::Array(parts) = range else { return None };
            let [
                redis::Value::Int(first),
                redis::Value::Int(last),
                redis::Value::Array(node),
                ..,
            ] = parts.as_slice()
            else {
                return None;
            };
            let redis::Value::Int(port) = node[1] else { return None };
            let own = (*first..=*last).contains(&at);
            let index = self.servers.iter().position(|server| i64::from(server.port) == port);
            index.filter(|_| own)
        })
    }

    /// Marks a key's slot as on its way from one server to another.
    pub fn begin_move(&self, key: &str, from: usize, to: usize) {
        let slot = slot(key).to_string();
        let () = cluster(&["SETSLOT", &slot, "IMPORTING", &self.node_id(from)])
            .query(&mut self.servers[to].connection())
            .unwrap();
        let () = cluster(&["SETSLOT", &slot, "MIGRATING", &self.node_id(to)])
            .query(&mut self.servers[from].connection())
            .unwrap();
    }

    /// Moves one key.
    pub fn move_key(&self, key: &str, from: usize, to: usize) {
        let () = redis::cmd("MIGRATE")
            .arg("127.0.0.1")
            .arg(self.servers[to].port)
            .arg(key)
            .arg(0)
            .arg(5_000)
            .query(&mut self.servers[from].connection())
            .unwrap();
    }

    /// Gives a slot over. The old owner hears of it, the others by gossip.
    pub fn end_move(&self, key: &str, from: usize, to: usize) {
        let slot = slot(key).to_string();
        for index in [to, from] {
            let () = cluster(&["SETSLOT", &slot, "NODE", &self.node_id(to)])
                .query(&mut self.servers[index].connection())
                .unwrap();
        }
    }

    /// Moves a slot with all of its keys.
    pub fn move_slot(&self, key: &str, from: usize, to: usize) {
        self.begin_move(key, from, to);
        loop {
            let keys: Vec<String> = cluster(&["GETKEYSINSLOT", &slot(key).to_string(), "100"])
                .query(&mut self.servers[from].connection())
                .unwrap();
            if keys.is_empty() {
                break;
            }
            for key in keys {
                self.move_key(&key, from, to);
            }
        }
        self.end_move(key, from, to);
    }

    /// The name a server has in its cluster.
    pub fn node_id(&self, index: usize) -> String {
        cluster(&["MYID"]).query(&mut self.servers[index].connection()).unwrap()
    }
}

/// Waits for something that is going to happen.
pub fn until(mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < PATIENCE, "it does not happen");
        thread::sleep(Duration::from_millis(20));
    }
}

fn cluster(arguments: &[&str]) -> redis::Cmd {
    let mut command = redis::cmd("CLUSTER");
    command.arg(arguments);
    command
}

/// A free port whose bus port is free too. Below the range that the system gives out by itself.
fn port_with_bus() -> u16 {
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test processes run side by side.
    let start = 12_000 + u16::try_from(std::process::id() % 600).expect("small") * 15;
    loop {
        let port = start + NEXT.fetch_add(1, Ordering::Relaxed) % 9_000;
        let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if is_free(port) && is_free(port + BUS) {
            return port;
        }
    }
}
