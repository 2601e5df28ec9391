//! Errors of the hosts, in words.

use std::io;

use bloatlab_sim::Order;

/// An error that says what could not be done.
pub(super) fn failed_to(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("cannot {what}: {error}"))
}

/// The error of an order that the kind of the flow has no meaning for.
pub(super) fn unsuitable(order: Order) -> io::Error {
    let message = format!("an order for another kind of flow: {order:?}");
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// Whether an error is a part of a connection's life: the peer or the network caused it.
pub(super) fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionRefused
            | Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::TimedOut
            | Kind::HostUnreachable
    )
}
