#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bloatlab_fuzz_model::trace::trace(bytes));
