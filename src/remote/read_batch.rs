//! Reads of one turn that go to one server, asked as one pipeline.
//!
//! A read that is asked alone costs a task, a timer and a place in the multiplexer, which together
//! are most of what this thread does for a small value. A batch has them once. Its replies come
//! together, so it holds only as many reads as small replies make few bytes: none waits noticeably
//! for those behind it. Each keeps its own deadline, and whatever is not settled by the one reply
//! goes on alone.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use redis::{Pipeline, Value};

use super::alarm::until;
use super::client::ReadRequest;
use super::cluster::Redirect;
use super::connection::{Connection, checked};
use super::error::RemoteError;
use super::fetch;
use super::node::Node;
use super::pending::Pending;
use super::read::{self, is_over};
use super::route;
use super::shared::{Servers, Shared};

/// Bytes of replies that a batch is to bring, going by the latest ones: about what one read of the
/// socket takes in.
const REPLY_BYTES: usize = 64 << 10;

/// Reads of a batch at most, however small their replies are.
const MAX_READS: usize = 64;

/// Moments that lie this close together are waited for together, up to the last of them.
const TOGETHER: Duration = Duration::from_micros(250);

struct Batch {
    client: Arc<Shared>,
    node: Arc<Node>,
    connection: Arc<Connection>,
    reads: Vec<Waiting>,
    limit: usize,
}

struct Waiting {
    pending: Pending,
    request: ReadRequest,
    is_due: bool,
}

/// Reads that wait for the end of a turn. What comes after them in the inbox and concerns none of
/// their keys may overtake them; a value must not be written before an earlier read of it was asked.
#[derive(Default)]
pub(super) struct Reads {
    waiting: Vec<(Pending, ReadRequest)>,
    /// Hashes of the keys of the first of them: made only when something comes after reads.
    keys: HashSet<u64>,
    hashed: usize,
    hasher: RandomState,
}

impl Reads {
    pub fn add(&mut self, pending: Pending, request: ReadRequest) {
        self.waiting.push((pending, request));
    }

    /// Whether one of them is, or may be, about this value.
    pub fn concern(&mut self, value_key: &str) -> bool {
        for (_, request) in &self.waiting[self.hashed..] {
            self.keys.insert(self.hasher.hash_one(&request.value_key));
        }
        self.hashed = self.waiting.len();
        self.keys.contains(&self.hasher.hash_one(value_key))
    }

    /// Starts them, those to one server together. One whose server is not connected goes its own way.
    pub fn start(&mut self) {
        self.keys.clear();
        self.hashed = 0;
        let mut batches: Vec<Batch> = Vec::new();
        for (pending, request) in self.waiting.drain(..) {
            let client = pending.client();
            let Some((node, connection)) = route::ready(client, &request.value_key) else {
                drop(tokio::spawn(read::run(pending, request)));
                continue;
            };
            let known = batches
                .iter()
                .position(|batch| Arc::ptr_eq(&batch.connection, &connection));
            let place = known.unwrap_or_else(|| {
                batches.push(Batch {
                    client: Arc::clone(client),
                    limit: (REPLY_BYTES / connection.reply_size.bytes().max(1)).clamp(1, MAX_READS),
                    node,
                    connection,
                    reads: Vec::new(),
                });
                batches.len() - 1
            });
            batches[place].add(Waiting {
                pending,
                request,
                is_due: false,
            });
        }
        batches.into_iter().for_each(Batch::start);
    }
}

impl Batch {
    fn add(&mut self, read: Waiting) {
        self.reads.push(read);
        if self.reads.len() >= self.limit {
            let full = Self {
                client: Arc::clone(&self.client),
                node: Arc::clone(&self.node),
                connection: Arc::clone(&self.connection),
                reads: mem::take(&mut self.reads),
                limit: self.limit,
            };
            full.start();
        }
    }

    fn start(mut self) {
        match self.reads.len() {
            0 => {}
            1 => drop(tokio::spawn(self.reads.remove(0).alone())),
            _ => drop(tokio::spawn(self.run())),
        }
    }

    async fn run(self) {
        let Self {
            client,
            node,
            connection,
            reads,
            ..
        } = self;
        let mut pipeline = Pipeline::with_capacity(reads.len());
        let mut waiting = Vec::with_capacity(reads.len());
        let began = Instant::now();
        for read in reads {
            if is_over(read.request.deadline, began) {
                read.pending.finish_due();
            } else {
                pipeline.add_command(fetch::command(&read.request));
                waiting.push(read);
            }
        }
        if waiting.is_empty() {
            return;
        }
        let mut replies = pin!(connection.replies(&pipeline));
        let replies = loop {
            let next = soonest(waiting.iter().filter_map(Waiting::next));
            tokio::select! {
                biased;
                replies = &mut replies => break replies,
                () = until(next) => {
                    let now = Instant::now();
                    for read in &mut waiting {
                        read.pass(now);
                    }
                }
            }
        };
        match replies {
            Ok(replies) => {
                for (read, reply) in waiting.into_iter().zip(replies) {
                    read.settle(&client, &node, reply);
                }
            }
            Err(error) => {
                for read in waiting {
                    read.end(&client, Err(error.clone()));
                }
            }
        }
    }
}

/// The first of some moments, or the last of those just after it.
fn soonest(moments: impl Iterator<Item = Instant> + Clone) -> Option<Instant> {
    let first = moments.clone().min()?;
    moments.filter(|moment| *moment <= first + TOGETHER).max()
}

impl Waiting {
    /// When something is to be told, unless there is a reply.
    fn next(&self) -> Option<Instant> {
        if self.is_due {
            return None;
        }
        match (self.request.hedge_at, self.request.deadline) {
            (Some(hedge), Some(deadline)) => Some(hedge.min(deadline)),
            (hedge, deadline) => hedge.or(deadline),
        }
    }

    fn pass(&mut self, now: Instant) {
        if self.is_due {
            return;
        }
        if is_over(self.request.deadline, now) {
            self.is_due = true;
            self.pending.due();
        } else if self.request.hedge_at.is_some_and(|at| now >= at) {
            self.request.hedge_at = None;
            self.pending.hedge();
        }
    }

    fn settle(self, client: &Arc<Shared>, node: &Node, reply: Value) {
        if let Servers::Cluster(cluster) = &client.servers
            && let Some(redirect) = Redirect::from_reply(&reply, node.endpoint.host())
        {
            if let Redirect::Moved { slot, to } = redirect {
                cluster.moved(client, slot, to);
            }
            if !self.is_due {
                drop(tokio::spawn(self.alone()));
            }
            return;
        }
        self.end(client, checked(reply));
    }

    fn end(self, client: &Shared, reply: Result<Value, RemoteError>) {
        let Self {
            pending,
            request,
            is_due,
        } = self;
        if is_due {
            read::too_late(client, &request, reply);
        } else if let Some((pending, found)) = read::answer(pending, &request, reply) {
            drop(tokio::spawn(read::open_beside(pending, request.deadline, found)));
        }
    }

    async fn alone(self) {
        read::run(self.pending, self.request).await;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_is_told_before_its_moment_and_hardly_after(offsets in prop::collection::vec(0_u64..5_000, 1..64)) {
            let base = Instant::now();
            let mut left: Vec<_> = offsets.iter().map(|micros| base + Duration::from_micros(*micros)).collect();
            while let Some(moment) = soonest(left.iter().copied()) {
                let first = left.iter().min().unwrap();
                prop_assert!(left.contains(&moment));
                prop_assert!((*first..=*first + TOGETHER).contains(&moment));
                left.retain(|at| *at > moment);
            }
            prop_assert!(left.is_empty());
        }
    }
}
