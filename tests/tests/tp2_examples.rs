//! Every example of the text of TP2, under its heading, in both dialects.

use std::collections::BTreeSet;

use bytes::Bytes;
use weir_testkit::model::{Change, World};
use weir_types::constraints::Expr;
use weir_types::{
    Constraints, Content, DynamicParameters, Form, Kind, Provenance, Selector, TypeUrl, VariantKey,
};

const NAME: &str = "route";

fn routes() -> TypeUrl {
    TypeUrl::of_kind(Kind::RouteConfiguration).expect("the protocol names it")
}

fn value(key: &str, value: &str) -> Expr {
    Expr::value(key, value)
}

fn both(one: Expr, other: Expr) -> Expr {
    Expr::All(vec![one, other])
}

fn key(expr: Expr) -> VariantKey {
    VariantKey::new(NAME, Constraints::new(expr))
}

fn content(body: &'static str) -> Content {
    Content { body: Some(Bytes::from_static(body.as_bytes())), ..Content::default() }
}

/// A server with variants of one resource, and a client in each dialect for each set of parameters.
struct Example {
    world: World,
    clients: Vec<(DynamicParameters, usize)>,
}

impl Example {
    fn new(form: Form, variants: Vec<(Expr, &'static str)>, parameters: &[&[(&str, &str)]]) -> Self {
        let sets: Vec<DynamicParameters> =
            parameters.iter().map(|set| set.iter().copied().collect()).collect();
        let mut example = Self { world: World::new(&sets), clients: Vec::new() };
        for (number, set) in sets.into_iter().enumerate() {
            let selector = match form {
                Form::Plain => Selector::plain(NAME, set.clone()),
                Form::Located => Selector::located(NAME, set.clone()),
            };
            for who in [2 * number, 2 * number + 1] {
                example
                    .world
                    .act(who, |client| Some(client.subscribe(&routes(), std::slice::from_ref(&selector))));
                example.clients.push((set.clone(), who));
            }
        }
        example.change(vec![], variants);
        example
    }

    /// The server replaces variants in a single response.
    fn change(&mut self, removed: Vec<Expr>, added: Vec<(Expr, &'static str)>) {
        let change =
            removed.into_iter().fold(Change::new(routes(), Provenance::Local), |c, e| c.without(key(e)));
        let change = added.into_iter().fold(change, |c, (expr, body)| c.with(key(expr), content(body)));
        self.world.drain();
        self.world.commit(change);
        self.world.drain();
    }

    /// What the clients with these parameters have, in both dialects.
    fn got(&self, parameters: &[(&str, &str)]) -> Vec<String> {
        let set: DynamicParameters = parameters.iter().copied().collect();
        let of_set = self.clients.iter().filter(|(own, _)| *own == set).map(|(_, who)| *who);
        let bodies = of_set.map(|who| {
            let held = self.world.client(who).held(&routes());
            let bodies = held.values().map(|held| held.sent.body.clone().unwrap_or_default());
            bodies.map(|body| String::from_utf8_lossy(&body).into_owned()).collect::<Vec<_>>()
        });
        let in_dialects: BTreeSet<Vec<String>> = bodies.collect();
        assert_eq!(in_dialects.len(), 1, "{parameters:?}: the dialects differ: {in_dialects:?}");
        in_dialects.into_iter().flatten().collect()
    }
}

fn in_both_forms(test: impl Fn(Form)) {
    [Form::Located, Form::Plain].into_iter().for_each(test);
}

#[test]
fn p02_basic_dynamic_parameters_usage() {
    in_both_forms(|form| {
        let variants = vec![(value("env", "prod"), "for prod"), (value("env", "test"), "for test")];
        let example = Example::new(form, variants, &[&[("env", "prod")], &[("env", "test")]]);
        assert_eq!(example.got(&[("env", "prod")]), ["for prod"]);
        assert_eq!(example.got(&[("env", "test")]), ["for test"]);
    });
}

#[test]
fn p04_p05_unconstrained_parameters() {
    in_both_forms(|form| {
        let sets: [&[(&str, &str)]; 4] =
            [&[("env", "prod")], &[("env", "test")], &[("env", "prod"), ("unknown", "x")], &[]];
        let example = Example::new(form, vec![(Expr::All(vec![]), "for all")], &sets);
        sets.into_iter().for_each(|set| assert_eq!(example.got(set), ["for all"]));
        let example = Example::new(form, vec![(value("env", "prod"), "for prod")], &sets);
        assert_eq!(example.got(sets[2]), ["for prod"], "a parameter that no constraint mentions");
    });
}

#[test]
fn p08_transition_scenarios() {
    in_both_forms(|form| {
        let sets: [&[(&str, &str)]; 4] = [
            &[("env", "prod"), ("version", "v1")],
            &[("env", "prod"), ("version", "v2")],
            &[("env", "test"), ("version", "v1")],
            &[("env", "test"), ("version", "v2")],
        ];
        let variants = vec![(value("env", "prod"), "prod"), (value("env", "test"), "test")];
        let mut example = Example::new(form, variants, &sets);
        assert_eq!(example.got(sets[0]), ["prod"], "the new key does not affect the matching");
        assert_eq!(example.got(sets[3]), ["test"]);
        // The world checks that nobody sees two variants, or none, in between.
        example.change(
            vec![value("env", "prod")],
            vec![
                (both(value("env", "prod"), value("version", "v1")), "prod, v1"),
                (both(value("env", "prod"), value("version", "v2")), "prod, v2"),
            ],
        );
        assert_eq!(example.got(sets[0]), ["prod, v1"]);
        assert_eq!(example.got(sets[1]), ["prod, v2"]);
        assert_eq!(example.got(sets[2]), ["test"]);
        assert_eq!(example.got(sets[3]), ["test"]);
    });
}

#[test]
fn p12_adding_a_new_key_on_the_server_first() {
    in_both_forms(|form| {
        let (old, new): (&[_], &[_]) = (&[("env", "prod")], &[("env", "prod"), ("version", "v1")]);
        let v1 = || both(value("env", "prod"), value("version", "v1"));
        let mut example = Example::new(form, vec![(value("env", "prod"), "for older clients")], &[old, new]);
        assert_eq!(example.got(new), ["for older clients"]);
        assert_eq!(example.world.database().ambiguities(), 0);

        example.change(vec![], vec![(v1(), "for v1")]);
        assert_eq!(example.got(old), ["for older clients"], "works fine for older clients");
        assert_eq!(example.got(new), ["for v1"], "ambiguous: the one that constrains more keys");
        assert!(example.world.database().ambiguities() > 0, "p12: ambiguity is counted");

        let default = both(value("env", "prod"), Expr::not(Expr::exists("version")));
        example.change(vec![value("env", "prod")], vec![(default, "for older clients")]);
        assert_eq!(example.got(old), ["for older clients"]);
        assert_eq!(example.got(new), ["for v1"]);
    });
}

#[test]
fn p12_variants_with_overlapping_constraint_values() {
    in_both_forms(|form| {
        let env = |one, other| Expr::Any(vec![value("env", one), value("env", other)]);
        let variants = || vec![(env("prod", "test"), "prod or test"), (env("qa", "test"), "qa or test")];
        let sets: [&[(&str, &str)]; 3] = [&[("env", "prod")], &[("env", "qa")], &[("env", "test")]];
        let mut backwards = variants();
        backwards.reverse();
        for variants in [variants(), backwards] {
            let example = Example::new(form, variants, &sets);
            assert_eq!(example.got(sets[0]), ["prod or test"]);
            assert_eq!(example.got(sets[1]), ["qa or test"]);
            assert_eq!(
                example.got(sets[2]),
                ["prod or test"],
                "the first in canonical order, whatever came first"
            );
            assert!(example.world.database().ambiguities() > 0);
        }
    });
}

#[test]
fn p10_no_variant_for_a_value_acts_as_if_the_resource_does_not_exist() {
    let sets: [&[(&str, &str)]; 2] = [&[("env", "prod")], &[("env", "qa")]];
    let mut example = Example::new(Form::Located, vec![(value("env", "prod"), "for prod")], &sets);
    assert_eq!(example.got(sets[1]), [""; 0]);
    example.change(vec![value("env", "prod")], vec![(value("env", "qa"), "for qa")]);
    assert_eq!(example.got(sets[0]), [""; 0], "it stopped matching");
    assert_eq!(example.got(sets[1]), ["for qa"], "it started matching");
}

#[test]
fn the_four_variant_table() {
    in_both_forms(|form| {
        let (prod, v1) = (|| value("env", "prod"), || value("version", "v1"));
        let variants = vec![
            (both(Expr::not(prod()), Expr::not(v1())), "neither"),
            (both(prod(), Expr::not(v1())), "prod"),
            (both(Expr::not(prod()), v1()), "v1"),
            (both(prod(), v1()), "prod and v1"),
        ];
        let sets: Vec<[(&str, &str); 2]> = ["prod", "canary", "test"]
            .into_iter()
            .flat_map(|env| ["v1", "v2", "v3"].map(|version| [("env", env), ("version", version)]))
            .collect();
        let asked: Vec<&[(&str, &str)]> = sets.iter().map(|set| &set[..]).collect();
        let example = Example::new(form, variants, &asked);
        for set in &sets {
            let wanted = match (set[0].1, set[1].1) {
                ("prod", "v1") => "prod and v1",
                ("prod", _) => "prod",
                (_, "v1") => "v1",
                _ => "neither",
            };
            assert_eq!(example.got(set), [wanted], "{set:?}");
        }
        assert_eq!(example.world.database().ambiguities(), 0);
    });
}
