//! What one thread posts and another fetches, with a wake for the first of many.

use std::mem;

use crate::sync::{Mutex, MutexGuard, PoisonError};

/// What is posted, in its order.
pub trait Letters: Default {
    /// One of them.
    type Letter;

    /// Adds one.
    fn post(&mut self, letter: Self::Letter);

    /// Whether all are read.
    fn is_empty(&self) -> bool;

    /// Forgets what was read.
    fn clear(&mut self);
}

/// Wakes the thread that fetches.
pub trait Waker {
    /// Makes it fetch soon.
    fn call(&self);
}

/// Where letters are posted. One wake brings all that are there.
pub struct Post<L, W> {
    state: Mutex<State<L>>,
    wake: W,
}

#[derive(Default)]
struct State<L> {
    letters: L,
    /// Whether somebody was woken and has not gone to rest since.
    awake: bool,
}

impl<L: Letters, W: Waker> Post<L, W> {
    /// An empty one that announces its first letter with `wake`.
    pub fn new(wake: W) -> Self {
        Self {
            state: Mutex::new(State::default()),
            wake,
        }
    }

    /// Adds a letter, and wakes unless somebody is awake.
    pub fn post(&self, letter: L::Letter) {
        let mut state = self.lock();
        state.letters.post(letter);
        let awake = mem::replace(&mut state.awake, true);
        // Whoever is woken finds the letters unlocked.
        drop(state);
        if !awake {
            self.wake.call();
        }
    }

    /// Everything that is there, in exchange for letters that are read; nothing while some of them are
    /// not. What comes from now on wakes nobody before [`Post::rest`].
    pub fn fetch(&self, read: &mut L) {
        if read.is_empty() {
            read.clear();
            mem::swap(&mut self.lock().letters, read);
        }
    }

    /// Lets the next letter wake again, unless `unread` has some or new ones are there: then false.
    pub fn rest(&self, unread: &L) -> bool {
        if !unread.is_empty() {
            return false;
        }
        let mut state = self.lock();
        if state.letters.is_empty() {
            state.awake = false;
        }
        !state.awake
    }

    fn lock(&self) -> MutexGuard<'_, State<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
