//! Events on their way to the JavaScript thread, which is woken once for many.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

use dialcache_models::explore;
use dialcache_models::post::{Letters, Post, Waker};
use dialcache_models::sync::Notify;
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

#[derive(Default)]
struct Numbers(VecDeque<u32>);

impl Letters for Numbers {
    type Letter = u32;

    fn post(&mut self, letter: u32) {
        self.0.push_back(letter);
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

#[derive(Clone, Default)]
struct Wake(Arc<Notify>);

impl Waker for Wake {
    fn call(&self) {
        self.0.notify_one();
    }
}

/// The event loop's side, as lib/hub.ts has it: woken, it reads some, and what is left in later turns;
/// then it rests.
fn read(post: &Post<Numbers, Wake>, wake: &Wake, wanted: usize) -> Vec<u32> {
    let (mut letters, mut read) = (Numbers::default(), Vec::new());
    while read.len() < wanted {
        block_on(wake.0.notified());
        loop {
            post.fetch(&mut letters);
            // A batch of one: the rest is left over.
            read.extend(letters.0.pop_front());
            if post.rest(&letters) {
                break;
            }
        }
    }
    read
}

#[test]
fn every_letter_is_read_in_its_order() {
    explore(|| {
        let wake = Wake::default();
        let post = Arc::new(Post::<Numbers, _>::new(wake.clone()));
        let io = thread::spawn({
            let post = post.clone();
            move || (0..3).for_each(|letter| post.post(letter))
        });
        assert_eq!(read(&post, &wake, 3), [0, 1, 2]);
        io.join().unwrap();
    });
}

/// The I/O thread posts, and so does whoever drops a request that was refused.
#[test]
fn every_letter_of_two_threads_is_read() {
    explore(|| {
        let wake = Wake::default();
        let post = Arc::new(Post::<Numbers, _>::new(wake.clone()));
        let posters = [1, 2].map(|letter| {
            let post = post.clone();
            thread::spawn(move || post.post(letter))
        });
        let mut letters = read(&post, &wake, 2);
        letters.sort_unstable();
        assert_eq!(letters, [1, 2]);
        posters.into_iter().for_each(|poster| poster.join().unwrap());
    });
}

#[test]
fn nobody_is_woken_who_is_awake() {
    explore(|| {
        let wakes = Counting::default();
        let post = Arc::new(Post::<Numbers, _>::new(wakes.clone()));
        post.post(0);
        let io = thread::spawn({
            let post = post.clone();
            move || (1..3).for_each(|letter| post.post(letter))
        });
        // Awake since the first letter, and at rest only if nothing has come.
        let mut letters = Numbers::default();
        post.fetch(&mut letters);
        assert!(!post.rest(&letters));
        letters.clear();
        let rests = post.rest(&letters);
        io.join().unwrap();
        if !rests {
            post.post(3);
        }
        assert!(wakes.count() <= 1 + u32::from(rests));
    });
}

#[derive(Clone, Default)]
struct Counting(std::sync::Arc<AtomicU32>);

impl Counting {
    fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Waker for Counting {
    fn call(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
