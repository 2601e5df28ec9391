//! The tc options of cake.

use crate::tc::{Form, Tc, Word};

/// An option that sets a parameter to a JSON value.
const fn flag(tc: &'static str, field: &'static str, value: &'static str) -> Word {
    Word::new(tc, field, Form::Flag(value))
}

/// tc-cake(8).
pub(super) const TC: &[Tc] = &[Tc {
    name: "cake",
    words: &[
        Word::same("bandwidth", Form::Rate),
        flag("unlimited", "bandwidth", "null"),
        flag("besteffort", "diffserv", "\"besteffort\""),
        flag("precedence", "diffserv", "\"precedence\""),
        flag("diffserv8", "diffserv", "\"diffserv8\""),
        flag("diffserv4", "diffserv", "\"diffserv4\""),
        flag("diffserv3", "diffserv", "\"diffserv3\""),
        flag("flowblind", "flowmode", "\"flowblind\""),
        flag("srchost", "flowmode", "\"srchost\""),
        flag("dsthost", "flowmode", "\"dsthost\""),
        flag("hosts", "flowmode", "\"hosts\""),
        flag("flows", "flowmode", "\"flows\""),
        flag("dual-srchost", "flowmode", "\"dual-srchost\""),
        flag("dual-dsthost", "flowmode", "\"dual-dsthost\""),
        flag("triple-isolate", "flowmode", "\"triple-isolate\""),
        // There is no address translation here.
        Word::same("nonat", Form::Nothing),
        Word::same("nat", Form::Nothing),
        flag("wash", "wash", "true"),
        flag("nowash", "wash", "false"),
        flag("ingress", "ingress", "true"),
        flag("egress", "ingress", "false"),
        flag("ack-filter", "ack_filter", "\"enabled\""),
        flag("ack-filter-aggressive", "ack_filter", "\"aggressive\""),
        flag("no-ack-filter", "ack_filter", "\"disabled\""),
        // There are no merged packets here.
        Word::same("split-gso", Form::Nothing),
        Word::same("no-split-gso", Form::Nothing),
        Word::same("rtt", Form::Time),
        flag("datacentre", "rtt", "\"100us\""),
        flag("lan", "rtt", "\"1ms\""),
        flag("metro", "rtt", "\"10ms\""),
        flag("regional", "rtt", "\"30ms\""),
        flag("internet", "rtt", "\"100ms\""),
        flag("oceanic", "rtt", "\"300ms\""),
        flag("satellite", "rtt", "\"1s\""),
        flag("interplanetary", "rtt", "\"3600s\""),
        flag("raw", "link", "\"raw\""),
        flag("conservative", "link", "\"conservative\""),
        flag("ethernet", "link", "\"ethernet\""),
        flag("docsis", "link", "\"docsis\""),
        flag("pppoe-ptm", "link", "\"pppoe-ptm\""),
        flag("bridged-ptm", "link", "\"bridged-ptm\""),
        flag("pppoa-vcmux", "link", "\"pppoa-vcmux\""),
        flag("pppoa-llc", "link", "\"pppoa-llc\""),
        flag("pppoe-vcmux", "link", "\"pppoe-vcmux\""),
        flag("pppoe-llcsnap", "link", "\"pppoe-llcsnap\""),
        flag("bridged-vcmux", "link", "\"bridged-vcmux\""),
        flag("bridged-llcsnap", "link", "\"bridged-llcsnap\""),
        flag("ipoa-vcmux", "link", "\"ipoa-vcmux\""),
        flag("ipoa-llcsnap", "link", "\"ipoa-llcsnap\""),
        flag("ether-vlan", "ether_vlan", "1"),
        flag("noatm", "atm", "\"noatm\""),
        flag("atm", "atm", "\"atm\""),
        flag("ptm", "atm", "\"ptm\""),
        Word::same("overhead", Form::Decimal(-64, 256)),
        Word::same("mpu", Form::Decimal(0, 256)),
        Word::same("memlimit", Form::Size),
        Word::same("fwmark", Form::Refused("packets have no firewall mark")),
        Word::same(
            "autorate-ingress",
            Form::Refused("the rate is not estimated from arrivals: set `bandwidth`"),
        ),
    ],
    required: &[],
    presets: &[],
}];
