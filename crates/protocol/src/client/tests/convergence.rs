//! Whatever happens, a stream and a server that keep talking agree in the end.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// What a server has, and what it believes of its one client. As naive as can be.
#[derive(Default)]
struct Server {
    variants: BTreeMap<VariantKey, u64>,
    changes: u64,
    wanted: BTreeSet<ResourceLocator>,
    /// What the client was sent on this stream, or stated to hold.
    sent: BTreeMap<VariantKey, u64>,
    /// Names that the client stated in a version that no variant has.
    stated: BTreeSet<Name>,
    /// SotW: a response is sent even if it is no news.
    owes: bool,
    /// Locators that were sent to be absent.
    sent_absent: BTreeSet<ResourceLocator>,
}

impl Server {
    fn matching(&self, locator: &ResourceLocator) -> Vec<VariantKey> {
        let all = self.variants.keys().filter(|key| asks(locator, &key.name));
        all.filter(|key| key.constraints.matches(&locator.parameters)).cloned().collect()
    }

    fn visible(&self) -> BTreeSet<VariantKey> {
        self.wanted.iter().flat_map(|locator| self.matching(locator)).collect()
    }

    fn receive(&mut self, request: &Request, dialect: Dialect) {
        assert_eq!(request.nack, None);
        if request.first {
            (self.wanted, self.sent, self.sent_absent) = Default::default();
        }
        if dialect == Dialect::Sotw {
            let before = std::mem::replace(&mut self.wanted, request.subscribe.iter().cloned().collect());
            // What is newly named is sent, though something else that is named may have brought it (s03).
            self.owes |= request.first || !self.wanted.is_subset(&before);
            self.forget_unwanted();
            return;
        }
        self.wanted.retain(|locator| !request.unsubscribe.contains(locator));
        self.forget_unwanted();
        self.wanted.extend(request.subscribe.iter().cloned());
        for locator in &request.subscribe {
            self.sent_absent.remove(locator);
            // What is asked for again is sent again; what is gone is still to be sent.
            let variants = &self.variants;
            self.sent.retain(|key, _| !asks(locator, &key.name) || !variants.contains_key(key));
        }
        for (name, version) in &request.initial_versions {
            let same =
                self.variants.iter().filter(|(key, v)| key.name == *name && v.to_string() == **version);
            let same: Vec<_> = same.map(|(key, version)| (key.clone(), *version)).collect();
            self.sent.extend(same);
            self.stated.insert(name.clone());
        }
    }

    fn forget_unwanted(&mut self) {
        let wanted = &self.wanted;
        self.sent.retain(|key, _| {
            wanted.iter().any(|l| asks(l, &key.name) && key.constraints.matches(&l.parameters))
        });
    }

    /// The response that is due.
    fn response(&mut self, dialect: Dialect, nonce: u64) -> Option<Response> {
        let visible = self.visible();
        let mut sent: BTreeMap<VariantKey, u64> =
            visible.iter().map(|k| (k.clone(), self.variants[k])).collect();
        let full = dialect == Dialect::Sotw;
        let complete = sent.clone();
        sent.retain(|key, version| self.sent.get(key) != Some(version));
        let gone: Vec<_> = self.sent.keys().filter(|key| !visible.contains(*key)).cloned().collect();
        let mut removed: Vec<VariantKey> = if full { Vec::new() } else { gone.clone() };
        if !full {
            let absent = self.wanted.iter().filter(|l| self.matching(l).is_empty()).cloned();
            let news: Vec<_> = absent.filter(|l| !self.sent_absent.contains(l)).collect();
            removed
                .extend(news.iter().map(|l| VariantKey::new(l.name.clone(), Constraints::unconstrained())));
            self.sent_absent.extend(news);
            self.sent_absent.retain(|l| self.wanted.contains(l));
            for name in std::mem::take(&mut self.stated) {
                if visible.iter().all(|key| key.name != name) {
                    removed.push(VariantKey::new(name, Constraints::unconstrained()));
                }
            }
        }
        let quiet =
            sent.is_empty() && removed.is_empty() && gone.is_empty() && !std::mem::take(&mut self.owes);
        self.sent = complete.clone();
        let back: Vec<_> = sent.keys().map(|key| key.name.clone()).collect();
        self.sent_absent.retain(|locator| !back.iter().any(|name| asks(locator, name)));
        let resources = if full { complete } else { sent };
        let variant =
            |(key, version): (VariantKey, u64)| Ok(Variant::new(key, content(&version.to_string())));
        (!quiet).then(|| Response {
            type_url: cds(),
            version: nonce.to_string().into(),
            nonce: nonce.to_string().into(),
            resources: resources.into_iter().map(variant).collect(),
            removed,
            errors: Vec::new(),
        })
    }
}

const NAMES: [&str; 2] = ["xdstp://s/T/dir/a", "xdstp://s/T/dir/b"];
const GLOB: &str = "xdstp://s/T/dir/*";

/// Whether `locator` is for the resource `name`, or for the directory of all.
fn asks(locator: &ResourceLocator, name: &Name) -> bool {
    [GLOB, name].contains(&&*locator.name)
}

#[derive(Clone, Debug)]
enum Step {
    Subscribe(ResourceLocator),
    Unsubscribe(ResourceLocator),
    Put(VariantKey),
    Remove(VariantKey),
    Talk,
    Reconnect,
}

/// Variants never overlap: TP2 leaves open what happens then.
fn any_step() -> impl Strategy<Value = Step> {
    let locator = || {
        let names = prop::sample::select(vec![NAMES[0], NAMES[1], GLOB]);
        (names, prop::sample::select(vec!["", "env=prod", "env=test"]))
            .prop_map(|(name, parameters)| ResourceLocator::new(name, params(parameters)))
    };
    let key = || {
        let constraints = prop::sample::select(vec!["[env=prod]", "[env=test]", "[!env]"]);
        (prop::sample::select(NAMES.to_vec()), constraints).prop_map(|(n, c)| key(&format!("{n}{c}")))
    };
    prop_oneof![
        3 => locator().prop_map(Step::Subscribe),
        2 => locator().prop_map(Step::Unsubscribe),
        4 => key().prop_map(Step::Put),
        2 => key().prop_map(Step::Remove),
        4 => Just(Step::Talk),
        1 => Just(Step::Reconnect),
    ]
}

struct World {
    stream: UpstreamSession,
    server: Server,
    /// What a database would hold.
    committed: BTreeMap<VariantKey, String>,
    nonce: u64,
    dialect: Dialect,
    wanted: BTreeSet<ResourceLocator>,
}

impl World {
    fn new(dialect: Dialect) -> Self {
        let settings = Settings {
            dialect,
            naming: Naming::Locators,
            does_not_exist: TIMEOUT,
            polled: false,
            drop_on_errors: Arc::from([]),
            shrink_guard: None,
            endpoint_guard: None,
        };
        let (server, wanted, committed) = Default::default();
        Self { stream: UpstreamSession::new(settings), server, committed, nonce: 0, dialect, wanted }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Subscribe(locator) => {
                if self.wanted.insert(locator.clone()) {
                    self.stream.subscribe(&cds(), locator);
                }
            }
            Step::Unsubscribe(locator) => {
                self.wanted.remove(&locator);
                self.stream.unsubscribe(&cds(), &locator);
                let reached = |key: &VariantKey| {
                    self.wanted.iter().any(|l| asks(l, &key.name) && key.constraints.matches(&l.parameters))
                };
                self.committed.retain(|key, _| reached(key));
            }
            Step::Put(key) => {
                self.server.changes += 1;
                self.server.variants.insert(key, self.server.changes);
            }
            Step::Remove(key) => drop(self.server.variants.remove(&key)),
            Step::Talk => self.talk(),
            Step::Reconnect => {
                self.stream.connected();
                self.server = Server {
                    variants: std::mem::take(&mut self.server.variants),
                    changes: self.server.changes,
                    ..Server::default()
                };
            }
        }
    }

    fn talk(&mut self) {
        loop {
            while let Some(request) = self.stream.poll_transmit(Instant::now()) {
                self.server.receive(&request, self.dialect);
            }
            self.nonce += 1;
            let Some(response) = self.server.response(self.dialect, self.nonce) else { break };
            let applied = self.stream.handle_response(response, Instant::now());
            assert_eq!(applied.rejected, []);
            for variant in applied.batch.upserts {
                self.committed.insert(variant.key().clone(), variant.content().upstream_version.to_string());
            }
            applied.batch.removals.iter().for_each(|key| drop(self.committed.remove(key)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn stream_and_server_agree(steps in prop::collection::vec(any_step(), 1..40), delta: bool) {
        let mut world = World::new(if delta { Dialect::Delta } else { Dialect::Sotw });
        world.step(Step::Reconnect);
        steps.into_iter().for_each(|step| world.step(step));
        world.step(Step::Talk);
        let server = &world.server;
        let wanted: BTreeMap<_, _> =
            server.visible().into_iter().map(|key| { let version = server.variants[&key].to_string(); (key, version) }).collect();
        prop_assert_eq!(&server.wanted, &world.wanted);
        prop_assert_eq!(&world.committed, &wanted);
    }
}
