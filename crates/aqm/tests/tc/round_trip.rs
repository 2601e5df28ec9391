//! Printed commands are read back as the same queue, for every kind that Linux has and every argument it accepts.

use bloatlab_aqm::{Form, QueueConfig, Tc, Word};
use proptest::prelude::*;

use crate::{CONFIGURED, read, with_class};

/// Every qdisc of the registry.
fn qdiscs() -> Vec<&'static Tc> {
    let all = QueueConfig::all().into_iter();
    all.flat_map(|config| config.tc()).collect()
}

/// A possible value of an argument.
fn text(word: &'static Word) -> BoxedStrategy<String> {
    let tc = word.tc;
    let with = move |value: String| format!("{tc} {value}");
    let size = prop_oneof![
        (1_u64..4_000_000).prop_map(|n| n.to_string()),
        (1_u64..4000).prop_map(|n| format!("{n}k"))
    ];
    match word.form {
        Form::Packets | Form::PacketsFrom(_) | Form::PacketsAsSize => (2_u64..20_000)
            .prop_map(move |n| with(n.to_string()))
            .boxed(),
        Form::Size | Form::LimitBytes => size.prop_map(with).boxed(),
        Form::Time => prop_oneof![
            (0_u64..100_000).prop_map(|n| format!("{n}us")),
            (1_u64..500).prop_map(|n| format!("{n}ms")),
        ]
        .prop_map(with)
        .boxed(),
        Form::Rate | Form::Rate32 => prop_oneof![
            (1_u64..10_000).prop_map(|n| format!("{n}mbit")),
            (1_u64..1_000_000_000).prop_map(|n| format!("{n}bit")),
            (1_u64..100_000).prop_map(|n| format!("{n}kbps")),
        ]
        .prop_map(with)
        .boxed(),
        Form::Integer | Form::WholeBytes | Form::Seconds | Form::Milliseconds | Form::Whole(..) => {
            prop_oneof![0_u64..40, 0_u64..70_000]
                .prop_map(move |n| with(n.to_string()))
                .boxed()
        }
        Form::Number(scale) => prop_oneof![0.0..=1.0_f64, 0.0..=20.0_f64]
            .prop_map(move |x| with(format!("{}", x * scale)))
            .boxed(),
        Form::Probability => (0.001..=1.0_f64)
            .prop_map(move |x| with(x.to_string()))
            .boxed(),
        Form::Integers(most) => proptest::collection::vec(0_u64..3, most)
            .prop_map(move |list| {
                with(
                    list.iter()
                        .map(u64::to_string)
                        .collect::<Vec<_>>()
                        .join(" "),
                )
            })
            .boxed(),
        Form::Decimal(least, most) => (least..=most.min(70_000))
            .prop_map(move |n| with(n.to_string()))
            .boxed(),
        Form::OnlyDefault(_, default, _) => Just(with(default.to_owned())).boxed(),
        Form::Flag(_) | Form::Several(_) | Form::Default => Just(tc.to_owned()).boxed(),
        Form::ClassNumber => Just(with("1".to_owned())).boxed(),
        Form::Refused(_)
        | Form::Leaf
        | Form::LeafInstead(..)
        | Form::Leaves(..)
        | Form::PerFlow(_) => Just(String::new()).boxed(),
    }
}

/// Some of a qdisc's arguments and of those of its class, in any order.
fn words(tc: &'static Tc) -> impl Strategy<Value = [Vec<String>; 2]> {
    let one = |word: &'static Word| {
        let alternative = |words: &&str| words.split('|').any(|one| one == word.tc);
        let one = if tc.required.contains(&word.tc) {
            text(word).prop_map(Some).boxed()
        } else if tc.required.iter().any(alternative) {
            proptest::option::weighted(0.7, text(word)).boxed()
        } else {
            proptest::option::weighted(0.4, text(word)).boxed()
        };
        one.prop_map(move |text| (word, text))
    };
    let all: Vec<_> = tc.words.iter().map(one).collect();
    all.prop_shuffle().prop_map(|all| {
        [false, true].map(|of_class| {
            let of = all.iter().filter(|(word, _)| word.of_class == of_class);
            of.filter_map(|(_, text)| text.clone())
                .filter(|text| !text.is_empty())
                .collect()
        })
    })
}

/// The lines for a qdisc, including one inside it if it holds any.
fn lines(
    tc: &'static Tc,
) -> impl Strategy<Value = (&'static Tc, [Vec<String>; 2], Option<String>)> {
    let holds = tc.words.iter().any(|word| word.form.is_leaf());
    const ANY: [&str; 3] = ["pfifo limit 7", "codel target 7ms", "fq_codel flows 16"];
    let inner = match tc.name {
        "drr" => &ANY[..1],
        _ => &ANY,
    };
    let inner = proptest::sample::select(inner);
    let inner = proptest::option::weighted(0.8, inner.prop_map(str::to_owned));
    (Just(tc), words(tc), inner)
        .prop_map(move |(tc, words, inner)| (tc, words, inner.filter(|_| holds)))
}

/// The commands, reduced to the arguments that are valid together with the previous ones.
fn configure(tc: &Tc, words: &[Vec<String>; 2], inner: Option<&str>) -> Option<QueueConfig> {
    let class = tc.words.iter().any(|word| word.of_class);
    let text = |[own, of_class]: &[Vec<String>; 2]| {
        let own = own.join(" ");
        let mut lines = match class {
            true => vec![with_class(tc, &own, &of_class.join(" "))],
            false => vec![format!(
                "tc qdisc add dev lo root handle 1: {} {own}",
                tc.name
            )],
        };
        lines.extend(inner.map(|inner| format!("tc qdisc add dev lo parent 1:1 {inner}")));
        lines.join("\n")
    };
    if let Ok(config) = read(&text(words)) {
        return Some(config);
    }
    let is_required = |word: &&String| {
        tc.required
            .iter()
            .any(|r| word.split(' ').next() == Some(r))
    };
    let mut kept = [0, 1].map(|at| {
        words[at]
            .iter()
            .filter(is_required)
            .cloned()
            .collect::<Vec<_>>()
    });
    for at in [0, 1] {
        for word in words[at].iter().filter(|word| !is_required(word)) {
            kept[at].push(word.clone());
            if read(&text(&kept)).is_err() {
                kept[at].pop();
            }
        }
    }
    read(&text(&kept)).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn what_is_printed_is_read_back(
        (tc, words, inner) in proptest::sample::select(qdiscs()).prop_flat_map(lines),
        all in any::<bool>(),
    ) {
        let config = configure(tc, &words, inner.as_deref());
        // Required arguments may get values that are invalid together.
        let Some(config) = config else {
            prop_assume!(!tc.required.is_empty());
            return Ok(());
        };
        let printed = config.to_tc("eth0", all);
        let printed = printed.map_err(|why| TestCaseError::fail(format!("{config:?}: {why}")))?;
        prop_assert_eq!(read(&printed.join("\n")), Ok(config.clone()), "{:?}", printed);
        prop_assert_eq!(read(&printed.join("; ")), Ok(config), "{:?}", printed);
    }
}

#[test]
fn every_qdisc_names_words_once_and_parameters_that_exist() {
    for config in QueueConfig::all() {
        let fields = serde_json::to_value(&config).unwrap();
        for tc in config.tc() {
            for (at, word) in tc.words.iter().enumerate() {
                let again = tc.words[..at]
                    .iter()
                    .any(|w| w.tc == word.tc && w.of_class == word.of_class);
                assert!(!again, "{}: `{}` twice", tc.name, word.tc);
                let wordless = matches!(
                    word.form,
                    Form::Default
                        | Form::OnlyDefault(..)
                        | Form::Refused(_)
                        | Form::Several(_)
                        | Form::ClassNumber
                );
                assert!(
                    wordless || fields.get(word.field).is_some(),
                    "{}: `{}` sets `{}`, which is no parameter",
                    tc.name,
                    word.tc,
                    word.field
                );
            }
            let fixed = tc.presets.iter().map(|(field, _)| field);
            for field in fixed {
                assert!(
                    fields.get(field).is_some(),
                    "{}: presets `{field}`",
                    tc.name
                );
            }
            for required in tc.required {
                assert!(
                    required
                        .split('|')
                        .all(|one| tc.words.iter().any(|word| word.tc == one)),
                    "{}: {required}",
                    tc.name
                );
            }
        }
    }
}

#[test]
fn every_kind_that_linux_has_is_printed_and_read_back() {
    let configured: Vec<QueueConfig> = CONFIGURED.iter().map(|text| read(text).unwrap()).collect();
    for config in QueueConfig::all() {
        let error = config.to_tc("eth0", false).err();
        let Some(tc) = config.tc().first() else {
            let wanted = format!("Linux has no `{}`", config.kind());
            assert!(error.is_some_and(|why| why.starts_with(&wanted)));
            continue;
        };
        // If tc requires an argument, or lacks a default of ours, there is no default.
        let wanted = error.is_some();
        let per_flow = |word: &Word| matches!(word.form, Form::PerFlow(_));
        let lacks = !tc.presets.is_empty() || tc.words.iter().any(per_flow);
        let other = !tc.required.is_empty() || lacks;
        assert!(!wanted || other, "{}: {error:?}", tc.name);
        let same = |one: &&QueueConfig| one.kind() == config.kind();
        let own: Vec<_> = configured.iter().filter(same).collect();
        assert!(own.len() >= config.tc().len(), "{}", tc.name);
        for config in own.into_iter().chain((!wanted).then_some(&config)) {
            for all in [false, true] {
                let printed = config.to_tc("eth0", all).unwrap();
                assert_eq!(read(&printed.join("\n")), Ok(config.clone()), "{printed:?}");
            }
        }
    }
}

/// The queues of the runs on real Linux that results are compared with, as they were configured there.
const REFERENCE: &[&str] = &[
    "bfifo limit 250000",
    "cake unlimited besteffort",
    "choke limit 1650 min 165 max 495 burst 275 probability 0.1 bandwidth 200mbit",
    "choke limit 410 min 41 max 123 burst 69 probability 0.1 bandwidth 50mbit",
    "choke limit 80 min 8 max 24 burst 14 probability 0.1 bandwidth 10mbit",
    "codel",
    "codel ecn",
    "dualpi2",
    "fq",
    "fq_codel ecn",
    "fq_codel noecn",
    "fq_pie",
    "hhf",
    "pfifo limit 100",
    "pfifo limit 1000",
    "pfifo limit 165",
    "pfifo limit 2642",
    "pfifo limit 330",
    "pfifo limit 41",
    "pfifo limit 661",
    "pfifo limit 83",
    "pie",
    "pie ecn",
    "red limit 1000000 min 45420 max 46934 avpkt 1514 burst 31 probability 1 bandwidth 200mbit ecn",
    "red limit 125000 min 12500 max 37500 avpkt 1000 burst 21 probability 0.1 bandwidth 10mbit",
    "red limit 125000 min 12500 max 37500 avpkt 1000 burst 21 probability 0.1 bandwidth 10mbit ecn",
    "red limit 2500000 min 250000 max 750000 avpkt 1000 burst 417 probability 0.1 bandwidth 200mbit",
    "red limit 2500000 min 250000 max 750000 avpkt 1000 burst 417 probability 0.1 bandwidth 200mbit ecn",
    "red limit 625000 min 62500 max 187500 avpkt 1000 burst 105 probability 0.1 bandwidth 50mbit",
    "red limit 625000 min 62500 max 187500 avpkt 1000 burst 105 probability 0.1 bandwidth 50mbit ecn",
    "sfb",
    "sfq",
];

#[test]
fn the_references_queues_are_read_and_printed_back() {
    let known: Vec<&str> = qdiscs().iter().map(|tc| tc.name).collect();
    let mut checked = 0;
    for text in REFERENCE {
        let name = text.split(' ').next().unwrap();
        if !known.contains(&name) {
            assert!(read(&format!("{name} limit 5")).is_err());
            continue;
        }
        let config = read(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        let printed = config
            .to_tc("eth0", false)
            .unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(read(&printed.join("\n")), Ok(config), "{printed:?}");
        checked += 1;
    }
    assert!(checked >= 14);
}
