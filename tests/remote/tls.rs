//! TLS against a real server, with certificates made here.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use dialcache_native::remote::{ErrorKind, Options, Secret, Status, TlsOptions};

use crate::support::{Cluster, Harness, PATIENCE, Script, Server, read, text, write};

/// An authority and a certificate of it for `localhost`, in the server's directory.
fn make_certificates(directory: &Path) {
    fs::write(directory.join("san"), "subjectAltName=DNS:localhost\n").unwrap();
    // Only an authority with records can sign for the past.
    let records = "[ca]\ndefault_ca=own\n[own]\ndatabase=index\nserial=serial\nnew_certs_dir=.\n\
                   default_md=sha256\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n";
    fs::write(directory.join("ca.cnf"), records).unwrap();
    fs::write(directory.join("index"), "").unwrap();
    fs::write(directory.join("serial"), "01\n").unwrap();
    for step in [
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
         -keyout ca.key -out ca.crt",
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
         -keyout own.key -out own.csr",
        "x509 -req -in own.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile san \
         -out own.crt",
        "ca -batch -notext -config ca.cnf -cert ca.crt -keyfile ca.key -in own.csr -out expired.crt \
         -startdate 20200101000000Z -enddate 20200201000000Z -extfile san",
        "ca -batch -notext -config ca.cnf -cert ca.crt -keyfile ca.key -in own.csr -out early.crt \
         -startdate 20900101000000Z -enddate 20910101000000Z -extfile san",
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=stranger \
         -keyout stranger.key -out stranger.crt",
    ] {
        let output = Command::new("openssl")
            .args(step.split_whitespace())
            .current_dir(directory)
            .stdin(Stdio::null())
            .output()
            .expect("run openssl");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
}

/// A server that speaks TLS only, on `server.port`.
fn start(clients: &str) -> Server {
    start_with("own.crt", clients)
}

/// The same with another certificate.
fn start_with(certificate: &str, clients: &str) -> Server {
    let mut server = Server::stopped(&[]);
    make_certificates(server.directory());
    let directory = server.directory().to_owned();
    speak_tls(&mut server, &directory, certificate, clients);
    server.launch();
    server
}

/// Makes a server speak TLS only, with one of the certificates of a directory.
fn speak_tls(server: &mut Server, directory: &Path, certificate: &str, clients: &str) {
    let at = |name: &str| directory.join(name).display().to_string();
    let arguments = [
        ("--port", String::from("0")),
        ("--tls-port", server.port.to_string()),
        ("--tls-cert-file", at(certificate)),
        ("--tls-key-file", at("own.key")),
        ("--tls-ca-cert-file", at("ca.crt")),
        ("--tls-auth-clients", String::from(clients)),
    ];
    for (name, value) in arguments {
        server.add_argument(name);
        server.add_argument(&value);
    }
}

fn options(server: &Server, host: &str, tls: TlsOptions) -> Options {
    Options {
        url: format!("rediss://{host}:{}", server.port),
        tls: Some(tls),
        ..Options::default()
    }
}

fn file(server: &Server, name: &str) -> Vec<u8> {
    fs::read(server.directory().join(name)).unwrap()
}

fn key(server: &Server, name: &str) -> Secret {
    let pem = String::from_utf8(file(server, name)).unwrap();
    Secret::new(pem)
}

fn works(options: Options) {
    let (mut harness, client) = Harness::connected_with(options);
    client.read(1, read("key", Some(PATIENCE))).unwrap();
    harness.outcome(1);
}

fn refusal(options: Options) -> String {
    let mut harness = Harness::new();
    let client = harness.io.connect(options).unwrap();
    harness.expect_status(Status::Reconnecting);
    client.ready(1, Some(Duration::ZERO)).unwrap();
    let error = harness.ready(1).unwrap_err();
    assert_eq!(client.stats().last_error, Some(ErrorKind::Tls), "{error}");
    error.to_string()
}

#[test]
fn a_given_authority_is_trusted_for_the_names_it_signed() {
    let server = start("no");
    let ca = || TlsOptions {
        ca: Some(file(&server, "ca.crt")),
        ..TlsOptions::default()
    };
    works(options(&server, "localhost", ca()));
    let named = TlsOptions {
        servername: Some(String::from("localhost")),
        ..ca()
    };
    works(options(&server, "127.0.0.1", named));

    let said = refusal(options(&server, "127.0.0.1", ca()));
    assert!(said.contains("invalid certificate"), "{said}");
    let other = TlsOptions {
        servername: Some(String::from("elsewhere")),
        ..ca()
    };
    refusal(options(&server, "localhost", other));
    let stranger = TlsOptions {
        ca: Some(file(&server, "stranger.crt")),
        ..TlsOptions::default()
    };
    refusal(options(&server, "localhost", stranger));
}

#[test]
fn an_unknown_authority_is_accepted_only_when_asked_for() {
    let server = start("no");
    refusal(options(&server, "localhost", TlsOptions::default()));
    let unchecked = TlsOptions {
        reject_unauthorized: false,
        ..TlsOptions::default()
    };
    works(options(&server, "127.0.0.1", unchecked));
}

#[test]
fn a_certificate_whose_time_is_over_or_not_come_is_refused_unless_asked_for() {
    for (certificate, says) in [("expired.crt", "expired"), ("early.crt", "not valid yet")] {
        let server = start_with(certificate, "no");
        let with = |reject_unauthorized| TlsOptions {
            ca: Some(file(&server, "ca.crt")),
            reject_unauthorized,
            ..TlsOptions::default()
        };
        let said = refusal(options(&server, "localhost", with(true)));
        assert!(said.contains(says), "{said}");
        works(options(&server, "localhost", with(false)));
    }
}

#[test]
fn a_url_cannot_turn_the_check_off() {
    let harness = Harness::new();
    let refused = harness.io.connect(Options {
        url: String::from("rediss://:secret@127.0.0.1/#insecure"),
        ..Options::default()
    });
    let refused = refused.unwrap_err();
    assert_eq!(refused.option, "url");
    let message = refused.to_string();
    assert!(
        message.contains("reject_unauthorized") && !message.contains("secret@"),
        "{message}"
    );
}

#[test]
fn a_client_certificate_is_presented() {
    let server = start("yes");
    let with = |cert, key| TlsOptions {
        ca: Some(file(&server, "ca.crt")),
        cert,
        key,
        ..TlsOptions::default()
    };
    let own = with(Some(file(&server, "own.crt")), Some(key(&server, "own.key")));
    works(options(&server, "localhost", own));

    // With TLS 1.3 the refusal comes after the client's side of the handshake is done.
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(options(&server, "localhost", with(None, None)))
        .unwrap();
    harness.expect_status(Status::Reconnecting);
    let kind = client.stats().last_error.unwrap();
    assert!(matches!(kind, ErrorKind::Tls | ErrorKind::Disconnected), "{kind}");
}

#[test]
fn certificates_that_cannot_be_used_are_refused_by_name() {
    let server = start("no");
    let harness = Harness::new();
    let junk = || Some(b"junk".to_vec());
    let own = || Some(file(&server, "own.crt"));
    let base = TlsOptions::default;
    for (option, tls) in [
        ("tls.ca", TlsOptions { ca: junk(), ..base() }),
        (
            "tls.cert",
            TlsOptions {
                cert: junk(),
                key: Some(key(&server, "own.key")),
                ..base()
            },
        ),
        (
            "tls.key",
            TlsOptions {
                cert: own(),
                key: Some(Secret::new("junk")),
                ..base()
            },
        ),
        ("tls.key", TlsOptions { cert: own(), ..base() }),
        (
            "tls.cert",
            TlsOptions {
                key: Some(key(&server, "own.key")),
                ..base()
            },
        ),
        (
            "tls",
            TlsOptions {
                cert: own(),
                key: Some(key(&server, "stranger.key")),
                ..base()
            },
        ),
        (
            "tls.servername",
            TlsOptions {
                servername: Some(String::from("a b")),
                ..base()
            },
        ),
    ] {
        let error = harness.io.connect(options(&server, "localhost", tls)).unwrap_err();
        assert_eq!(error.option, option, "{error}");
        assert!(!error.to_string().contains("junk"));
    }
}

#[test]
fn a_server_without_tls_is_told_as_such() {
    // Redis waits for the end of what it takes for a command.
    let server = Server::start();
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            connect_timeout: Duration::from_millis(200),
            ..options(&server, "localhost", TlsOptions::default())
        })
        .unwrap();
    harness.expect_status(Status::Reconnecting);
    client.ready(1, Some(Duration::ZERO)).unwrap();
    let error = harness.ready(1).unwrap_err();
    assert!(error.to_string().contains("TLS handshake"), "{error}");
    assert_eq!(client.stats().last_error, Some(ErrorKind::Timeout));

    let script = Script::start(|peer| peer.send(b"-ERR no TLS here\r\n"));
    let said = refusal(Options {
        url: script.url().replace("redis://", "rediss://"),
        ..Options::default()
    });
    assert!(said.contains("does not speak TLS"), "{said}");
}

/// Runs in a process of its own, whose environment names the authority as the system's.
#[test]
#[ignore = "run by the_systems_roots_are_trusted"]
fn connect_with_the_systems_roots() {
    let url = env::var("DIALCACHE_TEST_URL").unwrap();
    works(Options {
        url,
        ..Options::default()
    });
}

#[test]
fn the_systems_roots_are_trusted() {
    let server = start("no");
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tls::connect_with_the_systems_roots", "--ignored"])
        .env("DIALCACHE_TEST_URL", format!("rediss://localhost:{}", server.port))
        .env("SSL_CERT_FILE", server.directory().join("ca.crt"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn every_node_of_a_cluster_is_met_over_tls() {
    let certificates = Server::stopped(&[]);
    make_certificates(certificates.directory());
    let mut cluster = Cluster::launch_each(3, &["--tls-cluster", "yes"], |server| {
        speak_tls(server, certificates.directory(), "own.crt", "yes");
    });
    let at = |name: &str| certificates.directory().join(name).display().to_string();
    let (ca, cert, key_file) = (at("ca.crt"), at("own.crt"), at("own.key"));
    cluster.join(0, &["--tls", "--cacert", &ca, "--cert", &cert, "--key", &key_file]);
    // The cluster announces addresses, the certificate is for a name.
    let tls = TlsOptions {
        ca: Some(file(&certificates, "ca.crt")),
        cert: Some(file(&certificates, "own.crt")),
        key: Some(key(&certificates, "own.key")),
        servername: Some(String::from("localhost")),
        ..TlsOptions::default()
    };
    let options = |tls| Options {
        tls: Some(tls),
        ..cluster.options()
    };
    let (mut harness, client) = Harness::connected_with(options(tls.clone()));
    for ticket in 0..30 {
        let id = format!("id{ticket}");
        client.write(ticket, write(&id, text("value"))).unwrap();
        assert!(harness.written(ticket).unwrap());
    }
    let by_address = TlsOptions {
        servername: None,
        ..tls
    };
    assert!(refusal(options(by_address)).contains("not valid for name"));
}
