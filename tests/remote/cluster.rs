//! Clusters whose nodes are all well: who is asked, and slots on their way.

use std::collections::HashSet;

use dialcache_native::core::slot::{SLOTS, slot};
use dialcache_native::remote::{Client, Credentials, ErrorKind, Options, ReadOutcome, Secret, Status};
use redis::Commands;

use crate::support::{
    Cluster, Harness, PATIENCE, Script, Server, invalidation, read, text, tracked, tracked_write, until, write,
};

/// Stores a tracked value.
fn store(harness: &mut Harness, client: &Client, ticket: u64, id: &str) {
    client.write(ticket, tracked_write(id, "get", text(id))).unwrap();
    assert!(harness.written(ticket).unwrap(), "{id}");
}

fn is_hit(harness: &mut Harness, client: &Client, ticket: u64, id: &str) -> bool {
    client.read(ticket, tracked(id, "get", Some(PATIENCE))).unwrap();
    match harness.outcome(ticket) {
        ReadOutcome::Hit(hit) => {
            assert_eq!(hit.payload, text(id));
            true
        }
        ReadOutcome::Miss => false,
        ReadOutcome::Failed(error) => panic!("{error}"),
    }
}

/// An id whose slot server `owner` serves.
fn id_of(cluster: &Cluster, owner: usize) -> String {
    (0..10_000)
        .map(|n| format!("id{n}"))
        .find(|id| cluster.owner(&format!("{{{id}}}"), 0) == Some(owner))
        .unwrap()
}

#[test]
fn every_slots_values_come_back_from_whoever_serves_it() {
    let cluster = Cluster::start();
    let (mut harness, client) = Harness::connected_with(cluster.options());
    let ids: Vec<_> = (0..200).map(|n| format!("id{n}")).collect();
    let owners: HashSet<_> = ids.iter().map(|id| cluster.owner(&format!("{{{id}}}"), 0)).collect();
    assert_eq!(owners.len(), 3);
    for (ticket, id) in (0..).step_by(10).zip(&ids) {
        store(&mut harness, &client, ticket, id);
        assert!(is_hit(&mut harness, &client, ticket + 1, id));
        client.invalidate(ticket + 2, invalidation(id, 60_000)).unwrap();
        harness.invalidated(ticket + 2).unwrap();
        assert!(!is_hit(&mut harness, &client, ticket + 3, id));
        client.write(ticket + 4, tracked_write(id, "get", text(id))).unwrap();
        assert!(!harness.written(ticket + 4).unwrap());

        client.write(ticket + 5, write(id, text(id))).unwrap();
        assert!(harness.written(ticket + 5).unwrap());
        client.read(ticket + 6, read(id, Some(PATIENCE))).unwrap();
        assert_eq!(harness.hit(ticket + 6).payload, text(id));
    }
    let stats = client.stats();
    assert_eq!((stats.pending, stats.pending_bytes, stats.last_error), (0, 0, None));
    assert_eq!((stats.reconnects, stats.failed_attempts), (0, 0));
}

#[test]
fn one_living_seed_is_enough_and_reads_wait_for_the_map() {
    let cluster = Cluster::start();
    let dead = Server::stopped(&[]);
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            nodes: vec![
                format!("127.0.0.1:{}", dead.port),
                format!("redis://{}", cluster.addresses()[1]),
            ],
            ..Options::default()
        })
        .unwrap();
    // Nothing is known yet.
    for ticket in 0..50 {
        client
            .read(ticket, tracked(&format!("id{ticket}"), "get", Some(PATIENCE)))
            .unwrap();
    }
    for ticket in 0..50 {
        assert!(matches!(harness.outcome(ticket), ReadOutcome::Miss));
    }
    harness.expect_status(Status::Ready);
}

#[test]
fn without_a_living_seed_requests_fail_at_once_until_there_is_one() {
    let mut cluster = Cluster::launch(1, &[]);
    let server = &mut cluster.servers[0];
    server.kill();
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            nodes: vec![format!("127.0.0.1:{}", server.port)],
            ..Options::default()
        })
        .unwrap();
    harness.expect_status(Status::Reconnecting);
    let refused = client.read(1, tracked("id", "get", Some(PATIENCE))).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Disconnected);
    assert_eq!(client.stats().last_error, Some(ErrorKind::Connect));

    server.launch();
    // A node that knows of no slots is no help.
    harness.until(&client, |stats| stats.last_error == Some(ErrorKind::Cluster));
    let () = redis::cmd("CLUSTER")
        .arg("ADDSLOTS")
        .arg((0..SLOTS).collect::<Vec<_>>())
        .query(&mut server.connection())
        .unwrap();
    harness.expect_status(Status::Ready);
    let mut tickets = 10..;
    until(|| {
        let ticket = tickets.next().unwrap();
        client.write(ticket, tracked_write("id", "get", text("id"))).unwrap();
        harness.written(ticket).is_ok()
    });
    assert!(is_hit(&mut harness, &client, 2, "id"));
}

#[test]
fn a_single_server_is_no_cluster_and_says_so() {
    let server = Server::start();
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            nodes: vec![format!("127.0.0.1:{}", server.port)],
            ..Options::default()
        })
        .unwrap();
    harness.expect_status(Status::Reconnecting);
    client.ready(1, Some(std::time::Duration::ZERO)).unwrap();
    let error = harness.ready(1).unwrap_err();
    assert!(error.to_string().contains("cluster support disabled"), "{error}");
}

#[test]
fn keys_in_different_slots_never_reach_a_server() {
    let cluster = Cluster::start();
    let (mut harness, client) = Harness::connected_with(cluster.options());
    let mut reading = tracked("id", "get", Some(PATIENCE));
    reading.watermark_key = Some(String::from("{other}#watermark"));
    let mut writing = tracked_write("id", "get", text("value"));
    writing.watermark_key.clone_from(&reading.watermark_key);
    assert_eq!(client.read(1, reading).unwrap_err().kind, ErrorKind::Cluster);
    assert_eq!(client.write(2, writing).unwrap_err().kind, ErrorKind::Cluster);
    harness.expect_silence();
    assert_eq!(client.stats().pending, 0);
}

#[test]
fn a_slot_that_moved_is_followed_and_then_known() {
    let cluster = Cluster::start();
    let (mut harness, client) = Harness::connected_with(cluster.options());
    let id = id_of(&cluster, 0);
    let key = format!("{{{id}}}#get");
    store(&mut harness, &client, 1, &id);
    cluster.move_slot(&key, 0, 2);
    assert!(is_hit(&mut harness, &client, 2, &id));
    store(&mut harness, &client, 3, &id);
    assert!(is_hit(&mut harness, &client, 4, &id));
    client.invalidate(5, invalidation(&id, 0)).unwrap();
    harness.invalidated(5).unwrap();

    // Only the new owner is asked from now on.
    let moved = |index: usize| {
        let info: String = redis::cmd("INFO")
            .arg("errorstats")
            .query(&mut cluster.servers[index].connection())
            .unwrap();
        let line = info.lines().find(|line| line.starts_with("errorstat_MOVED"));
        line.map(str::to_owned)
    };
    let before = moved(0);
    assert!(before.is_some());
    for ticket in 10..20 {
        is_hit(&mut harness, &client, ticket, &id);
    }
    assert_eq!(moved(0), before);
    assert_eq!(client.stats().last_error, None);
}

#[test]
fn an_id_is_served_from_both_ends_of_a_moving_slot() {
    let cluster = Cluster::start();
    let (mut harness, client) = Harness::connected_with(cluster.options());
    let id = id_of(&cluster, 0);
    let (value, watermark) = (format!("{{{id}}}#get"), format!("{{{id}}}#watermark"));
    store(&mut harness, &client, 1, &id);
    client
        .write(2, write(&format!("{{{id}}}plain"), text("plain")))
        .unwrap();
    harness.written(2).unwrap();

    cluster.begin_move(&value, 0, 1);
    // All at the old end.
    assert!(is_hit(&mut harness, &client, 3, &id));
    store(&mut harness, &client, 4, &id);
    // One at each.
    cluster.move_key(&watermark, 0, 1);
    assert!(is_hit(&mut harness, &client, 5, &id), "split");
    client.invalidate(6, invalidation(&id, 0)).unwrap();
    harness.invalidated(6).unwrap();
    assert!(
        !is_hit(&mut harness, &client, 7, &id),
        "an invalidation reaches the end where the watermark is"
    );
    client.read(8, read(&format!("{{{id}}}plain"), Some(PATIENCE))).unwrap();
    harness.hit(8);
    // All at the new one.
    cluster.move_key(&value, 0, 1);
    store(&mut harness, &client, 9, &id);
    assert!(is_hit(&mut harness, &client, 10, &id));
    // New to both: an untracked one goes to the new end.
    let new = format!("{{{id}}}new");
    client.write(11, write(&new, text("new"))).unwrap();
    assert!(harness.written(11).unwrap());
    client.read(12, read(&new, Some(PATIENCE))).unwrap();
    harness.hit(12);

    cluster.move_key(&format!("{{{id}}}plain"), 0, 1);
    cluster.end_move(&value, 0, 1);
    assert!(is_hit(&mut harness, &client, 13, &id));
    let direct: bool = cluster.servers[1].connection().exists(&new).unwrap();
    assert!(direct);
}

#[test]
fn a_new_id_in_a_moving_slot_is_a_miss_and_not_a_failure() {
    let cluster = Cluster::start();
    let (mut harness, client) = Harness::connected_with(cluster.options());
    let id = id_of(&cluster, 0);
    let key = format!("{{{id}}}#get");
    cluster.begin_move(&key, 0, 1);
    assert!(!is_hit(&mut harness, &client, 1, &id));
    client.invalidate(2, invalidation(&id, 0)).unwrap();
    harness.invalidated(2).unwrap();
    assert!(!is_hit(&mut harness, &client, 3, &id));
    cluster.end_move(&key, 0, 1);
    store(&mut harness, &client, 4, &id);
    assert!(is_hit(&mut harness, &client, 5, &id));
}

#[test]
fn a_server_restarted_without_its_scripts_gets_them_again() {
    let cluster = Cluster::start();
    let (mut harness, client) = Harness::connected_with(cluster.options());
    let id = id_of(&cluster, 1);
    for ticket in [1, 2] {
        let () = redis::cmd("SCRIPT")
            .arg("FLUSH")
            .query(&mut cluster.servers[1].connection())
            .unwrap();
        store(&mut harness, &client, ticket, &id);
    }
}

#[test]
fn a_circle_of_redirections_ends() {
    let script = Script::start(|peer| {
        peer.greet()?;
        loop {
            let port = peer.port();
            let reply = if peer.command()?[0] == "CLUSTER" {
                format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n")
            } else {
                format!("-MOVED {} 127.0.0.1:{port}\r\n", slot("{id}"))
            };
            peer.send(reply.as_bytes())?;
        }
    });
    let (mut harness, client) = Harness::connected_with(Options {
        nodes: vec![script.url()],
        ..Options::default()
    });
    client.read(1, tracked("id", "get", Some(PATIENCE))).unwrap();
    assert_eq!(harness.failure(1).kind, ErrorKind::Server);
    let asked = script.commands().iter().filter(|command| command[0] == "MGET").count();
    assert!((2..10).contains(&asked), "{asked}");
    client.write(2, tracked_write("id", "get", text("value"))).unwrap();
    assert_eq!(harness.written(2).unwrap_err().kind, ErrorKind::Server);
    client.invalidate(3, invalidation("id", 0)).unwrap();
    assert_eq!(harness.invalidated(3).unwrap_err().kind, ErrorKind::Server);
}

#[test]
fn every_node_is_logged_in_to() {
    let mut cluster = Cluster::launch(3, &["--requirepass", "secret", "--masterauth", "secret"]);
    for server in &mut cluster.servers {
        server.set_password("secret");
    }
    cluster.join(0, &["-a", "secret"]);
    let (mut harness, client) = Harness::connected_with(Options {
        password: Some(Secret::new("secret")),
        ..cluster.options()
    });
    for ticket in 0..30 {
        store(&mut harness, &client, ticket, &format!("id{ticket}"));
    }

    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            dynamic_credentials: true,
            ..cluster.options()
        })
        .unwrap();
    // Seeds and nodes are met side by side, and each has to be logged in to.
    let mut asked = 0;
    until(|| {
        while let Some(request) = harness.asked_now() {
            asked += 1;
            let password = Secret::new("secret");
            client.provide_credentials(
                request,
                Some(Credentials {
                    username: None,
                    password,
                }),
            );
        }
        asked >= 4 && client.status() == Status::Ready
    });
    for ticket in 0..30 {
        assert!(is_hit(&mut harness, &client, ticket, &format!("id{ticket}")));
    }
}

#[test]
fn nodes_and_url_exclude_each_other_and_nodes_agree_on_tls() {
    let harness = Harness::new();
    let refusal = |options: Options| harness.io.connect(options).unwrap_err();
    let nodes = |nodes: &[&str]| Options {
        nodes: nodes.iter().map(ToString::to_string).collect(),
        ..Options::default()
    };
    let both = Options {
        url: String::from("redis://elsewhere"),
        ..nodes(&["localhost:1"])
    };
    for options in [
        both,
        nodes(&["redis://a", "rediss://b"]),
        nodes(&["unix:///tmp/socket"]),
        nodes(&["localhost:port"]),
        nodes(&["http://user:hunter2@host"]),
    ] {
        let error = refusal(options);
        assert_eq!(error.option, "nodes", "{error}");
        assert!(!error.to_string().contains("hunter2"));
    }
    assert!(!format!("{:?}", nodes(&["redis://:hunter2@host"])).contains("hunter2"));
}
