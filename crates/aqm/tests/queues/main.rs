//! Tests of each queue against its source, with the expected numbers computed by hand, in one file per queue. All are one binary, so that they are
//! linked only once.

#[path = "../common/mod.rs"]
mod common;

mod blue;
mod cake;
mod choke;
mod cobalt;
mod codel;
mod contents;
mod drr;
mod dualpi2;
mod fifo;
mod fq;
mod fq_codel;
mod fq_pie;
mod gsp;
mod hhf;
mod infinite;
mod offload;
mod pie;
mod priority;
mod red;
mod rlc_codel_2022;
mod sfb;
mod sfq;
mod shapers;
