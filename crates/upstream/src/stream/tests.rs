//! Streams with a clock that the test moves, and a sink that keeps what it is given.

use std::time::{Duration, Instant};

use bytes::Bytes;
use weir_config::{Debounce, PositiveDuration};
use weir_database::Watch;
use weir_protocol::client::{Applied, Naming, Response};
use weir_store::Past;
use weir_types::{Constraints, Content, DynamicParameters, ResourceLocator, TypeUrl, Variant, VariantKey};
use weir_wire::discovery::Node;

use super::*;
use crate::Trial;
use crate::arrival::Moment;

/// Keeps what happens, in words.
#[derive(Default)]
struct Log(Vec<String>);

impl EventSink for Log {
    fn apply(&mut self, applied: Applied, _: Arrival) -> Option<Watch> {
        self.0.push(format!("response of {}", applied.batch.upserts.len()));
        None
    }

    fn note(&mut self, event: Event) {
        self.0.push(match event {
            Event::Connected { endpoint, .. } => format!("connected to {endpoint}"),
            Event::Disconnected { endpoint, .. } => format!("disconnected from {endpoint}"),
            Event::Known(batch) => {
                let absence = batch.absent.iter().map(|absent| absent.absence).collect::<Vec<_>>();
                format!("known: {}, {absence:?}", batch.upserts.len())
            }
            Event::Remembered(batch) => format!("remembered: {}", batch.upserts.len()),
            Event::Unconfirmed(_, count) => format!("unconfirmed: {count}"),
            Event::Wanted { locator, wanted, .. } => format!("wanted {}: {wanted}", locator.name),
            Event::Outdated { locator, .. } => format!("outdated: {}", locator.name),
            Event::InSync(in_sync) => format!("in sync: {in_sync}"),
            other => format!("{other:?}"),
        });
    }
}

struct Fixture {
    stream: UpstreamStream<Log>,
    now: Instant,
    responses: usize,
}

fn cds() -> TypeUrl {
    TypeUrl::from_short_name("cds").unwrap()
}

fn locator(name: &str) -> ResourceLocator {
    ResourceLocator::new(name, DynamicParameters::empty())
}

fn variant(name: &str, version: &str) -> Variant {
    let content = Content {
        body: Some(Bytes::copy_from_slice(version.as_bytes())),
        upstream_version: version.into(),
        ..Content::default()
    };
    Variant::new(VariantKey::new(name, Constraints::unconstrained()), content)
}

/// A control plane at `http://a` and `http://b`.
fn settings() -> Settings {
    let endpoints = ["http://a", "http://b"].map(str::to_owned).to_vec();
    Settings::new("", endpoints, crate::Naming::Native { node: Node::default() })
}

impl Fixture {
    fn new(settings: Settings, remembers: bool) -> Self {
        let session = UpstreamSession::new(settings.machine(Naming::Locators));
        let stream = UpstreamStream::new(session, Arc::new(settings), remembers, Log::default());
        Self { stream, now: Instant::now(), responses: 0 }
    }

    /// A stream with bursts of 100 to 250 ms, on which the first answer has come.
    fn debounced() -> Self {
        let debounce = Debounce { quiet: PositiveDuration::millis::<100>(), max: Duration::from_millis(250) };
        let mut f = Self::new(Settings { debounce: Some(debounce), ..settings() }, false);
        f.subscribe("a");
        f.connect("http://a", 0);
        f.requests();
        f.respond(&[("a", "1")]);
        f
    }

    /// What has happened since this was last asked.
    fn events(&mut self) -> Vec<String> {
        self.stream.report_progress(self.now);
        std::mem::take(&mut self.stream.sink.0)
    }

    fn subscribe(&mut self, name: &str) {
        self.stream.handle_command(Command::Subscribe(cds(), locator(name)));
    }

    fn connect(&mut self, endpoint: &str, index: usize) {
        self.stream.handle_connected(&Arc::from(endpoint), index, None, self.now);
    }

    fn requests(&mut self) -> Vec<Request> {
        std::iter::from_fn(|| self.stream.poll_transmit(self.now)).collect()
    }

    fn respond(&mut self, variants: &[(&str, &str)]) {
        self.responses += 1;
        let resources = variants.iter().map(|(name, version)| Ok(variant(name, version))).collect();
        let nonce = self.responses.to_string();
        let (type_url, version, removed, errors) = (cds(), Arc::from("1"), Vec::new(), Vec::new());
        let response = Response { type_url, version, nonce: nonce.into(), resources, removed, errors };
        let arrival = Arrival::new(Moment::now(), None, None);
        self.stream.handle_response(Some((response, arrival)), self.now);
    }

    fn pass(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        if self.stream.poll_timeout().is_some_and(|at| at <= self.now) {
            self.stream.handle_timeout(self.now);
        }
    }
}

#[test]
fn a_first_answer_does_not_wait_and_changes_of_a_burst_do() {
    let mut f = Fixture::debounced();
    assert_eq!(f.events(), ["connected to http://a", "response of 1", "in sync: true"]);
    for version in ["2", "3"] {
        f.respond(&[("a", version)]);
        f.pass(90);
    }
    let events = f.events();
    assert!(
        events.iter().all(|event| event == "response of 0" || event.starts_with("Debounced")),
        "{events:?}"
    );
    assert_eq!(f.requests().len(), 3, "each response is acknowledged at once");
    f.pass(10);
    assert_eq!(f.events(), ["known: 1, []"]);
}

#[test]
fn what_is_debounced_is_committed_when_the_stream_ends() {
    let mut f = Fixture::debounced();
    f.respond(&[("a", "2")]);
    f.events();
    f.stream.handle_disconnected();
    assert_eq!(f.events()[0], "known: 1, []");
}

#[test]
fn unknown_names_are_unavailable_while_no_endpoint_is_left_and_open_again_with_a_connection() {
    let mut f = Fixture::new(settings(), false);
    f.subscribe("a");
    for (index, endpoint) in ["http://a", "http://b"].into_iter().enumerate() {
        assert_eq!(f.stream.next_endpoint(f.now), (index, Duration::ZERO));
        f.stream.handle_failure(endpoint.into(), index, "refused".to_owned(), f.now);
    }
    assert_eq!(f.events(), ["disconnected from http://a", "disconnected from http://b"]);
    let (_, wait) = f.stream.next_endpoint(f.now);
    assert!(wait > Duration::ZERO);
    let unavailable = f.events();
    assert_eq!(unavailable.len(), 1, "{unavailable:?}");
    f.subscribe("b");
    f.stream.report_commands();
    assert_eq!(f.events().len(), 1, "also what is newly subscribed");
    f.connect("http://a", 0);
    let back = f.events();
    assert_eq!(back.last().map(String::as_str), Some("connected to http://a"), "{back:?}");
    assert_eq!(back.len(), 2);
}

#[test]
fn u04_versions_are_stated_to_the_endpoint_that_gave_them_alone_unless_they_are_shared() {
    for (shared_versions, next, stated) in
        [(false, "http://a", 1), (false, "http://b", 0), (true, "http://b", 1)]
    {
        let mut f = Fixture::new(Settings { shared_versions, ..settings() }, false);
        ["a", "b"].iter().for_each(|name| f.subscribe(name));
        f.connect("http://a", 0);
        f.requests();
        f.respond(&[("a", "1"), ("b", "1")]);
        f.stream.handle_disconnected();
        f.connect(next, 0);
        let requests = f.requests();
        let versions = requests.iter().flat_map(|request| &request.initial_versions);
        let versions = versions.filter(|(_, version)| **version == *"1").count();
        // One of them is left out, so that a live endpoint has to answer.
        assert_eq!(versions, stated, "{next}, shared: {shared_versions}");
    }
}

#[test]
fn u04_a_silent_endpoint_is_expected_to_answer_what_is_subscribed() {
    let mut f = Fixture::new(settings(), false);
    f.subscribe("a");
    f.connect("http://a", 0);
    f.requests();
    f.events();
    let silent = f.now + Trial::default().answer;
    assert_eq!(f.stream.poll_probe(f.now), Some((1, silent)));
    f.respond(&[("a", "1")]);
    assert_eq!(f.stream.poll_probe(f.now), None);
}

#[test]
fn u09_what_an_earlier_process_left_is_restored_until_a_server_has_answered() {
    let mut f = Fixture::new(settings(), true);
    f.subscribe("a");
    assert_eq!(f.stream.poll_look_up(), [(cds(), locator("a"))]);
    assert_eq!(f.stream.poll_look_up(), [], "once");
    f.stream.restore(vec![Past { type_url: cds(), variants: vec![variant("a", "1")], known: Vec::new() }]);
    assert_eq!(f.events()[..], ["wanted a: true", "remembered: 1", "unconfirmed: 1"]);
    f.connect("http://a", 0);
    f.requests();
    f.respond(&[("a", "1")]);
    let events = f.events();
    assert!(events.contains(&"unconfirmed: 0".to_owned()), "{events:?}");
    f.subscribe("b");
    f.requests();
    f.respond(&[("b", "1")]);
    assert_eq!(f.stream.poll_look_up(), [], "the server has answered");
    assert!(f.events().contains(&"outdated: b".to_owned()));
}
