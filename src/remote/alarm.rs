//! Waiting for a moment, to a fraction of a millisecond where the system can.

use std::time::{Duration, Instant};

/// The runtime's timers and the system call below them each round up to whole milliseconds: a moment
/// would be missed by up to two. So the runtime waits up to here, and something exact for the rest.
const ROUNDING: Duration = Duration::from_millis(2);

/// Returns at `moment` or just after it, never before; without one, never.
pub(super) async fn until(moment: Option<Instant>) {
    let Some(moment) = moment else {
        return std::future::pending().await;
    };
    if let Some(early) = moment.checked_sub(ROUNDING)
        && Instant::now() < early
    {
        tokio::time::sleep_until(early.into()).await;
    }
    while Instant::now() < moment {
        exact::sleep_until(moment).await;
    }
}

#[cfg(target_os = "linux")]
mod exact {
    use std::cell::Cell;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Instant;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// Descriptors that a thread spends on this at most; whoever comes beyond is up to two milliseconds late.
    const MAX_TIMERS: usize = 64;

    thread_local! {
        static TIMERS: Cell<usize> = const { Cell::new(0) };
    }

    /// About until `moment`.
    pub(super) async fn sleep_until(moment: Instant) {
        if let Some(timer) = Timer::new(moment) {
            // Fails only when the runtime ends, and then nobody is left to be told.
            let _ = timer.0.readable().await;
        } else {
            tokio::time::sleep_until(moment.into()).await;
        }
    }

    struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        fn new(moment: Instant) -> Option<Self> {
            if TIMERS.get() >= MAX_TIMERS {
                return None;
            }
            let timer = Self(set(moment).ok()?);
            TIMERS.set(TIMERS.get() + 1);
            Some(timer)
        }
    }

    impl Drop for Timer {
        fn drop(&mut self) {
            TIMERS.set(TIMERS.get() - 1);
        }
    }

    fn set(moment: Instant) -> io::Result<AsyncFd<OwnedFd>> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let left = moment.saturating_duration_since(Instant::now());
        let once = Itimerspec {
            it_interval: none,
            it_value: Timespec {
                tv_sec: left.as_secs().try_into().map_err(io::Error::other)?,
                // Zero would be no timer at all.
                tv_nsec: left.subsec_nanos().max(1).into(),
            },
        };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
        #[expect(
            deprecated,
            reason = "unsound only for types that give up their descriptor, which an OwnedFd does not; what replaces it is unsafe"
        )]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        Ok(timer)
    }
}

#[cfg(not(target_os = "linux"))]
mod exact {
    pub(super) async fn sleep_until(moment: std::time::Instant) {
        tokio::time::sleep_until(moment.into()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_runtime(body: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build();
        runtime.unwrap().block_on(body);
    }

    #[test]
    fn no_moment_is_waited_for_too_short() {
        on_a_runtime(async {
            for micros in [0, 1, 50, 999, 1_000, 1_500, 2_001, 5_000] {
                let moment = Instant::now() + Duration::from_micros(micros);
                until(Some(moment)).await;
                assert!(Instant::now() >= moment, "{micros} us");
            }
        });
    }

    #[test]
    fn a_moment_that_has_passed_is_not_waited_for() {
        on_a_runtime(async {
            let mut past = std::pin::pin!(until(Some(Instant::now())));
            let first = std::future::poll_fn(|context| std::task::Poll::Ready(past.as_mut().poll(context))).await;
            assert!(first.is_ready());
        });
    }

    #[test]
    fn more_may_wait_than_there_are_exact_timers() {
        on_a_runtime(async {
            let moment = Instant::now() + Duration::from_micros(500);
            let waiting: Vec<_> = (0..300).map(|_| tokio::spawn(until(Some(moment)))).collect();
            // Those are given up, which gives their timers back.
            let dropped: Vec<_> = (0..300)
                .map(|_| tokio::spawn(until(Some(moment + Duration::from_secs(60)))))
                .collect();
            tokio::task::yield_now().await;
            dropped.iter().for_each(tokio::task::JoinHandle::abort);
            for wait in waiting {
                wait.await.unwrap();
            }
            assert!(Instant::now() >= moment);
        });
    }
}
