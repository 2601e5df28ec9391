//! Parameters as users write them.

use bloatlab_radio::pdcp::{PdcpParams, Timer};
use bloatlab_radio::rlc::{Framing, RlcParams};
use bloatlab_units::{Duration, MILLISECOND};
use serde_json::json;

fn rlc(value: serde_json::Value) -> Result<RlcParams, String> {
    let params: RlcParams = serde_json::from_value(value).map_err(|error| error.to_string())?;
    params.validate().map(|()| params)
}

fn pdcp(value: serde_json::Value) -> Result<PdcpParams, String> {
    let params: PdcpParams = serde_json::from_value(value).map_err(|error| error.to_string())?;
    params.validate().map(|()| params)
}

#[test]
fn what_is_written_is_read() {
    let um = rlc(json!({"mode": "um", "framing": "lena", "t_reassembly": "50ms"}));
    assert_eq!(um.as_ref().map(RlcParams::framing), Ok(Framing::Lena));
    let am =
        rlc(json!({"mode": "am", "sn_bits": 12, "poll_byte": "25kB", "max_retx_threshold": 4}));
    assert!(am.is_ok(), "{am:?}");
    let text = serde_json::to_value(&am).unwrap_or_default();
    assert_eq!(rlc(text["Ok"].clone()), am);
    let params = pdcp(json!({"discard_timer": "infinite", "t_reordering": "40ms"}));
    let Ok(params) = params else {
        panic!("{params:?}")
    };
    assert_eq!(params.discard_timer, Timer::Infinite);
    assert_eq!(
        params.t_reordering,
        Timer::Finite(Duration(40 * MILLISECOND))
    );
    assert_eq!(params.header(), 4);
    assert_eq!(
        pdcp(json!({"sn_bits": 12, "sdap_header": false})).map(|p| p.header()),
        Ok(2)
    );
}

#[test]
fn disallowed_values_are_named() {
    let refused = |value: serde_json::Value, with: &str| {
        let error = rlc(value).err().unwrap_or_default();
        assert!(error.contains(with), "{error}");
    };
    refused(
        json!({"mode": "um", "sn_bits": 12, "pollPDU": 3}),
        "unknown field `pollPDU`",
    );
    refused(json!({"mode": "tm"}), "unknown variant `tm`");
    refused(
        json!({"mode": "um", "sn_bits": 18}),
        "sn_bits: must be 6 or 12, not 18",
    );
    refused(
        json!({"mode": "am", "sn_bits": 6}),
        "sn_bits: must be 12 or 18, not 6",
    );
    refused(
        json!({"mode": "am", "framing": "lena", "sn_bits": 12}),
        "sn_bits: must be 10 in the lena framing, not 12",
    );
    refused(
        json!({"mode": "um", "t_reassembly": "1s"}),
        "t_reassembly: 1s is out of range (allowed: 0ns to 200ms)",
    );
    refused(
        json!({"mode": "am", "t_poll_retransmit": "0ms"}),
        "t_poll_retransmit: 0ns is out of range",
    );
    refused(
        json!({"mode": "am", "t_status_prohibit": "3s"}),
        "t_status_prohibit: 3s is out of range",
    );
    refused(
        json!({"mode": "am", "poll_pdu": 100_000}),
        "poll_pdu: 100000 is out of range",
    );
    refused(
        json!({"mode": "am", "poll_byte": "41MB"}),
        "poll_byte: 41MB is out of range",
    );
    refused(
        json!({"mode": "am", "max_retx_threshold": 0}),
        "max_retx_threshold: 0 is out of range (allowed: 1 to 32)",
    );
    let refused = |value: serde_json::Value, with: &str| {
        let error = pdcp(value).err().unwrap_or_default();
        assert!(error.contains(with), "{error}");
    };
    refused(json!({"sn_bits": 10}), "sn_bits: must be 12 or 18, not 10");
    refused(
        json!({"discard_timer": "5ms"}),
        "discard_timer: 5ms is out of range (allowed: 10ms to 1500ms, or infinite)",
    );
    refused(json!({"discard_timer": "never"}), "(or `infinite`)");
    refused(
        json!({"t_reordering": "4s"}),
        "t_reordering: 4s is out of range",
    );
}
