//! The database and the server machine against the reference model, under generated scripts.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use weir_testkit::model::script::{mixed, plain, script};

/// Found cases are kept, and run first. `PROPTEST_CASES` asks for more.
fn scripts() -> ProptestConfig {
    ProptestConfig {
        cases: 10_000,
        max_shrink_iters: 20_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/model.txt"))),
        ..ProptestConfig::default()
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
