//! The database and the server machine against the reference model, under generated scripts.

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};
use weir_testkit::model::script::{mixed, plain, script};

/// Found cases are kept, and run first. The scripts are the same in every run; to look for new ones, ask for
/// others with `PROPTEST_RNG_SEED`, or for more with `PROPTEST_CASES`.
fn scripts() -> ProptestConfig {
    let asked = ProptestConfig::default();
    let rng_seed = match asked.rng_seed {
        RngSeed::Random => RngSeed::Fixed(20_220_209),
        seed => seed,
    };
    ProptestConfig {
        cases: asked.cases.max(10_000),
        rng_seed,
        max_shrink_iters: 20_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/model.txt"))),
        ..asked
    }
}

proptest! {
    #![proptest_config(scripts())]

    #[test]
    fn d05_d08_i12_o01_o02_clients_that_ask_by_name_have_what_the_reference_has(script in script(plain(), 60)) {
        script.run();
    }

    #[test]
    fn p02_p08_p11_p12_clients_that_ask_by_locator_have_what_the_reference_has(script in script(mixed(), 60)) {
        script.run();
    }
}
