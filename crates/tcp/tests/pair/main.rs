//! Tests of two endpoints against each other, without the engine: everything arrives once and in order, and the connection ends.

mod faults;
mod handshake;
mod limited_transmit;
mod marks;
mod offload;
mod recovery;
mod rules;
mod send_buffer;
mod undo;
mod world;
