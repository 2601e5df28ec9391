//! The congestion control of `docs/adding-a-congestion-control.md`, compiled exactly as the page shows it, and run.

// The names that `crates/cc/src/lib.rs` has in scope, so that the file is the same as in `crates/cc/src`.
use bloatlab_cc::{Ack, CongestionControl, Factory, Signal, Window, slow_start};
use bloatlab_units::Streams;

mod aimd;

const PAGE: &str = include_str!("../../../../docs/adding-a-congestion-control.md");
const FILE: &str = include_str!("aimd.rs");
const LIB: &str = include_str!("../../src/lib.rs");

#[test]
fn the_page_shows_the_file_that_is_compiled_here() {
    assert!(
        PAGE.contains(&format!("```rust\n{FILE}```\n")),
        "the page and aimd.rs differ"
    );
}

#[test]
fn the_registry_has_the_lines_that_the_page_extends() {
    let line = "    Aimd(aimd) = \"aimd\",\n";
    let shown = PAGE
        .split_once(line)
        .expect("the page shows the registry line")
        .0;
    let before = shown
        .rsplit_once("registry! {\n")
        .expect("inside the registry")
        .1;
    assert!(
        LIB.contains(&format!("registry! {{\n{before}")),
        "the page's registry differs from lib.rs"
    );
}

#[test]
fn it_grows_by_a_segment_a_window_and_falls_by_an_eighth() {
    let mut cc = aimd::Params::default().build(Streams::new(1).stream("cc"));
    let mut window = Window::new(1000, 10);
    window.ssthresh = 10_000;
    let ack = Ack {
        acked: 1005,
        delivered_now: 1005,
        cwnd_limited: true,
        ..Ack::default()
    };
    cc.on_ack(&mut window, &ack);
    assert_eq!(window.cwnd, 10_100, "100.5 bytes, the half is kept");
    cc.on_ack(&mut window, &ack);
    assert_eq!(window.cwnd, 10_200, "99.5 bytes and the half");
    cc.on_congestion(&mut window, Signal::Loss, &ack);
    assert_eq!(window.ssthresh, 8_925);
}
