//! Each queue against its source, with the numbers worked out by hand: a file a queue. One binary, so that they are linked once.

#[path = "../common/mod.rs"]
mod common;

mod blue;
mod cake;
mod choke;
mod cobalt;
mod codel;
mod drr;
mod dualpi2;
mod fifo;
mod fq;
mod fq_codel;
mod fq_pie;
mod gsp;
mod hhf;
mod infinite;
mod pie;
mod priority;
mod red;
mod rlc_codel_2022;
mod sfb;
mod sfq;
mod shapers;
