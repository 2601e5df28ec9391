//! Tests every queue of the registry, with any valid parameters, under any sequence of operations.

use bloatlab_aqm_model::{Episode, Operation};
use proptest::prelude::*;

/// Any operation, with slightly more arrivals than departures, so that queues fill.
fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        2 => any::<(u8, u8, bool)>().prop_map(|(mantissa, scale, asks)| Operation::Wait { mantissa, scale, asks }),
        4 => any::<(u16, u16, u8, u8)>()
            .prop_map(|(flow, size, marking, count)| Operation::Arrive { flow, size, marking, count }),
        4 => any::<(u8, bool)>().prop_map(|(count, paced)| Operation::Depart { count, paced }),
    ]
}

fn episode() -> impl Strategy<Value = Episode> {
    let choice = prop_oneof![Just(0_u16), any::<u16>()];
    (
        0..Episode::kinds() as u8,
        proptest::collection::vec(choice, 0..40),
        any::<u8>(),
        any::<u64>(),
        proptest::collection::vec(operation(), 1..120),
    )
        .prop_map(|(kind, choices, place, seed, operations)| Episode {
            kind,
            choices,
            place,
            seed,
            operations,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn every_queue_has_the_properties_of_the_trait(episode in episode()) {
        episode.run(true);
    }
}
