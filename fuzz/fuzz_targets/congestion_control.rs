#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bloatlab_fuzz_model::congestion_control::congestion_control(bytes)
});
