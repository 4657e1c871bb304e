//! Real `redis-server` processes.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::PATIENCE;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A server with a directory of its own, killed when dropped. `REDIS_SERVER` names another binary.
pub struct Server {
    child: Option<Child>,
    arguments: Vec<String>,
    directory: PathBuf,
    password: Option<String>,
    pub port: u16,
}

impl Server {
    /// A server on a free TCP port and on a unix socket.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with further arguments.
    pub fn start_with(arguments: &[&str]) -> Self {
        let mut server = Self::stopped(arguments);
        server.launch();
        server
    }

    /// Everything but the process.
    pub fn stopped(arguments: &[&str]) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dialcache-test-{}-{number}", std::process::id());
        let directory = env::temp_dir().join(name);
        fs::create_dir_all(&directory).expect("create the server's directory");
        Self {
            child: None,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            directory,
            password: None,
            port: free_port(),
        }
    }

    /// One more argument for the next launch; a later one wins over an earlier one.
    pub fn add_argument(&mut self, argument: &str) {
        self.arguments.push(argument.to_owned());
    }

    /// Starts the process and waits until it answers.
    pub fn launch(&mut self) {
        assert!(self.child.is_none(), "the server runs already");
        let _ = fs::remove_file(self.socket());
        let binary = env::var("REDIS_SERVER").unwrap_or_else(|_| String::from("redis-server"));
        let child = Command::new(binary)
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .args(["--unixsocketperm", "700", "--unixsocket"])
            .arg(self.socket())
            .arg("--dir")
            .arg(&self.directory)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("start redis-server");
        self.child = Some(child);
        let start = Instant::now();
        // The server's own socket, not a client of ours: what it shows must not depend on those.
        while std::os::unix::net::UnixStream::connect(self.socket()).is_err() {
            assert!(start.elapsed() < PATIENCE, "redis-server does not start");
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.join("redis.sock")
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A connection to look at the server with.
    pub fn connection(&self) -> redis::Connection {
        let mut connection = redis::Client::open(format!("unix://{}", self.socket().display()))
            .and_then(|client| client.get_connection())
            .expect("connect to look at the server");
        if let Some(password) = &self.password {
            let () = redis::cmd("AUTH").arg(password).query(&mut connection).expect("log in");
        }
        connection
    }

    /// What [`connection`](Self::connection) has to log in with.
    pub fn set_password(&mut self, password: &str) {
        self.password = Some(password.to_owned());
    }

    /// Stops the process where it stands; its sockets stay open.
    pub fn freeze(&self) {
        self.signal("STOP");
        let file = format!("/proc/{}/stat", self.pid());
        let start = Instant::now();
        while let Ok(text) = fs::read_to_string(&file)
            && !text.contains(") T ")
        {
            assert!(start.elapsed() < PATIENCE, "redis-server does not stop");
            thread::yield_now();
        }
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Ends the process at once, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([format!("-{name}"), self.pid().to_string()])
            .status()
            .expect("run kill");
        assert!(status.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A port nobody listens on now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("find a free port")
        .port()
}
