//! A list that one thread fills and another empties, with a descriptor that is readable while there is something in it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// The list. Both sides hold its lock only while they move its items.
#[derive(Debug)]
pub(super) struct Mailbox<T> {
    items: Mutex<Vec<T>>,
    /// Its counter is 1 while there are items, else 0.
    bell: EventFd,
}

impl<T> Mailbox<T> {
    /// An empty list.
    pub fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self {
            items: Mutex::default(),
            bell: EventFd::from_flags(flags)?,
        })
    }

    /// Appends items.
    pub fn put(&self, items: impl IntoIterator<Item = T>) {
        let mut held = self.lock();
        let was_empty = held.is_empty();
        held.extend(items);
        if was_empty && !held.is_empty() {
            // The counter is 0, so the call cannot fail.
            let _ = self.bell.write(1);
        }
    }

    /// Moves all items to the end of a list.
    pub fn take(&self, into: &mut Vec<T>) {
        let mut held = self.lock();
        if !held.is_empty() {
            // The counter is 1, so the call cannot fail.
            let _ = self.bell.read();
            into.append(&mut held);
        }
    }

    /// The lock is good even if a thread panicked while it held it: no change of the list is visible in part.
    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> AsFd for Mailbox<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
