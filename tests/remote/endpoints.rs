//! Ways to reach a server and to introduce oneself.

use std::time::Duration;

use dialcache_native::remote::{Client, Credentials, ErrorKind, Options, ReadOutcome, Secret, Status, TlsOptions};
use redis::Commands;

use crate::support::{Harness, PATIENCE, Server, read, text, write};

fn works(harness: &mut Harness, client: &Client) {
    client.write(1, write("key", text("value"))).unwrap();
    harness.written(1).unwrap();
    client.read(2, read("key", Some(PATIENCE))).unwrap();
    assert_eq!(harness.hit(2).payload, text("value"));
}

/// Why no connection comes about.
fn refusal(options: Options) -> ErrorKind {
    let mut harness = Harness::new();
    let client = harness.io.connect(options).unwrap();
    harness.expect_status(Status::Reconnecting);
    client.stats().last_error.unwrap()
}

#[test]
fn a_unix_socket_is_a_url_like_any_other() {
    let server = Server::start();
    let path = server.socket();
    let path = path.display();
    for url in [format!("unix://{path}"), format!("redis+unix://{path}?db=2")] {
        let (mut harness, client) = Harness::connected(&url);
        works(&mut harness, &client);
    }
    let url = format!("unix://{path}.none");
    let options = Options {
        url,
        ..Options::default()
    };
    assert_eq!(refusal(options), ErrorKind::Connect);
}

#[test]
fn names_are_resolved() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&format!("redis://localhost:{}", server.port));
    works(&mut harness, &client);
}

#[test]
fn a_password_comes_from_the_url_or_the_option() {
    let server = Server::start_with(&["--requirepass", "p@ss/word"]);
    let (mut harness, client) = Harness::connected(&format!("redis://:p%40ss%2Fword@127.0.0.1:{}", server.port));
    works(&mut harness, &client);
    let (mut harness, client) = Harness::connected_with(Options {
        url: format!("redis://:wrong@127.0.0.1:{}", server.port),
        password: Some(Secret::new("p@ss/word")),
        ..Options::default()
    });
    works(&mut harness, &client);
    let path = server.socket();
    let url = format!("unix://{}?pass=p%40ss%2Fword", path.display());
    let (mut harness, client) = Harness::connected(&url);
    works(&mut harness, &client);
}

#[test]
fn a_wrong_password_and_a_missing_one_are_told_as_such() {
    let server = Server::start_with(&["--requirepass", "right"]);
    for url in [
        server.url(),
        format!("redis://:wrong@127.0.0.1:{}", server.port),
        format!("redis://nobody:right@127.0.0.1:{}", server.port),
    ] {
        let options = Options {
            url,
            ..Options::default()
        };
        assert_eq!(refusal(options), ErrorKind::Auth);
    }
    let open = Server::start();
    let options = Options {
        url: format!("redis://:needless@127.0.0.1:{}", open.port),
        ..Options::default()
    };
    assert_eq!(refusal(options), ErrorKind::Auth);
}

#[test]
fn an_acl_user_needs_only_the_commands_used() {
    let acl = "on >secret ~allowed:* +get +set";
    let mut arguments = vec!["--user", "cache"];
    arguments.extend(acl.split(' '));
    let server = Server::start_with(&arguments);
    let (mut harness, client) = Harness::connected_with(Options {
        url: server.url(),
        username: Some(String::from("cache")),
        password: Some(Secret::new("secret")),
        client_name: Some(String::from("may-not-be-set")),
        ..Options::default()
    });
    client.write(1, write("allowed:key", text("value"))).unwrap();
    harness.written(1).unwrap();
    client.read(2, read("allowed:key", Some(PATIENCE))).unwrap();
    harness.hit(2);
    client.read(3, read("other", Some(PATIENCE))).unwrap();
    let error = harness.failure(3);
    assert_eq!(error.kind, ErrorKind::Server);
    assert!(error.to_string().starts_with("NOPERM "), "{error}");
}

#[test]
fn a_database_and_a_client_name_are_set() {
    let server = Server::start();
    let url = format!("redis://127.0.0.1:{}/3", server.port);
    let (mut harness, client) = Harness::connected_with(Options {
        url: url.clone(),
        client_name: Some(String::from("users-api")),
        ..Options::default()
    });
    works(&mut harness, &client);
    let mut redis = server.connection();
    assert!(!redis.exists::<_, bool>("key").unwrap());
    let list: String = redis::cmd("CLIENT").arg("LIST").query(&mut redis).unwrap();
    let line = list.lines().find(|line| line.contains("name=users-api"));
    assert!(line.unwrap().contains(" db=3 "), "{list}");

    let (mut harness, client) = Harness::connected_with(Options {
        url,
        database: Some(0),
        ..Options::default()
    });
    client.read(1, read("key", Some(PATIENCE))).unwrap();
    assert!(matches!(harness.outcome(1), ReadOutcome::Miss));

    let options = Options {
        url: server.url(),
        database: Some(99),
        ..Options::default()
    };
    assert_eq!(refusal(options), ErrorKind::Server);
}

#[test]
fn credentials_are_asked_for_at_every_attempt() {
    let mut server = Server::start_with(&["--requirepass", "first"]);
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: server.url(),
            dynamic_credentials: true,
            ..Options::default()
        })
        .unwrap();
    let give = |password: &str| {
        Some(Credentials {
            username: None,
            password: Secret::new(password),
        })
    };
    let stale = harness.asked();
    client.provide_credentials(stale, None);
    harness.expect_status(Status::Reconnecting);
    assert_eq!(client.stats().last_error, Some(ErrorKind::Credentials));

    let request = harness.asked();
    assert_ne!(request, stale);
    client.provide_credentials(stale, give("first"));
    client.provide_credentials(request, give("wrong"));
    let request = harness.asked();
    assert_eq!(client.stats().last_error, Some(ErrorKind::Auth));
    client.provide_credentials(request, give("first"));
    client.provide_credentials(request, give("ignored"));
    harness.expect_status(Status::Ready);
    works(&mut harness, &client);

    server.kill();
    harness.expect_status(Status::Reconnecting);
    server.launch();
    let request = harness.asked();
    client.provide_credentials(request, give("first"));
    harness.expect_status(Status::Ready);
}

#[test]
fn credentials_that_never_come_use_up_the_attempt() {
    let server = Server::start();
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: server.url(),
            dynamic_credentials: true,
            connect_timeout: Duration::from_millis(50),
            ..Options::default()
        })
        .unwrap();
    harness.asked();
    harness.expect_status(Status::Reconnecting);
    assert_eq!(client.stats().last_error, Some(ErrorKind::Timeout));
    harness.asked();
}

#[test]
fn options_that_cannot_be_meant_are_refused_by_name() {
    let harness = Harness::new();
    let refused = |option: &str, change: &dyn Fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        let error = harness.io.connect(options).unwrap_err();
        assert_eq!(error.option, option, "{error}");
    };
    for url in ["", "redis://", "redis://host/-1", "unix://", "host:6379"] {
        refused("url", &|options| options.url = url.to_owned());
    }
    refused("tls", &|options| options.tls = Some(TlsOptions::default()));
    refused("username", &|options| {
        options.username = Some(String::from("user"));
    });
    refused("credentials", &|options| {
        options.dynamic_credentials = true;
        options.password = Some(Secret::new("secret"));
    });
    for name in ["", "two words", "line\n", "ü"] {
        refused("clientName", &|options| {
            options.client_name = Some(name.to_owned());
        });
    }
    for wrong in [Duration::ZERO, Duration::MAX] {
        refused("connectTimeoutMs", &|options| {
            options.connect_timeout = wrong;
        });
        refused("responseTimeoutMs", &|options| {
            options.response_timeout = wrong;
        });
        refused("reconnect.baseDelayMs", &|options| {
            options.reconnect.base_delay = wrong;
        });
        refused("reconnect.maxDelayMs", &|options| {
            options.reconnect.max_delay = wrong;
        });
    }
    refused("maxPending", &|options| options.max_pending = 0);
    refused("maxPendingBytes", &|options| options.max_pending_bytes = 0);
}
