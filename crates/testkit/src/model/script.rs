//! Scripts: what happens, in which order, as values that shrink.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use weir_types::constraints::Expr;
use weir_types::{
    Absence, Absent, Answered, Constraints, Content, DynamicParameters, Kind, Name, Provenance, Scope,
    Selector, TypeUrl, VariantKey, WILDCARD,
};

use super::{Change, World};

/// The types in play: full state and not, with and without a legacy wildcard.
const KINDS: [Kind; 4] = [Kind::Cluster, Kind::ClusterLoadAssignment, Kind::Listener, Kind::VirtualHost];

/// A type that Weir does not know.
const OTHER: &str = "type.googleapis.com/acme.Widget";

/// The resources, and then the collections that they are part of.
const NAMES: [&str; 6] = ["a", "b", "xdstp://x/T/dir/c", "xdstp://x/T/dir/d", WILDCARD, "xdstp://x/T/dir/*"];

/// The other names of the resources with these names, for virtual hosts.
const ALIASES: [Option<&str>; 4] = [None, Some(NAMES[3]), Some(NAMES[3]), None];

/// How a subscriber asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// By plain names; the number of its parameter set.
    Plain(usize),
    /// By locators with one parameter set.
    Leaf(usize),
    /// By locators with all parameter sets, as a caching proxy.
    Proxy,
}

/// One more or one less variant.
#[derive(Clone, Debug)]
pub enum Edit {
    /// A variant of a name is new or changed.
    Put {
        /// Which name.
        name: usize,
        /// Which constraints.
        constraints: usize,
        /// Which content.
        content: u8,
        /// For how many seconds it lives, if not for ever.
        ttl: Option<u64>,
    },
    /// A variant of a name lives on.
    Beat {
        /// Which name.
        name: usize,
        /// Which constraints.
        constraints: usize,
        /// For how many seconds.
        ttl: u64,
    },
    /// A variant of a name is gone.
    Remove {
        /// Which name.
        name: usize,
        /// Which constraints.
        constraints: usize,
    },
}

/// One response of upstream.
#[derive(Clone, Debug)]
pub struct Statement {
    /// About which type.
    pub type_url: usize,
    /// Through which kind of subscription.
    pub provenance: Provenance,
    /// What is new, changed, or gone.
    pub edits: Vec<Edit>,
    /// Names that are absent, for which parameters, and whether that is known.
    pub absent: Vec<(usize, Option<usize>, bool)>,
    /// The collections that are answered, those of the reach: for which parameters.
    pub answered: Option<Option<usize>>,
}

/// What happens.
#[derive(Clone, Debug)]
pub enum Op {
    /// Upstream sends something.
    Commit(Statement),
    /// Upstream repeats what it sent.
    Again(usize, Provenance),
    /// Upstream sends something in the middle of the next framing.
    Midway(Statement, bool),
    /// Both twins ask for a type, without names.
    Open(usize, usize),
    /// Both twins subscribe.
    Subscribe(usize, usize, Vec<(usize, usize)>),
    /// Both twins unsubscribe.
    Unsubscribe(usize, usize, Vec<(usize, usize)>),
    /// Both twins ask again for what they asked.
    AskAgain(usize, usize),
    /// Both twins lose their streams.
    Reconnect(usize, bool),
    /// Responses leave one stream.
    Transmit(usize, usize),
    /// Responses arrive at one client, which accepts or rejects them.
    Receive(usize, usize, bool),
    /// Requests arrive from one client.
    Deliver(usize, usize),
    /// Everything arrives.
    Drain,
    /// Seconds pass.
    Sweep(u64),
}

/// A whole script.
#[derive(Clone)]
pub struct Script {
    /// Who subscribes; each of them twice, once in each dialect.
    pub profiles: Vec<Profile>,
    /// Whether each name comes through one reach only. Otherwise the wildcard and the name may be given
    /// different variants, which for a client that asks by locator is "Matching Ambiguity".
    pub apart: bool,
    /// What happens.
    pub ops: Vec<Op>,
}

/// A line for each step, since scripts are read when they fail.
impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.profiles)?;
        self.ops.iter().try_for_each(|op| write!(f, "\n  {op:?}"))
    }
}

fn type_url(index: usize) -> TypeUrl {
    KINDS.get(index).and_then(|kind| TypeUrl::of_kind(*kind)).unwrap_or_else(|| TypeUrl::new(OTHER))
}

fn parameters(index: usize) -> DynamicParameters {
    let sets: [&[(&str, &str)]; 4] =
        [&[], &[("env", "prod")], &[("env", "test")], &[("env", "prod"), ("version", "v1")]];
    sets[index].iter().copied().collect()
}

fn constraints(index: usize) -> Constraints {
    let prod = || Expr::value("env", "prod");
    let v1 = || Expr::value("version", "v1");
    Constraints::new(match index {
        0 => Expr::All(vec![]),
        1 => prod(),
        2 => Expr::value("env", "test"),
        3 => Expr::not(prod()),
        4 => Expr::All(vec![prod(), v1()]),
        5 => Expr::All(vec![prod(), Expr::not(Expr::exists("version"))]),
        6 => Expr::Any(vec![prod(), Expr::value("env", "test")]),
        _ => Expr::not(Expr::exists("env")),
    })
}

fn scope(set: Option<usize>) -> Scope {
    set.map_or(Scope::All, |index| Scope::Exactly(parameters(index)))
}

impl Statement {
    fn change(&self, apart: bool) -> Change {
        let type_url = type_url(self.type_url);
        let clusters = type_url.kind() == Kind::Cluster;
        let aliased = type_url.kind() == Kind::VirtualHost && !apart;
        let mut change = Change::new(type_url, self.provenance);
        let through = |edit: &&Edit| {
            let (Edit::Put { name, .. } | Edit::Beat { name, .. } | Edit::Remove { name, .. }) = edit;
            !apart
                || [Provenance::Named, Provenance::Wildcard, Provenance::Named, Provenance::Local][*name]
                    == self.provenance
        };
        for edit in self.edits.iter().filter(through) {
            change = match *edit {
                Edit::Put { name, constraints: which, content, ttl } => {
                    let key = VariantKey::new(NAMES[name], constraints(which));
                    // An upstream does not send the same twice in a response (p06).
                    change.upserts.retain(|(other, _)| *other != key);
                    // `initial_resource_versions` do not distinguish variants, and aliases even less.
                    let alias = ALIASES[name].filter(|_| aliased).map(Name::from);
                    let content = Content {
                        body: Some(Bytes::copy_from_slice(&[b'0' + content])),
                        aliases: alias.into_iter().collect(),
                        eds_name: clusters.then(|| NAMES[name].into()),
                        ttl: ttl.map(Duration::from_secs),
                        ..Content::default()
                    };
                    change.with(key, content)
                }
                Edit::Beat { name, constraints: which, ttl } => {
                    let key = VariantKey::new(NAMES[name], constraints(which));
                    change.refreshing(key, Duration::from_secs(ttl))
                }
                Edit::Remove { name, constraints: which } => {
                    change.without(VariantKey::new(NAMES[name], constraints(which)))
                }
            };
        }
        change.absent.extend(self.absent.iter().map(|(name, set, known)| Absent {
            name: NAMES[*name].into(),
            scope: scope(*set),
            absence: if *known { Absence::Known } else { Absence::TimedOut },
        }));
        let collection = match self.provenance {
            Provenance::Named => Some(NAMES[5].into()),
            Provenance::Wildcard => Some(WILDCARD.into()),
            Provenance::Local => None,
        };
        change.answered.extend(self.answered.map(|set| Answered {
            collection,
            scope: scope(set),
            absence: Absence::Known,
        }));
        change
    }
}

impl Profile {
    fn parameters(self) -> DynamicParameters {
        match self {
            Self::Plain(set) => parameters(set),
            Self::Leaf(_) | Self::Proxy => DynamicParameters::empty(),
        }
    }

    fn selectors(self, type_url: &TypeUrl, asked: &[(usize, usize)]) -> Vec<Selector> {
        let mut selectors: Vec<Selector> = asked
            .iter()
            .map(|&(name, set)| match self {
                Self::Plain(own) => Selector::plain(NAMES[name], parameters(own)),
                Self::Leaf(own) => Selector::located(NAMES[name], parameters(own)),
                Self::Proxy => Selector::located(NAMES[name], parameters(set)),
            })
            .collect();
        // There is no wildcard for virtual hosts.
        selectors.retain(|s| type_url.kind() != Kind::VirtualHost || !s.locator.is_wildcard());
        selectors.sort();
        selectors.dedup();
        selectors
    }
}

impl Script {
    /// Runs it in a world of its own, to the end.
    pub fn run(&self) {
        let parameters: Vec<_> = self.profiles.iter().map(|profile| profile.parameters()).collect();
        let mut world = World::new(&parameters);
        for op in &self.ops {
            self.step(&mut world, op);
        }
        world.settle();
        world.close();
    }

    fn step(&self, world: &mut World, op: &Op) {
        let links = world.clients();
        let subscriber = |who: usize| who % self.profiles.len();
        let twins = |who: usize| [2 * subscriber(who), 2 * subscriber(who) + 1];
        match op {
            Op::Commit(statement) => world.commit(statement.change(self.apart)),
            Op::Again(index, provenance) => world.commit_again(&type_url(*index), *provenance),
            Op::Midway(statement, before) => world.interrupt(statement.change(self.apart), *before),
            Op::Open(who, index) => {
                // Who asks by locators names what it wants: there is no legacy wildcard in locators.
                if matches!(self.profiles[subscriber(*who)], Profile::Plain(_)) {
                    twins(*who).into_iter().for_each(|who| world.act(who, |c| c.open(&type_url(*index))));
                }
            }
            Op::Subscribe(who, index, asked) => {
                let selectors = self.profiles[subscriber(*who)].selectors(&type_url(*index), asked);
                for who in twins(*who) {
                    world.act(who, |client| Some(client.subscribe(&type_url(*index), &selectors)));
                }
            }
            Op::Unsubscribe(who, index, asked) => {
                let selectors = self.profiles[subscriber(*who)].selectors(&type_url(*index), asked);
                for who in twins(*who) {
                    world.act(who, |client| client.unsubscribe(&type_url(*index), &selectors));
                }
            }
            Op::AskAgain(who, index) => {
                twins(*who).into_iter().for_each(|who| world.act(who, |c| c.ask_again(&type_url(*index))));
            }
            Op::Reconnect(who, keep_nonce) => {
                twins(*who).into_iter().for_each(|who| world.reconnect(who, *keep_nonce));
            }
            Op::Transmit(link, count) => drop(world.transmit(link % links, *count)),
            Op::Receive(link, count, reject) => drop(world.receive(link % links, *count, *reject)),
            Op::Deliver(link, count) => drop(world.deliver(link % links, *count)),
            Op::Drain => world.drain(),
            Op::Sweep(seconds) => world.sweep(Duration::from_secs(*seconds)),
        }
    }
}

fn provenance() -> impl Strategy<Value = Provenance> {
    prop_oneof![2 => Just(Provenance::Named), 3 => Just(Provenance::Wildcard), 1 => Just(Provenance::Local)]
}

fn edit() -> impl Strategy<Value = Edit> {
    let ttl = prop_oneof![2 => Just(None), 1 => (5..60u64).prop_map(Some)];
    prop_oneof![
        3 => (0..4usize, 0..8usize, 0..3u8, ttl)
            .prop_map(|(name, constraints, content, ttl)| Edit::Put { name, constraints, content, ttl }),
        1 => (0..4usize, 0..8usize, 5..60u64)
            .prop_map(|(name, constraints, ttl)| Edit::Beat { name, constraints, ttl }),
        2 => (0..4usize, 0..8usize).prop_map(|(name, constraints)| Edit::Remove { name, constraints }),
    ]
}

fn statement() -> impl Strategy<Value = Statement> {
    let set = || prop_oneof![2 => Just(None), 1 => (0..4usize).prop_map(Some)];
    let absent = prop::collection::vec((0..4usize, set(), any::<bool>()), 0..3);
    let answered = prop_oneof![2 => Just(None), 1 => set().prop_map(Some)];
    (0..5usize, provenance(), prop::collection::vec(edit(), 0..5), absent, answered).prop_map(
        |(type_url, provenance, edits, absent, answered)| Statement {
            type_url,
            provenance,
            edits,
            absent,
            answered,
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let asked = || prop::collection::vec((0..6usize, 0..4usize), 1..4);
    let link = || 0..6usize;
    prop_oneof![
        12 => statement().prop_map(Op::Commit),
        1 => (0..5usize, provenance()).prop_map(|(index, provenance)| Op::Again(index, provenance)),
        3 => (statement(), any::<bool>()).prop_map(|(statement, before)| Op::Midway(statement, before)),
        2 => (link(), 0..5usize).prop_map(|(who, index)| Op::Open(who, index)),
        6 => (link(), 0..5usize, asked()).prop_map(|(who, index, asked)| Op::Subscribe(who, index, asked)),
        3 => (link(), 0..5usize, asked()).prop_map(|(who, index, asked)| Op::Unsubscribe(who, index, asked)),
        1 => (link(), 0..5usize).prop_map(|(who, index)| Op::AskAgain(who, index)),
        2 => (link(), any::<bool>()).prop_map(|(who, keep)| Op::Reconnect(who, keep)),
        4 => (link(), 1..4usize).prop_map(|(link, count)| Op::Transmit(link, count)),
        3 => (link(), 1..3usize, prop::bool::weighted(0.2)).prop_map(|(l, n, r)| Op::Receive(l, n, r)),
        3 => (link(), 1..3usize).prop_map(|(link, count)| Op::Deliver(link, count)),
        4 => Just(Op::Drain),
        2 => (1..90u64).prop_map(Op::Sweep),
    ]
}

/// Scripts of up to `length` steps for subscribers with these profiles.
pub fn script(profiles: impl Strategy<Value = Vec<Profile>>, length: usize) -> impl Strategy<Value = Script> {
    (profiles, prop::collection::vec(op(), 1..length)).prop_map(|(profiles, ops)| {
        let apart = profiles.iter().any(|profile| !matches!(profile, Profile::Plain(_)));
        Script { profiles, apart, ops }
    })
}

/// One to three subscribers by plain names.
pub fn plain() -> impl Strategy<Value = Vec<Profile>> {
    prop::collection::vec((0..4usize).prop_map(Profile::Plain), 1..4)
}

/// One to three subscribers of any profile.
pub fn mixed() -> impl Strategy<Value = Vec<Profile>> {
    let profile = prop_oneof![
        1 => (0..4usize).prop_map(Profile::Plain),
        2 => (0..4usize).prop_map(Profile::Leaf),
        2 => Just(Profile::Proxy),
    ];
    prop::collection::vec(profile, 1..4)
}
