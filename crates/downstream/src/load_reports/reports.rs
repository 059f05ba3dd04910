//! The reports of one client, read when they are asked for.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use http_body::Body;
use tokio::sync::oneshot;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::Status;

use super::metrics::{LoadMetrics, Sender};
use crate::admission::{LoadOpened, Partial, Refusal};
use crate::messages::Frames;

/// The messages of a body, from the first one on, which was read already. There is no buffer: a control plane that does
/// not take them keeps the client from sending more. The end of the client's stream is their end, so that what has
/// arrived arrives there.
pub(super) struct Reports<B> {
    frames: Frames<B>,
    first: Option<Bytes>,
    /// Counts the message that was passed on last, which may still be on its way.
    passed: Partial,
    /// Over with the client's stream.
    ending: Pin<Box<WaitForCancellationFutureOwned>>,
    /// What is wrong with what the client sent, for the client.
    failure: Option<oneshot::Sender<Status>>,
    metrics: Arc<LoadMetrics>,
    /// A stream that the control plane does not read to its end counts for so long.
    _opened: Arc<LoadOpened>,
}

impl<B: Body<Data = Bytes> + Unpin> Reports<B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// `first`, then what comes of `frames`. Before `ending`, something wrong is a `failure`.
    pub(super) fn new(
        first: Bytes,
        frames: Frames<B>,
        ending: Pin<Box<WaitForCancellationFutureOwned>>,
        failure: oneshot::Sender<Status>,
        metrics: Arc<LoadMetrics>,
        opened: Arc<LoadOpened>,
    ) -> Self {
        let passed = frames.gate().partial();
        Self { frames, first: Some(first), passed, ending, failure: Some(failure), metrics, _opened: opened }
    }

    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Status>> {
        let message = match self.first.take() {
            Some(first) => first,
            None => match self.frames.poll_next(cx, None)? {
                Poll::Ready(Some(message)) => message,
                Poll::Ready(None) => return Poll::Ready(Ok(None)),
                Poll::Pending => return self.ending.as_mut().poll(cx).map(|()| Ok(None)),
            },
        };
        self.passed = self.frames.gate().partial();
        self.passed.count(message.len()).map_err(Refusal::status)?;
        Poll::Ready(Ok(Some(message)))
    }
}

impl<B: Body<Data = Bytes> + Unpin> Stream for Reports<B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.failure.is_none() {
            return Poll::Ready(None);
        }
        match ready!(self.poll_message(cx)) {
            Ok(Some(message)) => {
                self.metrics.passed(Sender::Client, message.len());
                return Poll::Ready(Some(message));
            }
            Ok(None) => self.failure = None,
            Err(status) => {
                if let Some(failure) = self.failure.take() {
                    // Where the stream is over, nobody waits for it.
                    _ = failure.send(status);
                }
            }
        }
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream::{self, BoxStream};
    use futures_util::{FutureExt as _, StreamExt as _};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use tokio_util::sync::CancellationToken;
    use tonic::Code;

    use super::*;
    use crate::messages::{Bounds, frame};
    use crate::settings::Settings;
    use crate::shared::Shared;

    type Pieces = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Status>>>;

    struct World {
        shared: Shared,
        over: CancellationToken,
        failure: oneshot::Receiver<Status>,
        reports: Reports<Pieces>,
    }

    /// Reports of which the first has 3 bytes, and these have arrived. There is room for 128 KiB in all.
    fn world(arrived: Vec<Bytes>, ends: bool) -> World {
        let mut settings = Settings::default();
        settings.downstream.max_request_size = (64 << 10).try_into().unwrap();
        settings.limits.max_partial_requests = (128 << 10).try_into().unwrap();
        let bounds = |shared: &Shared| Bounds::of(&shared.settings(), &shared.gate);
        let shared = Shared::new(settings, weir_database::Database::new(weir_database::Settings::default()));
        let arrived = stream::iter(arrived).map(|message| Ok(Frame::data(frame(message))));
        let body: BoxStream<'static, _> = match ends {
            true => arrived.boxed(),
            false => arrived.chain(stream::pending()).boxed(),
        };
        let frames = Frames::new(StreamBody::new(body), bounds(&shared));
        let (over, (failed, failure)) = (CancellationToken::new(), oneshot::channel());
        let opened = Arc::new(shared.gate.open_load().ok().unwrap());
        let ending = Box::pin(over.clone().cancelled_owned());
        let first = Bytes::from_static(b"one");
        let reports = Reports::new(first, frames, ending, failed, Arc::new(LoadMetrics::new()), opened);
        World { shared, over, failure, reports }
    }

    impl World {
        /// What comes at once.
        fn next(&mut self) -> Option<Option<Bytes>> {
            self.reports.next().now_or_never()
        }

        /// Whether there is room for 80 KiB more.
        fn has_room(&self) -> bool {
            let mut others = [(); 2].map(|()| self.shared.gate.partial());
            others.iter_mut().all(|other| other.count(40 << 10).is_ok())
        }
    }

    #[tokio::test]
    async fn q01_what_has_arrived_goes_before_the_end() {
        let mut world = world(vec![Bytes::from_static(b"two"), Bytes::new()], false);
        world.over.cancel();
        for report in ["one", "two", ""] {
            assert_eq!(world.next(), Some(Some(Bytes::from_static(report.as_bytes()))));
        }
        assert_eq!(world.next(), Some(None));
        assert!(world.failure.try_recv().is_err(), "nothing is wrong");
        let mut half_closed = self::world(Vec::new(), true);
        assert!(half_closed.next().flatten().is_some());
        assert_eq!((half_closed.next(), half_closed.next()), (Some(None), Some(None)));
    }

    #[tokio::test]
    async fn q01_the_report_that_waits_counts_and_no_other() {
        let large = Bytes::from(vec![0; 60 << 10]);
        let mut world = world(vec![large.clone(), large.clone(), Bytes::new()], false);
        assert!(world.next().flatten().is_some() && world.has_room());
        for _ in 0..2 {
            assert_eq!(world.next(), Some(Some(large.clone())));
            assert!(!world.has_room());
        }
        assert!(world.next().flatten().is_some(), "an empty one");
        assert_eq!(world.next(), None, "the client is waited for");
        assert!(world.has_room());
    }

    #[tokio::test]
    async fn q01_e05_what_there_is_no_room_for_ends_the_reports() {
        let mut world = world(vec![Bytes::from(vec![0; 60 << 10])], false);
        let _others = [(); 2].map(|()| {
            let mut other = world.shared.gate.partial();
            other.count(50 << 10).ok().unwrap();
            other
        });
        assert!(world.next().flatten().is_some());
        assert_eq!((world.next(), world.next()), (Some(None), Some(None)));
        assert_eq!(world.failure.try_recv().unwrap().code(), Code::ResourceExhausted);
    }
}
