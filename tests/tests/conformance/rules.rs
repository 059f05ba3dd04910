//! Which parameters a client has, how many sets of them there may be, and which of several matching variants it
//! gets: p12, p13, and the limit of p15.

use std::sync::Arc;

use weir_config::NodeRule;
use weir_database::ParameterSets;
use weir_downstream::NodeRules;
use weir_testkit::client::DIALECTS;
use weir_testkit::constraints::{all, locator, value};
use weir_testkit::{Published, node, type_url};
use weir_types::NodeField;

use crate::observed;
use crate::parameters::{r_for, variant_for};
use crate::proxy::{Proxy, Settings, in_each_dialect_with, rule_from_metadata};

#[tokio::test]
async fn p12_among_several_matching_variants_the_choice_is_the_same_everywhere_and_is_reported() {
    let rds = type_url("rds");
    let name = "p12-ambiguous";
    let variants = [
        Published::text(rds, name, "one key").constrained(value("a", "1")),
        Published::text(rds, name, "first of two").constrained(all([value("a", "1"), value("b", "1")])),
        Published::text(rds, name, "second of two").constrained(all([value("a", "1"), value("c", "1")])),
    ];
    for dialect in DIALECTS {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let proxy = Proxy::start().await;
            order.into_iter().for_each(|i| proxy.origin.set(variants[i].clone()));
            let mut client = proxy.client(dialect).await;
            client.locate(rds, &[locator(name, &[("a", "1"), ("b", "1"), ("c", "1")])]);
            assert_eq!(client.accept(rds).await.resource(name).text(), "first of two", "{order:?}");
            assert_eq!(proxy.database.ambiguities(), 1);
        }
    }
    let warning = observed::warning(&[("name", name)]).await;
    assert_eq!(warning["served"], "a=1 and b=1");
    assert_eq!(warning["ignored"], "a=1 and c=1");
    assert_eq!(warning["parameters"], "{a=1, b=1, c=1}", "somebody whom both match");
}

fn rules(settings: &mut Settings) {
    let pattern = Some(r"^(prod|test)".parse().expect("a pattern"));
    let env = NodeRule { pattern, default: Some("prod".to_owned()), ..rule_from_metadata("env") };
    let zone = NodeRule { from: NodeField::Zone, fill_locators: true, ..rule_from_metadata("zone") };
    settings.server.rules = NodeRules::new(vec![env, zone]);
}

#[tokio::test]
async fn p13_plain_clients_get_parameters_from_their_node() {
    let lds = type_url("lds");
    for dialect in DIALECTS {
        let proxy = Proxy::start_with(rules).await;
        let of = |env, zone| {
            let constraints = all([value("env", env), value("zone", zone)]);
            Published::text(lds, "l", &format!("{env} {zone}")).constrained(constraints)
        };
        proxy.origin.set_all([of("prod", "a"), of("prod", "b"), of("test", "a")]);
        for (node, text) in [
            (node("n").metadata("env", "test-eu").locality("", "a", ""), "test a"),
            (node("n").metadata("env", "dev").locality("", "b", ""), "prod b"),
            (node("n").locality("", "a", ""), "prod a"),
        ] {
            for names in [&["l"][..], &[], &["*"]] {
                let mut client = proxy.client_of(dialect, &node).await;
                client.subscribe(lds, names);
                assert_eq!(client.accept(lds).await.resource("l").text(), text);
            }
        }
    }
}

#[tokio::test]
async fn p13_locators_are_given_defaults_where_configured_and_never_overridden() {
    let rds = type_url("rds");
    for dialect in DIALECTS {
        let proxy = Proxy::start_with(rules).await;
        let of = |zone| Published::text(rds, "r", zone).constrained(value("zone", zone));
        proxy.origin.set_all([of("a"), of("b")]);
        let node = node("n").metadata("env", "prod").locality("", "a", "");
        for (parameters, text) in [(&[][..], "a"), (&[("zone", "b")], "b"), (&[("env", "x")], "a")] {
            let mut client = proxy.client_of(dialect, &node).await;
            client.locate(rds, &[locator("r", parameters)]);
            assert_eq!(client.accept(rds).await.resource("r").text(), text);
        }
        // The rule for `env` is not for clients that send locators.
        proxy.origin.replace(|_| true, [variant_for("prod", "1")]);
        let mut client = proxy.client_of(dialect, &node).await;
        client.locate(rds, &[locator("r", &[])]);
        assert!(client.accept(rds).await.resources.is_empty());
    }
}

#[tokio::test]
async fn p15_beyond_the_limit_of_parameter_sets_a_client_is_refused_with_the_reason() {
    let rds = type_url("rds");
    let limited = |settings: &mut Settings| {
        let sets = ParameterSets { keys: Arc::from(["env".into()]), max: 2, node_id: None };
        settings.database.parameter_sets = [(String::new(), sets)].into();
        // The probes of the test itself come without parameters, and are one of the sets.
    };
    in_each_dialect_with(limited, async |proxy, mut client| {
        proxy.origin.set_all([variant_for("prod", "1"), variant_for("test", "1")]);
        client.expect_nothing().await;
        client.locate(rds, &[locator("r", &[("env", "prod"), ("pod", "a")])]);
        client.accept(rds).await;
        client.locate(rds, &[locator("r", &[("env", "prod"), ("pod", "b")])]);
        client.accept(rds).await;

        let mut other = proxy.client(client.dialect()).await;
        other.locate(rds, &[r_for("test")]);
        let refused = other.accept(rds).await;
        assert_eq!(refused.error_codes(), [("r", tonic::Code::ResourceExhausted)]);
        for part in ["env=test", "2 distinct parameter sets", "max_parameter_sets"] {
            assert!(format!("{refused:?}").contains(part), "{refused:?}");
        }
        proxy.origin.set(variant_for("prod", "2"));
        assert_eq!(client.accept(rds).await.resource("r").text(), "2", "nobody else is affected");
    })
    .await;
}
