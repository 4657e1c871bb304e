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

/// Calls a JavaScript function from any thread. Does not keep the process alive.
#[derive(Clone)]
pub struct Wake(Arc<Weak>);

impl Wake {
    /// Wakes by calling `function`, which must not throw.
    pub fn new(function: &Function<'_, (), ()>) -> napi::Result<Self> {
        let weak = function
            .build_threadsafe_function()
            .callee_handled::<false>()
            .weak::<true>()
            .build()?;
        Ok(Self(Arc::new(weak)))
    }

    /// Calls the function soon. Does nothing once the environment is gone.
    pub fn call(&self) {
        self.0.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }
}

/// Keeps the process alive while somebody waits for the I/O thread.
///
/// A threadsafe function is referenced or not: it does not count, so the count is here.
pub struct Hold {
    env: Env,
    wake: Wake,
    count: Cell<u32>,
}

impl Hold {
    /// Nobody waits yet.
    pub const fn new(env: Env, wake: Wake) -> Self {
        Self {
            env,
            wake,
            count: Cell::new(0),
        }
    }

    /// One more waits. To be called on the JavaScript thread.
    pub fn retain(&self) {
        let count = self.count.get();
        self.count.set(count + 1);
        if count == 0 {
            // SAFETY: this thread is the environment's, which is alive while it runs, and the
            // threadsafe function lives as long as `wake`.
            unsafe { sys::napi_ref_threadsafe_function(self.env.raw(), self.wake.0.raw()) };
        }
    }

    /// One less waits. To be called on the JavaScript thread.
    pub fn release(&self) {
        let count = self.count.get().saturating_sub(1);
        self.count.set(count);
        if count == 0 {
            // SAFETY: as in `retain`.
            unsafe { sys::napi_unref_threadsafe_function(self.env.raw(), self.wake.0.raw()) };
        }
    }

    /// How many wait.
    pub const fn count(&self) -> u32 {
        self.count.get()
    }
}
