//! A list that one thread fills and another empties, with a descriptor that is readable while there is something in it that cannot wait.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// The list. Both sides hold its lock only while they move its items.
#[derive(Debug)]
pub(super) struct Mailbox<T> {
    held: Mutex<Held<T>>,
    /// Its counter is 1 while it is rung, else 0.
    bell: EventFd,
}

/// Items, and whether the other thread was called to take them.
#[derive(Debug)]
struct Held<T> {
    items: Vec<T>,
    is_rung: bool,
}

impl<T> Mailbox<T> {
    /// An empty list.
    pub fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self {
            held: Mutex::new(Held {
                items: Vec::new(),
                is_rung: false,
            }),
            bell: EventFd::from_flags(flags)?,
        })
    }

    /// Appends items, and calls the other thread if one of them cannot wait.
    pub fn put(&self, items: impl IntoIterator<Item = T>, cannot_wait: impl Fn(&T) -> bool) {
        let mut held = self.lock();
        let known = held.items.len();
        held.items.extend(items);
        if !held.is_rung && held.items[known..].iter().any(cannot_wait) {
            held.is_rung = true;
            // The counter is 0, so the call cannot fail.
            let _ = self.bell.write(1);
        }
    }

    /// Moves all items to the end of a list.
    pub fn take(&self, into: &mut Vec<T>) {
        let mut held = self.lock();
        if std::mem::take(&mut held.is_rung) {
            // The counter is 1, so the call cannot fail.
            let _ = self.bell.read();
        }
        into.append(&mut held.items);
    }

    /// The lock is good even if a thread panicked while it held it: no change of the list is visible in part.
    fn lock(&self) -> MutexGuard<'_, Held<T>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> AsFd for Mailbox<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_wait_calls_the_other_thread() {
        let mailbox = Mailbox::new().unwrap();
        let is_rung = || mailbox.lock().is_rung;
        let cannot_wait = |number: &u32| *number >= 10;
        mailbox.put([1, 2], cannot_wait);
        assert!(!is_rung());
        mailbox.put([10], cannot_wait);
        mailbox.put([3], cannot_wait);
        assert!(is_rung());
        let mut taken = Vec::new();
        mailbox.take(&mut taken);
        assert_eq!(taken, [1, 2, 10, 3]);
        assert!(!is_rung());
        assert!(mailbox.bell.read().is_err(), "the counter is 0");
    }
}
