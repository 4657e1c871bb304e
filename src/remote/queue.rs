//! A queue between any thread and one that sleeps while there is nothing to do.

use std::mem;

use crate::sync::{Mutex, MutexGuard, Notify, PoisonError};

/// Whoever pushes pays for a short lock, and for waking the other thread only when that is asleep.
pub struct Queue<J> {
    state: Mutex<State<J>>,
    wake: Notify,
}

struct State<J> {
    jobs: Vec<J>,
    asleep: bool,
    ended: bool,
}

impl<J> Default for Queue<J> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                jobs: Vec::new(),
                asleep: false,
                ended: false,
            }),
            wake: Notify::new(),
        }
    }
}

impl<J> Queue<J> {
    /// Adds a job, or gives it back after the end.
    pub fn push(&self, job: J) -> Result<(), J> {
        let mut state = self.lock();
        if state.ended {
            return Err(job);
        }
        state.jobs.push(job);
        let wake = mem::take(&mut state.asleep);
        drop(state);
        if wake {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Lets [`Queue::next`] answer false; what is still queued is dropped by it.
    pub fn end(&self) {
        self.lock().ended = true;
        self.wake.notify_one();
    }

    /// Waits until there are jobs and puts all of them into `batch`, which has to be empty. False at
    /// the end.
    pub async fn next(&self, batch: &mut Vec<J>) -> bool {
        loop {
            {
                let mut state = self.lock();
                if state.ended {
                    let jobs = mem::take(&mut state.jobs);
                    // Dropping a job tells its owner, who must find the queue unlocked.
                    drop(state);
                    drop(jobs);
                    return false;
                }
                mem::swap(&mut state.jobs, batch);
                state.asleep = batch.is_empty();
            }
            if !batch.is_empty() {
                return true;
            }
            self.wake.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
