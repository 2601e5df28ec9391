//! The time of a run in real time: the kernel's monotonic clock, counted from the start of the run.

use bloatlab_units::{Nanos, SECOND};

/// The clock of a run. All its threads share it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Nanos,
}

impl Clock {
    /// A clock whose run starts this long after now.
    pub fn starting_in(delay: Nanos) -> Self {
        Self {
            start: monotonic() + delay,
        }
    }

    /// Sleeps until an instant of the run. Returns at once if it has passed.
    pub fn sleep_until(&self, at: Nanos) {
        let left = self.monotonic(at).saturating_sub(monotonic());
        if left > 0 {
            std::thread::sleep(std::time::Duration::from_nanos(left));
        }
    }

    /// Time since the start of the run; 0 before it.
    pub fn now(&self) -> Nanos {
        monotonic().saturating_sub(self.start)
    }

    /// The instant of the run that a reading of the realtime clock stands for; the clocks are compared now.
    pub fn from_realtime(&self, at: Nanos) -> Nanos {
        let ago = realtime().saturating_sub(at);
        self.now().saturating_sub(ago)
    }

    /// The realtime clock at the start of the run; the clocks are compared now.
    pub fn realtime_at_start(&self) -> Nanos {
        realtime() - self.now()
    }

    /// An instant of the run on the monotonic clock, for timers with absolute time.
    pub fn monotonic(&self, at: Nanos) -> Nanos {
        self.start + at
    }
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic() -> Nanos {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of the realtime clock, which the kernel uses for time stamps of packets.
pub(crate) fn realtime() -> Nanos {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of the calling thread, ns.
pub(crate) fn thread_cpu_time() -> Nanos {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a valid timespec, and these clocks always exist.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as Nanos * SECOND + time.tv_nsec as Nanos
}
