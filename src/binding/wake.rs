//! Waking the JavaScript thread.

#![expect(
    unsafe_code,
    reason = "napi has no safe way to reference a threadsafe function back and forth"
)]

use std::cell::Cell;
use std::sync::Arc;

use napi::bindgen_prelude::{Env, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Status, sys};

type Weak = ThreadsafeFunction<(), (), (), Status, false, true>;

/// Calls JavaScript from any thread. Does not keep the process alive.
#[derive(Clone)]
pub struct Wake(Arc<Functions>);

struct Functions {
    wake: Weak,
    later: Weak,
}

impl Wake {
    /// Wakes by calling `wake`; calls `later` when what it does is over. Neither must throw.
    pub fn new(wake: &Function<'_, (), ()>, later: &Function<'_, (), ()>) -> napi::Result<Self> {
        Ok(Self(Arc::new(Functions {
            wake: weak(wake)?,
            later: weak(later)?,
        })))
    }

    /// Wakes soon. Does nothing once the environment is gone.
    pub fn call(&self) {
        self.0.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }

    /// Calls the other function, once the continuations of the running one are over. No timer of
    /// JavaScript's does that: a test may have replaced them all.
    pub fn call_later(&self) {
        self.0.later.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }
}

fn weak(function: &Function<'_, (), ()>) -> napi::Result<Weak> {
    function
        .build_threadsafe_function()
        .callee_handled::<false>()
        .weak::<true>()
        .build()
}

/// Keeps the process alive while somebody waits for the I/O thread.
///
/// A threadsafe function is referenced or not: it does not count, so the count is here.
pub struct Hold {
    env: Env,
    wake: Wake,
    count: Cell<u32>,
    weak_count: Cell<u32>,
}

impl Hold {
    /// Nobody waits yet.
    pub const fn new(env: Env, wake: Wake) -> Self {
        Self {
            env,
            wake,
            count: Cell::new(0),
            weak_count: Cell::new(0),
        }
    }

    /// One more waits. To be called on the JavaScript thread.
    pub fn retain(&self) {
        let count = self.count.get();
        self.count.set(count + 1);
        if count == 0 {
            // SAFETY: this thread is the environment's, which is alive while it runs, and the
            // threadsafe function lives as long as `wake`.
            unsafe { sys::napi_ref_threadsafe_function(self.env.raw(), self.wake.0.wake.raw()) };
        }
    }

    /// One less waits. To be called on the JavaScript thread.
    pub fn release(&self) {
        let count = self.count.get().saturating_sub(1);
        self.count.set(count);
        if count == 0 {
            // SAFETY: as in `retain`.
            unsafe { sys::napi_unref_threadsafe_function(self.env.raw(), self.wake.0.wake.raw()) };
        }
    }

    /// One more waits, without keeping the process alive.
    pub fn retain_weakly(&self) {
        self.weak_count.set(self.weak_count.get() + 1);
    }

    /// One less waits of those.
    pub fn release_weakly(&self) {
        self.weak_count.set(self.weak_count.get().saturating_sub(1));
    }

    /// How many wait and keep the process alive.
    pub const fn count(&self) -> u32 {
        self.count.get()
    }

    /// How many wait without that.
    pub const fn weak_count(&self) -> u32 {
        self.weak_count.get()
    }
}
