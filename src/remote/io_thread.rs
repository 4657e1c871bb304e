//! The thread that owns every socket.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::client::Client;
use super::event::Sink;
use super::inbox::{Inbox, Job};
use super::options::{OptionError, Options, Settings};
use super::shared::Shared;

/// How long the end waits for a decompression that is under way.
const GRACE: Duration = Duration::from_millis(20);

/// One thread with all the clients of one environment. It is started by the first
/// [`connect`](IoThread::connect) and ended by [`shutdown`](IoThread::shutdown) or by dropping this.
pub struct IoThread {
    sink: Arc<dyn Sink>,
    inbox: Arc<Inbox>,
    next_client: AtomicU32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    thread: Option<JoinHandle<()>>,
    clients: Vec<Weak<Shared>>,
    ended: bool,
}

impl IoThread {
    /// Prepares a thread whose events go to `sink`. Nothing runs yet.
    #[must_use]
    pub fn start(sink: Arc<dyn Sink>) -> Self {
        Self {
            sink,
            inbox: Arc::new(Inbox::default()),
            next_client: AtomicU32::new(0),
            state: Mutex::default(),
        }
    }

    /// Makes a client, which connects in the background. Returns at once, whether or not there is a
    /// server.
    ///
    /// # Errors
    /// [`OptionError`] when an option cannot be used, when the system refuses another thread, or
    /// after [`shutdown`](IoThread::shutdown).
    pub fn connect(&self, options: Options) -> Result<Client, OptionError> {
        let settings = Settings::new(options)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.ended {
            return Err(OptionError::new("client", "the environment is being torn down"));
        }
        if state.thread.is_none() {
            state.thread = Some(
                self.spawn()
                    .map_err(|error| OptionError::new("client", format!("the I/O thread could not start: {error}")))?,
            );
        }
        let id = self.next_client.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new(Shared::new(id, settings, Arc::clone(&self.sink)));
        state.clients.retain(|client| client.strong_count() > 0);
        state.clients.push(Arc::downgrade(&shared));
        self.inbox.push(Job::Connect(Arc::clone(&shared)));
        Ok(Client::new(shared, Arc::clone(&self.inbox)))
    }

    /// Ends the thread and waits for it, whatever Redis does; pending requests fail first. Later
    /// calls do nothing.
    pub fn shutdown(&self) {
        let thread = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.ended = true;
            for client in state.clients.drain(..).filter_map(|client| client.upgrade()) {
                client.refuse();
            }
            state.thread.take()
        };
        self.inbox.end();
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
        {
            // A panic of the thread was reported by the panic hook; the thread is gone either way.
            let _ = thread.join();
        }
    }

    fn spawn(&self) -> std::io::Result<JoinHandle<()>> {
        // Built here rather than on the thread, so that a refusal reaches the caller.
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            // The second thread, for big payloads.
            .max_blocking_threads(1)
            .thread_name("dialcache-codec")
            .build()?;
        let inbox = Arc::clone(&self.inbox);
        thread::Builder::new()
            .name(String::from("dialcache-io"))
            .spawn(move || run(runtime, &inbox))
    }
}

fn run(runtime: Runtime, inbox: &Inbox) {
    runtime.block_on(inbox.run());
    runtime.shutdown_timeout(GRACE);
}

impl Drop for IoThread {
    fn drop(&mut self) {
        self.shutdown();
    }
}
