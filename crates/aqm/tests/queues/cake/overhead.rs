//! The overhead of packets on the links that tc-cake(8) names.

use bloatlab_aqm::cake::Params;
use bloatlab_aqm::cake::overhead::Overhead;
use serde_json::{Value, json};

fn overhead(params: Value, header: u32) -> Overhead {
    let params: Params = serde_json::from_value(params).unwrap();
    params.overhead(header)
}

/// The keyword, and the sizes on the link of IP packets of 1500 and of 40 bytes. ATM cells have 53 bytes and carry 48; PTM adds a byte for each
/// started 64 bytes.
const LINKS: [(&str, u32, u32); 14] = [
    ("raw", 1500, 40),
    // 1548 = 32.25 cells, 88 = 1.8.
    ("conservative", 33 * 53, 2 * 53),
    // 78 is below the minimum of 84.
    ("ethernet", 1538, 84),
    ("docsis", 1518, 64),
    // 1530 / 64 = 23.9, 70 / 64 = 1.1.
    ("pppoe-ptm", 1530 + 24, 70 + 2),
    ("bridged-ptm", 1522 + 24, 62 + 1),
    // 1510 = 31.5 cells, 50 = 1.04.
    ("pppoa-vcmux", 32 * 53, 2 * 53),
    ("pppoa-llc", 32 * 53, 2 * 53),
    ("pppoe-vcmux", 32 * 53, 2 * 53),
    // 1540 = 32.1 cells.
    ("pppoe-llcsnap", 33 * 53, 2 * 53),
    ("bridged-vcmux", 32 * 53, 2 * 53),
    ("bridged-llcsnap", 32 * 53, 2 * 53),
    // 48 = one cell exactly.
    ("ipoa-vcmux", 32 * 53, 53),
    ("ipoa-llcsnap", 32 * 53, 2 * 53),
];

#[test]
fn keywords_cost_what_the_manual_says() {
    for (link, large, small) in LINKS {
        let bare = overhead(json!({ "link": link }), 0);
        assert_eq!(
            (bare.adjust(1500), bare.adjust(40)),
            (large, small),
            "{link}"
        );
    }
}

#[test]
fn overhead_counts_from_the_ip_packet_unless_raw() {
    for (link, large, small) in LINKS.into_iter().skip(1) {
        let framed = overhead(json!({ "link": link }), 14);
        assert_eq!(
            (framed.adjust(1514), framed.adjust(54)),
            (large, small),
            "{link}"
        );
    }
    assert_eq!(overhead(json!({}), 14).adjust(1514), 1514);
    assert_eq!(overhead(json!({ "link": "raw" }), 14).adjust(1514), 1514);
    assert_eq!(overhead(json!({ "overhead": 10 }), 14).adjust(1514), 1510);
    let raw = json!({ "link": "raw", "overhead": 10 });
    assert_eq!(overhead(raw, 14).adjust(1514), 1524);
    // Framing and minimum size alone leave the reported size unchanged: 1514 = 31.5 cells.
    assert_eq!(overhead(json!({ "atm": "atm" }), 14).adjust(1514), 32 * 53);
    assert_eq!(overhead(json!({ "mpu": 100 }), 14).adjust(54), 100);
}

#[test]
fn what_is_given_replaces_the_keyword_and_tags_are_added() {
    let tagged = overhead(json!({ "link": "pppoe-ptm", "ether_vlan": 2 }), 0);
    // 1538 / 64 = 24.03.
    assert_eq!(tagged.adjust(1500), 1538 + 25);
    let changed = json!({ "link": "ethernet", "overhead": 18, "mpu": 64, "atm": "ptm" });
    assert_eq!(overhead(changed, 0).adjust(20), 64 + 1);
    assert_eq!(overhead(json!({ "overhead": -64 }), 0).adjust(1500), 1436);
    assert_eq!(overhead(json!({ "overhead": -64 }), 0).adjust(40), 0);
    assert_eq!(overhead(json!({ "ether_vlan": 1 }), 14).adjust(1514), 1504);
}
