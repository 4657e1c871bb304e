//! Requests on their way to the I/O thread, which sleeps while there are none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dialcache_models::explore;
use dialcache_models::queue::Queue;
use loom::future::block_on;
use loom::thread;

/// How often jobs ended, and how.
#[derive(Default)]
struct Ends {
    run: AtomicUsize,
    dropped: AtomicUsize,
}

/// Like a pending request: one that is dropped before it ran says so.
struct Job(Option<Arc<Ends>>);

impl Job {
    fn new(ends: &Arc<Ends>) -> Self {
        Self(Some(Arc::clone(ends)))
    }

    fn run(mut self) {
        if let Some(ends) = self.0.take() {
            ends.run.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some(ends) = self.0.take() {
            ends.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Takes jobs until `wanted` have come: hangs, which loom reports, if a wake gets lost.
fn take(queue: &Queue<Job>, wanted: usize) {
    block_on(async {
        let (mut batch, mut taken) = (Vec::new(), 0);
        while taken < wanted {
            assert!(queue.next(&mut batch).await);
            taken += batch.len();
            batch.drain(..).for_each(Job::run);
        }
    });
}

#[test]
fn no_wake_is_lost() {
    explore(|| {
        let ends = Arc::new(Ends::default());
        let queue = loom::sync::Arc::new(Queue::default());
        let taker = thread::spawn({
            let queue = queue.clone();
            move || take(&queue, 3)
        });
        for _ in 0..3 {
            assert!(queue.push(Job::new(&ends)).is_ok());
        }
        taker.join().unwrap();
        assert_eq!(ends.run.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn nor_with_two_that_push() {
    explore(|| {
        let ends = Arc::new(Ends::default());
        let queue = loom::sync::Arc::new(Queue::default());
        let other = thread::spawn({
            let (queue, ends) = (queue.clone(), Arc::clone(&ends));
            move || assert!(queue.push(Job::new(&ends)).is_ok())
        });
        let pusher = thread::spawn({
            let (queue, ends) = (queue.clone(), Arc::clone(&ends));
            move || assert!(queue.push(Job::new(&ends)).is_ok())
        });
        take(&queue, 2);
        other.join().unwrap();
        pusher.join().unwrap();
        assert_eq!(ends.run.load(Ordering::Relaxed), 2);
    });
}

/// A job that is taken runs or is dropped by the end, never both and never neither; one that is not
/// taken is given back.
#[test]
fn every_job_ends_once_whenever_the_end_comes() {
    explore(|| {
        let ends = Arc::new(Ends::default());
        let queue = loom::sync::Arc::new(Queue::default());
        let io = thread::spawn({
            let queue = queue.clone();
            move || {
                block_on(async {
                    let mut batch = Vec::new();
                    while queue.next(&mut batch).await {
                        batch.drain(..).for_each(Job::run);
                    }
                });
            }
        });
        let pusher = thread::spawn({
            let (queue, ends) = (queue.clone(), Arc::clone(&ends));
            move || {
                (0..2)
                    .filter(|_| queue.push(Job::new(&ends)).map_err(Job::forget).is_ok())
                    .count()
            }
        });
        queue.end();
        let taken = pusher.join().unwrap();
        io.join().unwrap();
        let ended = ends.run.load(Ordering::Relaxed) + ends.dropped.load(Ordering::Relaxed);
        assert_eq!(ended, taken);
        assert!(queue.push(Job::new(&ends)).map_err(Job::forget).is_err());
    });
}
