//! Conversion of tc's numbers, sizes, rates and times to and from the registry's values.
//!
//! Follows tc(8), "PARAMETERS", and iproute2 6.1: units are case-insensitive, sizes use powers of 1024, and rates use powers of 1000.

use bloatlab_units::{Bytes, Duration, Limit, MILLISECOND, Rate, SECOND};
use serde_json::{Value, json};

use super::Form;

const U32: f64 = u32::MAX as f64;

/// Units of a size, in bytes.
const SIZES: &[(&str, f64)] = &[
    ("", 1.0),
    ("b", 1.0),
    ("k", 1024.0),
    ("kb", 1024.0),
    ("m", 1_048_576.0),
    ("mb", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("gb", 1_073_741_824.0),
    ("kbit", 128.0),
    ("mbit", 131_072.0),
    ("gbit", 134_217_728.0),
];

/// Units of a rate, in bits per second; `bps` means bytes per second.
const RATES: &[(&str, f64)] = &[
    ("", 1.0),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("tbit", 1e12),
    ("kibit", 1024.0),
    ("mibit", 1_048_576.0),
    ("gibit", 1_073_741_824.0),
    ("tibit", 1_099_511_627_776.0),
    ("bps", 8.0),
    ("kbps", 8e3),
    ("mbps", 8e6),
    ("gbps", 8e9),
    ("tbps", 8e12),
    ("kibps", 8.0 * 1024.0),
    ("mibps", 8.0 * 1_048_576.0),
    ("gibps", 8.0 * 1_073_741_824.0),
    ("tibps", 8.0 * 1_099_511_627_776.0),
];

/// Units of a time, in microseconds, which is tc's resolution.
const TIMES: &[(&str, f64)] = &[
    ("", 1.0),
    ("us", 1.0),
    ("usec", 1.0),
    ("usecs", 1.0),
    ("ms", 1e3),
    ("msec", 1e3),
    ("msecs", 1e3),
    ("s", 1e6),
    ("sec", 1e6),
    ("secs", 1e6),
];

/// Reads the value of an option of this form. The error says what the value must be.
pub(super) fn read(form: Form, text: &str) -> Result<Value, String> {
    Ok(match form {
        Form::Packets => json!(Limit::Packets(whole(text)?).to_string()),
        Form::PacketsFrom(least) => match whole(text)? {
            few if few < least => return Err(format!("`{text}` must be at least {least}")),
            packets => json!(Limit::Packets(packets).to_string()),
        },
        Form::PacketsAsSize => json!(Limit::Packets(size(text)?).to_string()),
        Form::LimitBytes => json!(Limit::Bytes(size(text)?).to_string()),
        Form::Size => json!(Bytes(size(text)?).to_string()),
        Form::WholeBytes => json!(Bytes(whole(text)?).to_string()),
        Form::Time => {
            let microseconds = scaled(text, "a time such as `5ms`", TIMES)?;
            json!(Duration(at_most(text, microseconds, U32)? * 1000).to_string())
        }
        Form::Seconds => json!(Duration(whole(text)? * SECOND).to_string()),
        Form::Milliseconds => json!(Duration(whole(text)? * MILLISECOND).to_string()),
        Form::Rate | Form::Rate32 => {
            if text.ends_with('%') {
                return Err(format!(
                    "`{text}` is a share of the device's speed, which is not known here"
                ));
            }
            let most = if form == Form::Rate32 { U32 } else { 1.0e18 };
            let bits = scaled(text, "a rate such as `10mbit`", RATES)?;
            // The kernel counts whole bytes per second.
            json!(Rate(at_most(text, bits / 8.0, most)? * 8).to_string())
        }
        Form::Integer => json!(whole(text)?),
        Form::Decimal(least, most) => match text.parse::<i64>() {
            Ok(value) if (least..=most).contains(&value) => json!(value),
            _ => {
                return Err(format!(
                    "`{text}` is not a decimal number from {least} to {most}"
                ));
            }
        },
        Form::Number(scale) => json!(number(text)? / scale),
        Form::Probability => match number(text)? {
            none if none <= 0.0 => return Err(format!("`{text}` must be above zero")),
            value => json!(value),
        },
        Form::Whole(scale, most) => {
            let value = whole(text)?;
            if value > most {
                return Err(format!("`{text}` must be at most {most}"));
            }
            json!(value as f64 / scale)
        }
        Form::Integers(_)
        | Form::Flag(_)
        | Form::Several(_)
        | Form::Default
        | Form::OnlyDefault(..)
        | Form::Refused(_)
        | Form::ClassNumber
        | Form::Leaf
        | Form::LeafInstead(..)
        | Form::Leaves(..)
        | Form::PerFlow(_) => return Err(format!("`{text}` is not a value")),
    })
}

/// Writes a value for an option of this form. The error says why tc cannot express it.
pub(super) fn write(form: Form, value: &Value) -> Result<String, String> {
    let plain = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    let limit = || plain.parse::<Limit>().ok();
    let text = match form {
        Form::Packets | Form::PacketsFrom(_) | Form::PacketsAsSize => match limit() {
            Some(Limit::Packets(n)) => n.to_string(),
            _ => return Err(format!("tc requires a number of packets, not {plain}")),
        },
        Form::LimitBytes => match limit() {
            Some(Limit::Bytes(n)) => with_unit(n, "", &[("mb", 1 << 20), ("kb", 1 << 10)]),
            _ => return Err(format!("tc requires a number of bytes, not {plain}")),
        },
        Form::Size => match plain.parse() {
            Ok(Bytes(n)) => with_unit(n, "", &[("mb", 1 << 20), ("kb", 1 << 10)]),
            Err(_) => return Err(format!("tc cannot write {plain}")),
        },
        Form::WholeBytes => match plain.parse() {
            Ok(Bytes(n)) => n.to_string(),
            Err(_) => return Err(format!("tc cannot write {plain}")),
        },
        Form::Time => match plain.parse() {
            Ok(Duration(n)) if n % 1000 == 0 => {
                with_unit(n / 1000, "us", &[("s", 1_000_000), ("ms", 1000)])
            }
            Ok(_) => {
                return Err(format!("tc requires whole microseconds, not {plain}"));
            }
            Err(_) => return Err(format!("tc cannot write {plain}")),
        },
        Form::Seconds => return plain_time(&plain, SECOND),
        Form::Milliseconds => return plain_time(&plain, MILLISECOND),
        Form::Rate | Form::Rate32 => match plain.parse() {
            Ok(Rate(n)) if n % 8 == 0 => with_unit(
                n,
                "bit",
                &[
                    ("gbit", 1_000_000_000),
                    ("mbit", 1_000_000),
                    ("kbit", 1_000),
                ],
            ),
            _ => {
                return Err(format!(
                    "Linux requires whole bytes per second, not {plain}"
                ));
            }
        },
        Form::Integer | Form::Decimal(..) => plain.clone(),
        Form::Number(scale) => return fraction(form, value, scale),
        Form::Probability => return fraction(form, value, 1.0),
        Form::Whole(scale, most) => {
            let scaled = value.as_f64().unwrap_or(f64::NAN) * scale;
            let whole = scaled.round();
            if (scaled - whole).abs() > 1e-9 || !(0.0..=most as f64).contains(&whole) {
                return Err(format!(
                    "tc takes whole numbers up to {most}, and {plain} would be {scaled}"
                ));
            }
            format!("{whole}")
        }
        _ => return Err(format!("tc cannot write {plain}")),
    };
    check(form, value, text)
}

/// A time without its unit.
fn plain_time(text: &str, unit: u64) -> Result<String, String> {
    match text.parse() {
        Ok(Duration(n)) if n % unit == 0 => Ok((n / unit).to_string()),
        _ => Err(format!(
            "tc requires whole multiples of {}, not {text}",
            Duration(unit)
        )),
    }
}

/// The shortest decimal number that is read back as this value.
fn fraction(form: Form, value: &Value, scale: f64) -> Result<String, String> {
    let scaled = value.as_f64().unwrap_or(f64::NAN) * scale;
    let texts = [0.0, f64::EPSILON, -f64::EPSILON].map(|off| format!("{}", scaled * (1.0 + off)));
    let mut written = texts.into_iter().map(|text| check(form, value, text));
    let first = written.next().unwrap_or_else(|| Err(String::new()));
    first.or_else(|error| written.find_map(Result::ok).ok_or(error))
}

/// Returns the text if it is read back as exactly this value.
fn check(form: Form, value: &Value, text: String) -> Result<String, String> {
    let same = read(form, &text).is_ok_and(|back| match (back.as_f64(), value.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => back == *value,
    });
    let plain = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    same.then_some(text)
        .ok_or_else(|| format!("tc cannot write {plain}"))
}

/// Writes a number with the largest unit that divides it.
fn with_unit(value: u64, base: &str, units: &[(&str, u64)]) -> String {
    let unit = units
        .iter()
        .find(|(_, scale)| value != 0 && value.is_multiple_of(*scale));
    match unit {
        Some((name, scale)) => format!("{}{name}", value / scale),
        None => format!("{value}{base}"),
    }
}

/// Splits a text into a number, as C reads it, and its unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if let Some(digits) = hex {
        let end = digits
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(digits.len());
        let value = u64::from_str_radix(&digits[..end], 16).ok()?;
        return Some((value as f64, &digits[end..]));
    }
    // The longest prefix that is a decimal number. Words such as `inf` are not numbers.
    let most = text
        .find(|c: char| !c.is_ascii_digit() && !".+-eE".contains(c))
        .unwrap_or(text.len());
    (1..=most)
        .rev()
        .find_map(|end| Some((text[..end].parse().ok()?, &text[end..])))
}

fn scaled(text: &str, what: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let found = split(text).and_then(|(number, unit)| {
        let unit = unit.to_ascii_lowercase();
        let (_, scale) = units.iter().find(|(name, _)| *name == unit)?;
        Some(number * scale)
    });
    match found {
        Some(value) if value >= 0.0 => Ok(value),
        Some(_) => Err(format!("`{text}` is negative")),
        None => {
            let units: Vec<&str> = units.iter().skip(1).map(|(name, _)| *name).collect();
            let units = units.join(", ");
            Err(format!("`{text}` is not {what} (tc's units: {units})"))
        }
    }
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = scaled(text, "a size such as `15k`", SIZES)?;
    at_most(text, bytes, U32)
}

/// Drops the fraction, as tc does, and checks the range.
fn at_most(text: &str, value: f64, most: f64) -> Result<u64, String> {
    let whole = libm::floor(value);
    if whole > most {
        return Err(format!("`{text}` is more than tc can count"));
    }
    Ok(whole as u64)
}

/// Parses a whole number in C's notations: decimal, `0x` hexadecimal, `0` octal.
fn whole(text: &str) -> Result<u64, String> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    let (radix, digits) = match unsigned.get(..2) {
        Some("0x" | "0X") => (16, &unsigned[2..]),
        Some(start) if start.starts_with('0') => (8, &unsigned[1..]),
        _ => (10, unsigned),
    };
    let value = u32::from_str_radix(digits, radix).ok();
    let plain = !digits.starts_with('+');
    let value = value.filter(|_| plain).map(u64::from);
    value.ok_or_else(|| format!("`{text}` is not a whole number from 0 to {}", u32::MAX))
}

fn number(text: &str) -> Result<f64, String> {
    match split(text) {
        Some((value, "")) if value.is_finite() => Ok(value),
        _ => Err(format!("`{text}` is not a number")),
    }
}

/// Parses the number of a class or qdisc: 16 bits, hexadecimal (tc(8), "CLASSES").
pub(super) fn minor(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u32::from_str_radix(digits, 16)
        .ok()
        .filter(|number| *number <= 0xffff && !digits.starts_with('+'))
}
