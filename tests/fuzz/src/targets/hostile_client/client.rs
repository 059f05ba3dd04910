//! The client's streams, one after the other, and what must be true of what it is sent.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http_body::{Body, Frame};
use prost::Message;
use weir_database::ViewListener;
use weir_downstream::{Bounds, Client, Messages, NodeRules};
use weir_protocol::Dialect;
use weir_session::{ClientTransport, Env, Limits, Request, Session, SessionSettings, Wrapping};
use weir_testkit::model::Bell;
use weir_types::xdstp::collections_of;
use weir_types::{ApiVersion, Form, Selector, TypeUrl, Variant};
use weir_wire::discovery::{DeltaDiscoveryResponse, DiscoveryResponse};
use weir_wire::resource::{decode, decode_any};
use weir_wire::services::Service;

use super::world::World;

static RULES: LazyLock<NodeRules> = LazyLock::new(NodeRules::default);

/// What it may ask for in one request, and how large that may be.
const LIMITS: Limits = Limits {
    name_length: 200,
    names: 32,
    names_per_stream: 64,
    locators_per_name: 8,
    types_per_stream: 16,
    message: 2048,
    node: 1024,
};

static SETTINGS: LazyLock<Arc<SessionSettings>> =
    LazyLock::new(|| Arc::new(SessionSettings { limits: LIMITS, ..SessionSettings::default() }));

/// How long a request may take.
const PACE: Duration = Duration::from_secs(30);

/// What a stream may remember beside its subscriptions: the endpoints of the clusters that are in play.
const BESIDE: usize = 64;

/// What has arrived of a request body that goes on.
#[derive(Clone, Default)]
struct Wire(Rc<RefCell<VecDeque<Bytes>>>);

impl Body for Wire {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let arrived = self.0.borrow_mut().pop_front();
        arrived.map_or(Poll::Pending, |bytes| Poll::Ready(Some(Ok(Frame::data(bytes)))))
    }
}

/// One stream of the client.
pub(super) struct Hostile<R> {
    wire: Wire,
    messages: Messages<R, Wire>,
    /// From the first message on.
    session: Option<Session>,
    over: bool,
    bell: Arc<dyn ViewListener>,
    /// What it has subscribed to since it last had read everything, and all that it ever has.
    asked: BTreeSet<(TypeUrl, Selector)>,
    ever: BTreeSet<(TypeUrl, Selector)>,
    nonces: BTreeMap<TypeUrl, Vec<String>>,
}

impl<R: Request> Hostile<R> {
    pub(super) fn new() -> Self {
        let wire = Wire::default();
        Self {
            messages: Messages::new(wire.clone(), Bounds::alone(&LIMITS, PACE)),
            wire,
            session: None,
            over: false,
            bell: Arc::new(Bell::default()),
            asked: BTreeSet::new(),
            ever: BTreeSet::new(),
            nonces: BTreeMap::new(),
        }
    }

    /// Sends bytes, in pieces of so many.
    pub(super) fn send(&mut self, bytes: &[u8], piece: usize) {
        let pieces = bytes.chunks(piece).map(Bytes::copy_from_slice);
        self.wire.0.borrow_mut().extend(pieces);
    }

    /// A nonce that it was sent, or one that it was not.
    pub(super) fn nonce(&self, choice: u8) -> String {
        let of_type = self.nonces.values().nth(usize::from(choice >> 4) % self.nonces.len().max(1));
        let sent = of_type.and_then(|nonces| nonces.iter().rev().nth(usize::from(choice & 3)));
        sent.cloned().unwrap_or_else(|| if choice & 4 == 0 { String::new() } else { "1-0".to_owned() })
    }

    /// Has everything taken in that has arrived.
    pub(super) fn settle(&mut self, world: &World) {
        while !self.over
            && let Some(next) = self.messages.next().now_or_never()
        {
            let taken = match next {
                Ok(Some(request)) => self.take(request, world),
                Ok(None) | Err(_) => None,
            };
            if taken.is_none() {
                self.over = true;
                self.session = None;
            }
        }
    }

    /// None if the stream is over with it.
    fn take(&mut self, request: R, world: &World) -> Option<()> {
        if self.session.is_none() {
            let service = Service::of(ApiVersion::V3, None).expect("there is ADS");
            let client = Client::new(request.node(), &RULES).ok()?;
            let transport = ClientTransport::Grpc(service, R::DIALECT);
            let settings = Arc::clone(&SETTINGS);
            self.session = Some(Session::new(transport, client.profile, Wrapping::default(), settings, 0));
        }
        let session = self.session.as_mut()?;
        let env = Env {
            database: &world.database,
            subscriber: &self.bell,
            initial_versions: &world.statements,
            now: world.now,
        };
        session.handle_request(request, &env).ok()?;
        let subscribed = subscribed(session);
        self.asked.extend(subscribed.iter().cloned());
        self.ever.extend(subscribed);
        Some(())
    }

    /// Reads up to so many responses.
    pub(super) fn read(&mut self, world: &World, most: usize) {
        for _ in 0..most.min(1000) {
            let Some(session) = &mut self.session else { return };
            let Some(transmit) = session.poll_transmit(&world.responses, world.now) else {
                self.asked = subscribed(session).into_iter().collect();
                return;
            };
            let (type_url, nonce, sent) = read(R::DIALECT, &transmit.frame);
            assert_eq!(nonce, transmit.nonce.to_string());
            let nonces = self.nonces.entry(type_url.clone()).or_default();
            assert!(!nonces.contains(&nonce), "d05: {nonce} came before");
            nonces.push(nonce);
            for variant in sent {
                let resource = (type_url.clone(), variant.name().clone());
                let asks = |(of, selector): &(TypeUrl, Selector)| {
                    let by_alias = || world.is_alias(&resource, &selector.locator.name);
                    *of == type_url && asks(selector, &variant, by_alias)
                };
                assert!(
                    self.asked.iter().any(asks),
                    "{:?} was not subscribed: {:?}",
                    variant.key(),
                    self.asked
                );
            }
        }
        assert!(most < 1000, "there is no end of responses");
    }

    /// What the stream makes the server remember.
    pub(super) fn check(&self, world: &World) {
        let Some(session) = &self.session else {
            return assert_eq!(world.streams(), 0, "a stream that is over is still attached");
        };
        assert_eq!(world.streams(), session.types().len());
        let beside = session.remembered();
        assert!(beside <= self.ever.len() + BESIDE, "{beside} names are remembered of {}", self.ever.len());
    }
}

fn subscribed(session: &Session) -> Vec<(TypeUrl, Selector)> {
    let type_subscription = session.types().iter();
    let of_type = type_subscription.flat_map(|type_subscription| {
        let selectors = type_subscription.view().subscription().iter();
        selectors.map(|selector| (type_subscription.type_url().clone(), selector.clone()))
    });
    of_type.collect()
}

/// The type, the nonce and the resources of a response.
fn read(dialect: Dialect, frame: &[u8]) -> (TypeUrl, String, Vec<Variant>) {
    let (header, message) = frame.split_at(5);
    assert_eq!(header, [&[0], &(message.len() as u32).to_be_bytes()[..]].concat());
    match dialect {
        Dialect::Sotw => {
            let response = DiscoveryResponse::decode(message).expect("a frame is a response");
            let type_url = TypeUrl::new(response.type_url);
            let sent = response.resources.iter().map(|any| decode_any(any, &type_url, ""));
            let sent = sent.collect::<Result<_, _>>().expect("what is sent can be read");
            (type_url, response.nonce, sent)
        }
        Dialect::Delta => {
            let response = DeltaDiscoveryResponse::decode(message).expect("a frame is a response");
            let type_url = TypeUrl::new(response.type_url);
            let sent = response.resources.iter().map(|resource| decode(resource, &type_url, ""));
            let sent = sent.collect::<Result<_, _>>().expect("what is sent can be read");
            (type_url, response.nonce, sent)
        }
    }
}

/// Whether who subscribes to `selector` may be sent `variant`, which has no constraints if it is sent plainly.
fn asks(selector: &Selector, variant: &Variant, by_alias: impl Fn() -> bool) -> bool {
    let locator = &selector.locator;
    let by_name = *variant.name() == locator.name || by_alias();
    let collected = || collections_of(variant.name()).any(|collection| *collection == *locator.name);
    let for_it = match selector.form {
        Form::Plain => true,
        Form::Located => variant.key().constraints.matches(&locator.parameters),
    };
    for_it && (by_name || collected())
}
