//! Quantities as users write them: a number and its unit in a string. A number without a unit is refused.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Nanos;

/// Why a quantity could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

/// Splits `"16 Mbit/s"` into its number and unit and scales to an integer of the base unit.
fn parse(text: &str, what: &str, example: &str, units: &[(&str, f64)]) -> Result<u64, ParseError> {
    let text = text.trim();
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+'))
        .unwrap_or(text.len());
    let (number, unit) = (&text[..split], text[split..].trim());
    let error = |why: &str| {
        Err(ParseError(format!(
            "{why}: `{text}` is not a {what} such as `{example}`"
        )))
    };
    let Ok(number) = number.parse::<f64>() else {
        return error("no number");
    };
    let Some((_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
        let why = if unit.is_empty() {
            "no unit".to_owned()
        } else {
            format!("unknown unit `{unit}`")
        };
        return error(&format!("{why} (allowed: {})", known.join(", ")));
    };
    let value = (number * scale).round();
    if number < 0.0 || !value.is_finite() {
        return error("must not be negative");
    }
    if value >= 9.0e18 {
        return error("too large");
    }
    if value == 0.0 && number != 0.0 {
        return error("too small");
    }
    Ok(value as u64)
}

/// Writes the value in the largest unit that divides it.
fn write(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let (name, scale) = units
        .iter()
        .rev()
        .find(|(_, scale)| value != 0 && value.is_multiple_of(*scale))
        .unwrap_or(&units[0]);
    write!(f, "{}{name}", value / scale)
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $what:literal, $example:literal, $pattern:literal, $read:expr, $write:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl FromStr for $name {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                parse(text, $what, $example, $read).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(f, self.0, $write)
            }
        }

        text_serde!($name, $what, $example, $pattern);
    };
}

macro_rules! text_serde {
    ($name:ident, $what:literal, $example:literal, $pattern:literal) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "a {} with its unit such as \"{}\"", $what, $example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": concat!("a ", $what, " with its unit, such as ", $example),
                    "pattern": $pattern,
                })
            }
        }
    };
}

quantity!(
    /// A duration in nanoseconds, written `15ms`.
    Duration, "duration", "15ms", r"^\s*[0-9.]+\s*(ns|us|µs|ms|s|min|h)\s*$",
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)],
    &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)]
);

quantity!(
    /// A rate in bits per second, written `16Mbit/s`. The spellings `16Mbps` and `16Mbit` (bits, as in tc) are also accepted.
    Rate, "rate", "16Mbit/s", r"^\s*[0-9.]+\s*[kKMGT]?(bit/s|bps|bit|Bps|B/s)\s*$",
    &[
        ("bit/s", 1.0), ("bps", 1.0), ("bit", 1.0),
        ("kbit/s", 1e3), ("kbps", 1e3), ("kbit", 1e3), ("Kbps", 1e3), ("Kbit/s", 1e3), ("Kbit", 1e3),
        ("Mbit/s", 1e6), ("Mbps", 1e6), ("Mbit", 1e6),
        ("Gbit/s", 1e9), ("Gbps", 1e9), ("Gbit", 1e9),
        ("Tbit/s", 1e12), ("Tbps", 1e12), ("Tbit", 1e12),
        ("B/s", 8.0), ("Bps", 8.0), ("kB/s", 8e3), ("kBps", 8e3), ("MB/s", 8e6), ("MBps", 8e6), ("GB/s", 8e9), ("GBps", 8e9),
    ],
    &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)]
);

const BYTE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
];

quantity!(
    /// A number of bytes, written `4MB` (10^6) or `4MiB` (2^20).
    Bytes, "byte count", "4MB", r"^\s*[0-9.]+\s*(B|kB|MB|GB|KiB|MiB|GiB)\s*$",
    BYTE_UNITS,
    &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)]
);

quantity!(
    /// A frequency in hertz, written `3.5GHz`.
    Frequency, "frequency", "3.5GHz", r"^\s*[0-9.]+\s*[kMG]?Hz\s*$",
    &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)],
    &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)]
);

impl Duration {
    /// The duration in seconds, as a float.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl Rate {
    /// The time to send `bytes`, and a remainder (in 1/rate ns) to pass to the next call, so that rounding errors do not accumulate.
    #[inline]
    pub fn transmit(self, bytes: u64, remainder: u64) -> (Nanos, u64) {
        let work = bytes * 8_000_000_000 + remainder;
        (work / self.0, work % self.0)
    }
}

/// The capacity of a queue. The unit is part of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Packets of any size: `80p`.
    Packets(u64),
    /// Bytes on the wire: `120000B`.
    Bytes(u64),
    /// Buffers, each holding up to `segments_per_buffer` packets: `100buffers`.
    Buffers(u64),
}

impl FromStr for Limit {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut units = vec![("p", 1.0), ("packets", 1.0), ("buffers", 1.0)];
        units.extend_from_slice(BYTE_UNITS);
        let value = parse(text, "queue limit", "80p", &units)?;
        Ok(if text.trim_end().ends_with("buffers") {
            Self::Buffers(value)
        } else if text.trim_end().ends_with('B') {
            Self::Bytes(value)
        } else {
            Self::Packets(value)
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n}p"),
            Self::Bytes(n) => write!(f, "{n}B"),
            Self::Buffers(n) => write!(f, "{n}buffers"),
        }
    }
}

text_serde!(
    Limit,
    "queue limit",
    "80p",
    r"^\s*[0-9.]+\s*(p|packets|buffers|B|kB|MB|GB|KiB|MiB|GiB)\s*$"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_users_write() {
        assert_eq!("15ms".parse(), Ok(Duration(15_000_000)));
        assert_eq!("7.5 ms".parse(), Ok(Duration(7_500_000)));
        for text in ["16Mbps", "16Mbit", "16 Mbit/s", "16000kbit", "2MB/s"] {
            assert_eq!(text.parse(), Ok(Rate(16_000_000)), "{text}");
        }
        assert_eq!("3.5GHz".parse(), Ok(Frequency(3_500_000_000)));
        assert_eq!("80p".parse(), Ok(Limit::Packets(80)));
        assert_eq!("10kB".parse(), Ok(Limit::Bytes(10_000)));
        assert_eq!("20buffers".parse(), Ok(Limit::Buffers(20)));
    }

    #[test]
    fn refuses_with_the_reason() {
        let message = |r: Result<Duration, ParseError>| r.unwrap_err().to_string();
        assert!(message("15".parse()).contains("no unit (allowed: ns, us"));
        assert!(message("15furlongs".parse()).contains("unknown unit `furlongs`"));
        assert!(message("-1ms".parse()).contains("must not be negative"));
        assert!(message("fast".parse()).contains("no number"));
        assert!(message("1e9s".parse()).contains("unknown unit `e9s`"));
        assert!("99999999999h".parse::<Duration>().is_err());
        assert!("0.1ns".parse::<Duration>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value in 0_u64..1 << 52) {
            prop_assert_eq!(Duration(value).to_string().parse(), Ok(Duration(value)));
            prop_assert_eq!(Rate(value).to_string().parse(), Ok(Rate(value)));
            prop_assert_eq!(Limit::Bytes(value).to_string().parse(), Ok(Limit::Bytes(value)));
        }

        #[test]
        fn no_rate_is_lost_to_rounding(rate in 1_000_u64..100_000_000_000, sizes in proptest::collection::vec(1_u64..65_536, 1..200)) {
            let rate = Rate(rate);
            let (mut sum, mut remainder) = (0, 0);
            for &size in &sizes {
                let (time, rest) = rate.transmit(size, remainder);
                sum += time;
                remainder = rest;
            }
            let total: u64 = sizes.iter().sum();
            prop_assert_eq!(u128::from(sum), u128::from(total) * 8_000_000_000 / u128::from(rate.0));
        }
    }
}
