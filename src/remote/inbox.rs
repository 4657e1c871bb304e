//! How requests reach the I/O thread.

use std::sync::Arc;

use super::client::{InvalidateRequest, ReadRequest, WriteRequest};
use super::pending::Pending;
use super::queue::Queue;
use super::read_batch::Reads;
use super::shared::Shared;
use super::{invalidate, ready, supervisor, write};

/// Something for the I/O thread to do.
pub(super) enum Job {
    Connect(Arc<Shared>),
    Read(Pending, ReadRequest),
    Write(Pending, WriteRequest),
    Invalidate(Pending, InvalidateRequest),
    Ready(Pending, Option<std::time::Duration>),
    Close(Arc<Shared>),
}

impl Job {
    /// Gives back what a job holds when it was not accepted.
    fn forget(self) {
        match self {
            Self::Read(pending, _)
            | Self::Write(pending, _)
            | Self::Invalidate(pending, _)
            | Self::Ready(pending, _) => {
                pending.forget();
            }
            Self::Connect(_) | Self::Close(_) => {}
        }
    }

    fn start(self, reads: &mut Reads) {
        match &self {
            Self::Write(_, request) if reads.concern(&request.value_key) => reads.start(),
            Self::Invalidate(..) | Self::Close(_) => reads.start(),
            _ => {}
        }
        match self {
            Self::Connect(client) => supervisor::start(&client),
            Self::Read(pending, request) => reads.add(pending, request),
            Self::Write(pending, request) => drop(tokio::spawn(write::run(pending, request))),
            Self::Invalidate(pending, request) => drop(tokio::spawn(invalidate::run(pending, request))),
            Self::Ready(pending, limit) => drop(tokio::spawn(ready::run(pending, limit))),
            Self::Close(client) => client.closed(),
        }
    }
}

/// The queue between the callers' threads and the I/O thread.
#[derive(Default)]
pub(super) struct Inbox(Queue<Job>);

impl Inbox {
    /// Whether the job was taken.
    pub fn push(&self, job: Job) -> bool {
        self.0.push(job).map_err(Job::forget).is_ok()
    }

    /// Lets [`Inbox::run`] return; what is still queued is dropped by it.
    pub fn end(&self) {
        self.0.end();
    }

    /// Starts jobs as they come, until the end.
    pub async fn run(&self) {
        let mut batch = Vec::new();
        let mut reads = Reads::default();
        while self.0.next(&mut batch).await {
            batch.drain(..).for_each(|job| job.start(&mut reads));
            reads.start();
            // Back to the queue only after what was started had its turn: requests that come
            // meanwhile find this thread awake.
            tokio::task::yield_now().await;
        }
    }
}
