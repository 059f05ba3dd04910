//! The machine alone: views that move when a test moves them, and frames that contain what was asked for.

mod answers;
mod errors;
mod known;
mod memory;
mod order;
mod polls;
mod requests;
mod responses;
mod split;
mod waiting;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use weir_types::{
    Commit, Cursor, DynamicParameters, Head, KnownVersions, Name, Selector, Subscription, TypeUrl, Version,
};

use super::*;

/// What upstream has sent for a type.
#[derive(Debug, Default)]
struct World {
    head: Head,
    unsettled: (usize, usize),
    refreshes: bool,
    failing: usize,
    version: Version,
    warming: HashSet<Name>,
    refuses: bool,
    disputed: bool,
    /// What the client has answered for, and whether it rejected it.
    answers: Vec<(u64, bool)>,
    errs: bool,
    postponed: Vec<Selector>,
    asked_again: Vec<Selector>,
    /// How many names nobody can be asked for.
    away: usize,
    unproved: usize,
    /// What cannot be sent yet.
    waiting: Vec<Selector>,
    /// Of what is sent next: the endpoints of clusters that the client does not have yet.
    new_clusters: Vec<Name>,
    /// Names that are answered with nothing.
    absent: HashSet<Name>,
    /// Names that are not answered.
    unanswered: HashSet<Name>,
}

type Worlds = Rc<RefCell<BTreeMap<TypeUrl, World>>>;

struct FakeView {
    type_url: TypeUrl,
    worlds: Worlds,
    subscription: Subscription,
    cursor: Cursor,
}

impl View for FakeView {
    fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    fn head(&self) -> Head {
        self.worlds.borrow()[&self.type_url].head
    }

    fn unsettled(&self) -> (usize, usize) {
        self.worlds.borrow()[&self.type_url].unsettled
    }

    fn failing(&self) -> usize {
        self.worlds.borrow()[&self.type_url].failing
    }

    fn unproved(&self) -> usize {
        self.worlds.borrow()[&self.type_url].unproved
    }

    fn under_way(&self) -> usize {
        let worlds = self.worlds.borrow();
        let world = &worlds[&self.type_url];
        world.unsettled.0 - world.away
    }

    fn settled_of(&self, names: &[Name]) -> usize {
        let worlds = self.worlds.borrow();
        let unanswered = &worlds[&self.type_url].unanswered;
        names.iter().position(|name| unanswered.contains(name)).unwrap_or(names.len())
    }

    fn present_of(&self, mut selectors: Vec<Selector>) -> Vec<Selector> {
        let worlds = self.worlds.borrow();
        selectors.retain(|selector| !worlds[&self.type_url].absent.contains(&selector.locator.name));
        selectors
    }

    fn cursor(&self) -> Cursor {
        self.cursor
    }

    fn advance(&mut self, cursor: Cursor) {
        assert!(cursor.additions >= self.cursor.additions && cursor.removals >= self.cursor.removals);
        self.cursor = cursor;
    }

    fn change(&mut self, add: &[Selector], remove: &[Selector]) -> Result<(), Refused> {
        if self.worlds.borrow()[&self.type_url].refuses {
            return Err(Refused::TooMuch("no more".into()));
        }
        self.subscription = self.subscription.patched(add, remove);
        Ok(())
    }

    fn ask_again(&mut self, again: &[Selector]) -> Result<(), Refused> {
        let mut worlds = self.worlds.borrow_mut();
        worlds.entry(self.type_url.clone()).or_default().asked_again.extend_from_slice(again);
        Ok(())
    }

    fn answer(&mut self, to: Commit, rejection: Option<&Nack>) {
        let mut worlds = self.worlds.borrow_mut();
        let world = worlds.entry(self.type_url.clone()).or_default();
        world.answers.push((to.0, rejection.is_some()));
    }
}

struct FakeViews(Worlds);

impl Views for FakeViews {
    type View = FakeView;

    fn attach(&mut self, type_url: &TypeUrl, add: &[Selector]) -> Result<FakeView, Refused> {
        let mut worlds = self.0.borrow_mut();
        let world = worlds.entry(type_url.clone()).or_default();
        if world.refuses {
            return Err(Refused::TooMuch("no more".into()));
        }
        world.head.additions = world.head.additions.max(Commit(1));
        Ok(FakeView {
            type_url: type_url.clone(),
            worlds: Rc::clone(&self.0),
            subscription: add.iter().cloned().collect(),
            cursor: Cursor::default(),
        })
    }
}

/// What a step asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    type_url: &'static str,
    everything: bool,
    hold_removals: bool,
    forced: bool,
    owed: Vec<String>,
    unsaid: Vec<String>,
    known: bool,
}

/// Sends something if the view has moved, something is owed, or it has to.
#[derive(Default)]
struct FakeFramer {
    /// Happens in the middle of the next frame.
    midway: Option<Box<dyn FnOnce()>>,
    /// Has nothing to send, whatever moves.
    silent: bool,
    /// How many responses each step takes beside the first.
    more: usize,
}

impl Framer<FakeView> for FakeFramer {
    type Frame = Asked;

    fn frame(&mut self, step: &Step<'_, FakeView>) -> Framed<Asked> {
        let view = step.logical.view();
        let (head, after) = (view.head(), step.after);
        let moved = head.additions > after.additions && after.additions > Commit(0)
            || head.removals > after.removals && !step.hold_removals;
        let asked = Asked {
            type_url: step.logical.type_url().short_name(),
            everything: step.everything,
            hold_removals: step.hold_removals,
            forced: step.forced,
            owed: step.owed().iter().map(|selector| selector.locator.name.to_string()).collect(),
            unsaid: step.unsaid().iter().map(|selector| selector.locator.name.to_string()).collect(),
            known: step.known().is_some(),
        };
        let something =
            moved || !asked.owed.is_empty() || !asked.unsaid.is_empty() || step.forced || step.everything;
        let something = something && !self.silent;
        if let Some(midway) = self.midway.take() {
            midway();
        }
        let worlds = view.worlds.borrow();
        let world = &worlds[&view.type_url];
        let rest = (something && self.more > 0).then(|| vec![asked.clone(); self.more].into());
        Framed {
            to: head.newest(),
            frame: something.then_some(asked),
            rest,
            version: world.version,
            refreshes: world.refreshes,
            disputed: world.disputed,
            errs: world.errs,
            postponed: world.postponed.iter().cloned().collect(),
            waiting: world.waiting.iter().cloned().collect(),
            warming: (!world.warming.is_empty()).then(|| Arc::new(world.warming.clone())),
            new_clusters: (!world.new_clusters.is_empty()).then(|| Arc::from(&*world.new_clusters)),
        }
    }
}

/// A stream under test.
struct Fixture {
    worlds: Worlds,
    stream: ServerStream<FakeView, Asked>,
    framer: FakeFramer,
    commits: u64,
    now: Instant,
}

fn parameters() -> DynamicParameters {
    [("env", "prod")].into_iter().collect()
}

fn type_url(short: &str) -> TypeUrl {
    TypeUrl::from_short_name(short).unwrap_or_else(|| TypeUrl::new("type.googleapis.com/acme.Widget"))
}

fn selectors(names: &[&str]) -> Vec<Selector> {
    names.iter().map(|name| Selector::plain(*name, parameters())).collect()
}

fn inbound(short: &str, nonce: &str, names: Names) -> Inbound {
    Inbound { type_url: type_url(short), nonce: nonce.into(), nack: None, names, version: None, known: None }
}

fn replace(short: &str, nonce: &str, names: &[&str]) -> Inbound {
    inbound(short, nonce, Names::Replace(selectors(names)))
}

fn patch(short: &str, nonce: &str, subscribe: &[&str], unsubscribe: &[&str]) -> Inbound {
    let (subscribe, unsubscribe) = (selectors(subscribe), selectors(unsubscribe));
    inbound(short, nonce, Names::Patch { subscribe, unsubscribe })
}

fn nack(mut inbound: Inbound) -> Inbound {
    inbound.nack = Some(Nack { code: 13, message: "no".into() });
    inbound
}

fn holding(mut inbound: Inbound, names: &[&str]) -> Inbound {
    let known: KnownVersions = names.iter().map(|name| (*name, "0000000000000001")).collect();
    inbound.known = Some(Arc::new(known));
    inbound
}

impl Fixture {
    fn new(dialect: Dialect) -> Self {
        Self::with_mode(dialect, Mode::Aggregated)
    }

    fn with_mode(dialect: Dialect, mode: Mode) -> Self {
        let stream = ServerStream::new(dialect, mode, parameters());
        Self {
            worlds: Worlds::default(),
            stream,
            framer: FakeFramer::default(),
            commits: 1,
            now: Instant::now(),
        }
    }

    /// A poll of a world in which others have polled before.
    fn poll(&mut self, inbound: Inbound) -> Option<Verdict> {
        self.stream = ServerStream::polled(parameters());
        self.says(inbound)
    }

    fn says(&mut self, inbound: Inbound) -> Option<Verdict> {
        let mut views = FakeViews(Rc::clone(&self.worlds));
        self.stream.handle_message(inbound, &mut views, self.now).expect("it is not refused")
    }

    /// Something of the type is new.
    fn adds(&mut self, short: &str) {
        self.commits += 1;
        let commit = Commit(self.commits);
        self.world(short, |world| {
            world.head.additions = commit;
            world.version = Version(commit.0);
        });
    }

    /// Upstream answers something of the type that was asked for.
    fn answered(&mut self, short: &str) {
        self.adds(short);
        self.world(short, |world| world.head.answers = world.head.additions);
    }

    /// Time passes.
    fn passes(&mut self, millis: u64) -> TimedOut {
        self.now += Duration::from_millis(millis);
        self.stream.handle_timeout(self.now)
    }

    /// In how many milliseconds something will have waited for long enough.
    fn due_in(&self) -> Option<u128> {
        self.stream.poll_timeout().map(|at| at.saturating_duration_since(self.now).as_millis())
    }

    /// The client accepts a response.
    fn accepts(&mut self, short: &str, nonce: &str) {
        self.says(match self.stream.dialect() {
            Dialect::Sotw => replace(short, nonce, &["a"]),
            Dialect::Delta => patch(short, nonce, &[], &[]),
        });
    }

    /// Something of the type is gone.
    fn removes(&mut self, short: &str) {
        self.commits += 1;
        let commit = Commit(self.commits);
        self.world(short, |world| {
            world.head.removals = commit;
            world.version = Version(commit.0);
        });
    }

    fn world(&mut self, short: &str, change: impl FnOnce(&mut World)) {
        change(self.worlds.borrow_mut().entry(type_url(short)).or_default());
    }

    fn next(&mut self) -> Option<(String, Asked)> {
        let transmit = self.stream.poll_transmit(&mut self.framer, self.now)?;
        Some((transmit.nonce.to_string(), transmit.frame))
    }

    /// Everything that leaves now: the types, and the newest nonce.
    fn drain(&mut self) -> Vec<Asked> {
        std::iter::from_fn(|| self.next()).map(|(_, asked)| asked).collect()
    }

    /// The one response that leaves now.
    fn only(&mut self) -> (String, Asked) {
        let one = self.next().expect("something leaves");
        assert_eq!(self.next(), None);
        one
    }

    fn subscribed(&self, short: &str) -> Vec<String> {
        let logical = self.stream.logical().iter().find(|l| *l.type_url() == type_url(short));
        let subscription = logical.expect("it was asked for").view().subscription();
        let mut names: Vec<String> = subscription.iter().map(|s| s.locator.name.to_string()).collect();
        names.sort_unstable();
        names
    }
}

/// A client of all these types that has been sent everything.
fn client_of(dialect: Dialect, types: &[&'static str]) -> Fixture {
    let mut fixture = Fixture::new(dialect);
    for short in types {
        fixture.says(match dialect {
            Dialect::Sotw => replace(short, "", &["a"]),
            Dialect::Delta => patch(short, "", &["a"], &[]),
        });
    }
    fixture.drain();
    fixture
}
