//! The end of an environment: the JavaScript thread ends the I/O thread and waits for it, and then the
//! wake is gone.

use std::sync::atomic::{AtomicBool, Ordering};

use dialcache_models::explore;
use dialcache_models::post::{Letters, Post, Waker};
use dialcache_models::queue::Queue;
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

#[derive(Default)]
struct Answers(Vec<(u32, bool)>);

impl Letters for Answers {
    type Letter = (u32, bool);

    fn post(&mut self, letter: Self::Letter) {
        self.0.push(letter);
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

#[derive(Clone, Default)]
struct Wake {
    gone: std::sync::Arc<AtomicBool>,
}

impl Waker for Wake {
    fn call(&self) {
        assert!(!self.gone.load(Ordering::SeqCst), "a wake after the environment's end");
    }
}

type Mailbox = Arc<Post<Answers, Wake>>;

/// As the package's `Pending`: answers once, at the latest when it is dropped.
struct Request {
    number: u32,
    mailbox: Option<Mailbox>,
}

impl Request {
    fn answer(&mut self, served: bool) {
        if let Some(mailbox) = self.mailbox.take() {
            mailbox.post((self.number, served));
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.answer(false);
    }
}

#[test]
fn every_accepted_request_is_answered_once_and_nobody_is_woken_after_the_end() {
    explore(|| {
        let wake = Wake::default();
        let mailbox: Mailbox = Arc::new(Post::new(wake.clone()));
        let queue = Arc::new(Queue::default());
        let io = thread::spawn({
            let queue: Arc<Queue<Request>> = queue.clone();
            move || {
                block_on(async {
                    let mut batch = Vec::new();
                    while queue.next(&mut batch).await {
                        batch.drain(..).for_each(|mut request| request.answer(true));
                    }
                });
            }
        });
        let push = |number| {
            let mailbox = Some(mailbox.clone());
            let refused = queue.push(Request { number, mailbox });
            // The caller learns it from the refusal.
            refused.map_err(|mut request| request.mailbox = None).is_ok()
        };
        assert!(push(1) && push(2));
        // What has come by then is read; whoever fetched rests.
        let mut letters = Answers::default();
        mailbox.fetch(&mut letters);
        let mut answers = std::mem::take(&mut letters.0);
        mailbox.rest(&letters);

        queue.end();
        io.join().unwrap();
        wake.gone.store(true, Ordering::SeqCst);
        assert!(!push(3), "the end refuses");

        mailbox.fetch(&mut letters);
        answers.append(&mut letters.0);
        answers.sort_unstable();
        assert_eq!(answers.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2]);
    });
}
