//! Any queue of the registry under any operations, both made of the fuzzer's bytes.
#![no_main]

use bloatlab_aqm_model::Episode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|episode: Episode| {
    episode.run(true);
});
