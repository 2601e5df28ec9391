//! No option is read and then forgotten: each one is printed again, equals tc's default, or is refused.

use bloatlab_aqm::{Form, QueueConfig, Tc, Word};

use crate::linux::beside;
use crate::{read, with_class};

/// What is accepted because it is the default of tc, and so is not printed: tc-cake(8), tc-fq(8) and `sch_fq.c`.
const DEFAULTS: &[&str] = &[
    "cake split-gso",
    "fq horizon 10s",
    "fq horizon_drop",
    "fq offload_horizon 0us",
    "fq buckets 1024",
    "fq timer_slack 10us",
];

/// Values of all kinds, at least two of which an option that takes a value accepts.
const VALUES: &[&str] = &[
    "3", "7", "10k", "64", "5ms", "20us", "10mbit", "2kbps", "0.5", "0.25", "100", "1600", "40000",
    "1 0 1 1", "20000", "90000",
];

/// A queue with what tc requires and these options, as a text for [`read`].
fn with(tc: &Tc, word: &Word, said: &str) -> String {
    let said = format!("{}{said}", beside(tc, word));
    match tc.words.iter().any(|word| word.of_class) {
        true => with_class(tc, "", &said),
        false => format!("{} {said}", tc.name),
    }
}

/// Whether the option takes back what another option of its parameter set before it.
fn undoes(tc: &Tc, word: &Word) -> bool {
    let others = tc.words.iter().filter(|other| other.field == word.field);
    let said = others.flat_map(|other| {
        let values = match other.form {
            Form::Flag(_) => &[""],
            _ => VALUES,
        };
        values.iter().map(|value| format!("{} {value}", other.tc))
    });
    said.into_iter().any(|said| {
        let set = read(&with(tc, word, &said));
        set.is_ok() && set != read(&with(tc, word, &format!("{said} {}", word.tc)))
    })
}

/// Whether the printed commands are read as this queue.
fn comes_out_again(config: &QueueConfig) -> bool {
    let printed = config.to_tc("lo", false);
    printed.is_ok_and(|lines| read(&lines.join("\n")).as_ref() == Ok(config))
}

#[test]
fn every_word_is_printed_again_or_is_the_default_or_is_refused() {
    let mut defaults = Vec::new();
    for tc in QueueConfig::all().iter().flat_map(QueueConfig::tc) {
        for word in tc.words.iter().filter(|word| !word.form.is_leaf()) {
            let called = format!("{} {}", tc.name, word.tc);
            let of = |value: &str| read(&with(tc, word, &format!("{} {value}", word.tc)));
            let without = read(&with(tc, word, ""));
            match word.form {
                Form::ClassNumber => {}
                Form::Refused(_) => {
                    let refused = of("").expect_err(&called);
                    assert!(refused.contains("is not modelled: "), "{called}: {refused}");
                }
                Form::Default => {
                    assert_eq!(of(""), without, "{called}");
                    defaults.push(called);
                }
                Form::OnlyDefault(_, default, _) => {
                    assert_eq!(of(default), without, "{called}");
                    let others: Vec<_> = VALUES.iter().map(|value| of(value)).collect();
                    // tc drops the fraction of a microsecond.
                    let only_default = |other: &Result<_, _>| other.is_err() || *other == without;
                    assert!(others.iter().all(only_default), "{called}: {others:?}");
                    let refused = others.iter().filter_map(|other| other.as_ref().err());
                    let mut refused = refused.filter(|why| why.contains("is not modelled: "));
                    assert!(refused.next().is_some(), "{called}: {others:?}");
                    defaults.push(format!("{called} {default}"));
                }
                Form::Flag(_) | Form::Several(_) => {
                    // Some options are refused unless another one is given.
                    let flags = tc.words.iter().filter(|other| {
                        matches!(other.form, Form::Flag(_)) && other.field != word.field
                    });
                    let companions = std::iter::once("").chain(flags.map(|flag| flag.tc));
                    let mut accepted = companions.filter_map(|companion| {
                        let config = read(&with(tc, word, &format!("{companion} {}", word.tc)));
                        Some((config.ok()?, read(&with(tc, word, companion))))
                    });
                    let (config, without) = accepted.next().expect(&called);
                    assert!(comes_out_again(&config), "{called}");
                    let changes = Ok(&config) != without.as_ref();
                    assert!(changes || undoes(tc, word), "{called} changes nothing");
                }
                _ => {
                    let accepted = VALUES.iter().filter_map(|value| of(value).ok());
                    let changed: Vec<_> = accepted
                        .filter(|config| Ok(config) != without.as_ref())
                        .collect();
                    assert!(!changed.is_empty(), "{called} changes nothing");
                    for config in &changed {
                        assert!(comes_out_again(config), "{called}: {config:?}");
                    }
                }
            }
        }
    }
    defaults.sort();
    let mut stated = DEFAULTS.to_vec();
    stated.sort();
    assert_eq!(defaults, stated);
}
