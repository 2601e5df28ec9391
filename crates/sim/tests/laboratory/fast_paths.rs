//! Fast paths change no packet and no metric.

use bloatlab_sim::{Control, NoPlugins, run};
use proptest::prelude::*;

use crate::generator::scenario;
use crate::{compiled, config, logged, measured};

proptest! {
    #![proptest_config(config(800))]

    #[test]
    fn a_run_without_them_is_the_same(scenario in scenario(), seed in any::<u64>()) {
        let plan = compiled(&scenario);
        let fast = logged(&plan, seed);
        let slow = run(plan.clone().into(), seed, true, &NoPlugins, &Control::without_fast_paths()).unwrap();
        let differs = fast.packets.iter().zip(&slow.packets).find(|(a, b)| a != b);
        prop_assert!(differs.is_none(), "{differs:?}");
        prop_assert_eq!(fast.packets.len(), slow.packets.len());
        prop_assert_eq!(fast.digest(), slow.digest());
        prop_assert_eq!(measured(&plan, seed).digest(), slow.digest());
    }
}
