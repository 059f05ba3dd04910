//! Polling: one type of a control plane over REST-JSON, which looks like a stream of state of the world.
//!
//! Owns when to ask: at once for a changed subscription, else after the refresh interval. An acknowledgement is the
//! next poll; a rejection is part of each poll until something else comes. What does not come is never taken for a
//! change, and a failed poll ends the stream, as a failed connection does.

mod http;

use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tonic::Status;
use weir_config::Polling;
use weir_protocol::client::{Request, Response};
use weir_types::{ResourceLocator, TypeUrl};
use weir_wire::json::discovery::{request_to_json, response_from_json};

use crate::arrival::Arrival;
use crate::codec::{Writer, read_json};
use crate::transport::{Open, REQUEST_BUFFER};

pub(crate) use self::http::{Answer, Http, connect};

/// Polls `type_url` for as long as the responses are read.
pub(crate) fn open(http: Http, type_url: TypeUrl, writer: Writer) -> Open {
    let (requests, outgoing) = mpsc::channel(REQUEST_BUFFER);
    let writer = Writer { node_always: true, ..writer };
    let wish = Wish { outgoing, type_url, current: None, named: false, outdated: false };
    let poller = Poller { http, writer, wish, due: None, answered: None };
    let responses = stream::unfold(Some(poller), |poller| async {
        let mut poller = poller?;
        match poller.next().await? {
            Ok(response) => Some((Ok(response), Some(poller))),
            Err(status) => Some((Err(status), None)),
        }
    });
    Open { requests, responses: Box::pin(responses), slot: None }
}

struct Poller {
    http: Http,
    writer: Writer,
    wish: Wish,
    /// When to ask again although nothing else is wanted.
    due: Option<Instant>,
    /// What the last answer was the answer to.
    answered: Option<Vec<ResourceLocator>>,
}

impl Poller {
    /// The next response; none in it where there is nothing new.
    async fn next(&mut self) -> Option<Result<Option<(Response, Arrival)>, Status>> {
        let answer = loop {
            self.until_due().await?;
            let Some(request) = self.wish.pollable() else { continue };
            let (subscribe, body) = (request.subscribe.clone(), self.body(request));
            tokio::select! {
                answer = self.http.post(body) => {
                    self.answered = Some(subscribe);
                    break answer;
                }
                // It is the answer to a question of yesterday.
                changed = self.wish.change() => changed?,
            }
            self.due = Some(Instant::now());
        };
        self.wish.outdated = matches!(answer, Ok(Some(_)));
        let Polling { refresh_interval, refresh_jitter, .. } = self.http.polling;
        let wait = refresh_interval.get() + refresh_jitter.mul_f64(fastrand::f64());
        self.due = Some(Instant::now() + wait);
        Some(answer.and_then(|answer| answer.map(|answer| self.read(answer)).transpose()))
    }

    /// Waits for the time of the next poll.
    async fn until_due(&mut self) -> Option<()> {
        loop {
            let due = self.due.filter(|_| self.wish.pollable().is_some());
            tokio::select! {
                biased;
                changed = self.wish.take() => if changed? {
                    return Some(());
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => return Some(()),
            }
        }
    }

    /// A version stands for all that was the answer to what was asked. Some servers have one for everything, so that
    /// nothing would come for a name that is new; and after a part of a response was rejected, no version is held.
    fn body(&self, request: &Request) -> Bytes {
        let mut message = self.writer.sotw(request.clone());
        let others = self.answered.as_ref().is_some_and(|answered| *answered != request.subscribe);
        if others || request.nack.is_some() {
            message.version_info.clear();
        }
        request_to_json(message).into()
    }

    fn read(&self, Answer { body: json, context, at }: Answer) -> Result<(Response, Arrival), Status> {
        let malformed = |what: String| Status::internal(format!("{}: {what}", self.http.uri()));
        let message = response_from_json(&json).map_err(|error| malformed(error.to_string()))?;
        let (type_url, found) = (&self.wish.type_url, &message.response.type_url);
        if !found.is_empty() && found != type_url.as_str() {
            return Err(malformed(format!("$.type_url: {found:?} is not what was asked for, {type_url}")));
        }
        Ok((read_json(message, type_url), Arrival::new(at, context, None)))
    }
}

/// What is wanted, as the machine stated it last.
struct Wish {
    outgoing: mpsc::Receiver<Request>,
    type_url: TypeUrl,
    current: Option<Request>,
    /// Something was named, after which no names means nothing.
    named: bool,
    /// It does not take the last response into account.
    outdated: bool,
}

impl Wish {
    /// The request that a poll makes; none where nothing is wanted.
    fn pollable(&self) -> Option<&Request> {
        let wildcard = self.type_url.has_legacy_wildcard() && !self.named;
        let wanted = |request: &&Request| wildcard || !request.subscribe.is_empty();
        self.current.as_ref().filter(wanted).filter(|_| !self.outdated)
    }

    /// Waits until something else is wanted.
    async fn change(&mut self) -> Option<()> {
        while !self.take().await? {}
        Some(())
    }

    /// Takes in the next request, and states whether something else is wanted. What only answers a response is for
    /// the next poll.
    async fn take(&mut self) -> Option<bool> {
        let mut request = self.outgoing.recv().await?;
        self.named |= !request.subscribe.is_empty();
        let answers = std::mem::take(&mut self.outdated);
        let Some(current) = &mut self.current else {
            self.current = Some(request);
            return Some(true);
        };
        if !answers {
            request.nack = request.nack.or(current.nack.take());
        }
        let changed = current.subscribe != request.subscribe;
        *current = request;
        Some(changed)
    }
}
