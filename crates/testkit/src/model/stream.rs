//! A production session joined to a database: requests and responses pass it as messages.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use weir_database::{Database, ViewListener};
use weir_protocol::Dialect;
use weir_session::{
    ClientProfile, ClientTransport, EncodedResponse, Encoding, Env, InitialVersions, ResponseCache,
    ResponseKey, Responses, Session, TypeSubscription, Wrapping,
};
use weir_types::{ApiVersion, KnownVersions, Selector, TypeUrl};
use weir_wire::discovery::DiscoveryRequest;
use weir_wire::request::{DeltaRequest, Statement};
use weir_wire::scan::ScanError;
use weir_wire::services::Service;

use super::Change;
use super::messages::{Request, Response};

/// Whether a stream was woken since it was last polled.
#[derive(Debug, Default)]
pub struct Bell(AtomicBool);

impl Bell {
    /// Whether it rang; it is silent again then.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

impl ViewListener for Bell {
    fn wake(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Keeps no response. While one is made, it may commit a change.
#[derive(Default)]
pub struct NoCache<'a> {
    /// The change that comes while a response is made: before (or else after) the difference is taken.
    midway: RefCell<Option<(&'a Database, &'a Change, bool)>>,
    interrupted: Cell<bool>,
    made: Cell<bool>,
}

impl<'a> NoCache<'a> {
    /// Commits this change to the database while a response is made: before (or else after) the difference is taken.
    pub fn interrupting(midway: Option<(&'a Database, &'a Change, bool)>) -> Self {
        Self { midway: RefCell::new(midway), ..Self::default() }
    }

    fn interrupt(&self, before: bool) {
        let midway = self.midway.borrow_mut().take_if(|(_, _, when)| *when == before);
        if let Some((database, change, _)) = midway {
            database.commit(change.batch());
            self.interrupted.set(true);
        }
    }
}

impl ResponseCache for NoCache<'_> {
    fn get_or_make(
        &self,
        _: &ResponseKey,
        make: impl FnOnce() -> (EncodedResponse, Encoding),
    ) -> EncodedResponse {
        self.made.set(true);
        self.interrupt(true);
        let (made, _) = make();
        self.interrupt(false);
        made
    }
}

/// Reads each statement anew.
struct Anew;

impl InitialVersions for Anew {
    fn read(&self, statement: &Statement) -> Result<Option<Arc<KnownVersions>>, ScanError> {
        if statement.is_empty() { Ok(None) } else { statement.read().map(|known| Some(Arc::new(known))) }
    }
}

/// How the server of a stream makes its responses.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    /// The most bytes of a response that can be split.
    pub limit: usize,
    /// What seconds are counted from: times to live are sent in whole ones.
    pub epoch: Instant,
}

/// What came of polling a stream.
#[derive(Debug)]
pub struct Polled {
    /// The next response, if there is one.
    pub response: Option<Response>,
    /// Whether the change came that was to come while it was made.
    pub interrupted: bool,
    /// Whether it is a further part of what was sent before.
    pub continues: bool,
}

/// The server's end of one stream.
pub struct ServerEnd {
    session: Session,
    dialect: Dialect,
    database: Database,
    /// Rings when there may be a response.
    pub bell: Arc<Bell>,
    subscriber: Arc<dyn ViewListener>,
    /// Whether the client is sent times to live.
    counts: bool,
}

impl ServerEnd {
    /// A stream of `client` to the server of `database`. Only incremental clients cannot do without times to live.
    pub fn new(database: &Database, dialect: Dialect, client: ClientProfile, counts: bool) -> Self {
        let counts = counts || dialect == Dialect::Delta;
        let service = Service::of(ApiVersion::V3, None).expect("there is ADS");
        let wrapping = Wrapping { always: true, for_ttl: counts };
        let transport = ClientTransport::Grpc(service, dialect);
        let session = Session::new(transport, Arc::new(client), wrapping, Arc::default(), 0);
        let bell: Arc<Bell> = Arc::default();
        let subscriber: Arc<dyn ViewListener> = bell.clone();
        Self { session, dialect, database: database.clone(), bell, subscriber, counts }
    }

    /// Takes in a request.
    pub fn handle(&mut self, request: &Request, now: Instant) {
        let (database, subscriber) = (&self.database, &self.subscriber);
        let env = Env { database, subscriber, initial_versions: &Anew, now };
        let message = request.encoded(self.dialect);
        let handled = match self.dialect {
            Dialect::Sotw => {
                let message = <DiscoveryRequest as weir_session::Request>::decode(message);
                self.session.handle_request(message.expect("it was encoded here"), &env)
            }
            Dialect::Delta => {
                let message = DeltaRequest::decode(message);
                self.session.handle_request(message.expect("it was encoded here"), &env)
            }
        };
        let handled = handled.expect("nothing is over a limit");
        assert!(handled.denied.is_none() && handled.refused.is_empty(), "nothing is refused: {handled:?}");
    }

    /// The next response. While it is made, a change may come.
    pub fn poll(&mut self, making: Making, cache: NoCache<'_>, now: Instant) -> Polled {
        let Making { limit, epoch } = making;
        let responses = Responses::new("origin".to_owned(), limit, epoch, cache);
        let transmit = self.session.poll_transmit(&responses, now);
        let cache = responses.cache();
        let response = transmit.map(|transmit| {
            let at = self.counts.then_some(now);
            let response = Response::decode(self.dialect, &transmit.frame, at);
            assert_eq!(response.nonce, transmit.nonce.to_string());
            assert_eq!(response.version, transmit.version);
            response
        });
        assert_eq!(self.session.close_reason(), None, "somebody can be asked");
        Polled { response, interrupted: cache.interrupted.get(), continues: !cache.made.get() }
    }

    /// Ends the waits whose time is up. Whether there are any.
    pub fn time_out(&mut self, now: Instant) -> bool {
        let due = self.session.poll_timeout().is_some_and(|at| at <= now);
        if due {
            self.session.handle_timeout(now);
        }
        due
    }

    /// Whether a response waits for something, and will leave without it when that takes too long.
    pub fn is_waiting(&self) -> bool {
        self.session.is_waiting()
    }

    /// What is subscribed, by type.
    pub fn types(&self) -> &[TypeSubscription] {
        self.session.types()
    }

    /// One of the types, if it is subscribed.
    pub fn of_type(&self, type_url: &TypeUrl) -> Option<&TypeSubscription> {
        self.types().iter().find(|type_subscription| type_subscription.type_url() == type_url)
    }

    /// What is subscribed of all types.
    pub fn subscribed(&self) -> impl Iterator<Item = (&TypeUrl, &Selector)> {
        self.types().iter().flat_map(|type_subscription| {
            let selectors = type_subscription.view().subscription().iter();
            selectors.map(|selector| (type_subscription.type_url(), selector))
        })
    }
}
