//! The summary as server-sent events: one whenever it changes.
//!
//! One task makes it for all who look, and only while somebody does. It is made at most once a second, and less often
//! where that takes long, so that looking costs no more than a twentieth of a processor, however many clients there are;
//! unless that were less than every ten seconds.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::summary::{Maker, Summary};
use crate::{Shared, TAG};

/// How often it is made at most.
const EVERY: Duration = Duration::from_secs(1);

/// How much longer than making it takes the pause is, at least.
const SHARE: u32 = 19;

/// The longest pause.
const AT_LEAST_EVERY: Duration = Duration::from_secs(10);

/// The longest silence on a stream of events: after it, a comment shows that the connection is alive.
const SILENCE: Duration = Duration::from_secs(15);

/// The newest event.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    /// Nothing yet.
    Nothing,
    /// The summary, as an event.
    Summary(Bytes),
    /// There will be nothing more.
    End,
}

/// Makes summaries for those who look.
pub(crate) struct Events {
    instance: Shared,
    newest: watch::Sender<Event>,
    /// Whether there is a task that makes them.
    made: Mutex<bool>,
}

impl Events {
    pub(crate) fn of(instance: Shared) -> Self {
        Self { instance, newest: watch::channel(Event::Nothing).0, made: Mutex::new(false) }
    }

    /// Ends all streams of events, those of the future too.
    pub(crate) fn end(&self) {
        self.newest.send_replace(Event::End);
    }

    /// Somebody looks.
    fn watch(self: &Arc<Self>) -> watch::Receiver<Event> {
        let mut made = self.made.lock();
        let mut watch = self.newest.subscribe();
        watch.mark_changed();
        if !std::mem::replace(&mut made, true) {
            // The last one is from when somebody looked.
            self.publish(Event::Nothing);
            tokio::spawn(Arc::clone(self).make());
        }
        watch
    }

    /// Makes summaries while anybody looks.
    async fn make(self: Arc<Self>) {
        let mut maker = Maker::default();
        loop {
            let begun = Instant::now();
            let summary = maker.make(&self.instance).await;
            self.publish(Event::Summary(event(&summary)));
            tokio::time::sleep((begun.elapsed() * SHARE).clamp(EVERY, AT_LEAST_EVERY)).await;
            let mut made = self.made.lock();
            if self.newest.receiver_count() == 0 {
                *made = false;
                return;
            }
        }
    }

    fn publish(&self, event: Event) {
        self.newest.send_if_modified(|last| {
            let changes = *last != Event::End && *last != event;
            if changes {
                *last = event;
            }
            changes
        });
    }
}

/// As HTML has server-sent events.
fn event(summary: &Summary) -> Bytes {
    let json = serde_json::to_string(summary).unwrap_or_default();
    format!("event: summary\ndata: {json}\n\n").into()
}

/// What is next for somebody who looks; none at the end.
async fn next(watch: &mut watch::Receiver<Event>) -> Option<Bytes> {
    loop {
        match tokio::time::timeout(SILENCE, watch.changed()).await {
            Err(_) => return Some(Bytes::from_static(b":\n\n")),
            Ok(Err(_)) => return None,
            Ok(Ok(())) => match &*watch.borrow_and_update() {
                Event::Nothing => {}
                Event::Summary(event) => return Some(event.clone()),
                Event::End => return None,
            },
        }
    }
}

/// A summary at once, and another whenever it changes, about once a second at most: server-sent events of the type
/// `summary`.
#[utoipa::path(
    get, path = "/events", tag = TAG,
    responses((
        status = 200, body = Summary, content_type = "text/event-stream",
        description = "The data of each event",
    )),
)]
pub(crate) async fn events(State(events): State<Arc<Events>>) -> Response {
    let events = stream::unfold(events.watch(), async |mut watch| {
        let event = next(&mut watch).await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(events)).into_response()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use serde_json::Value;

    use super::*;
    use crate::tests::fake::Fake;

    async fn summary(watch: &mut watch::Receiver<Event>) -> Value {
        let event = next(watch).await.expect("a summary");
        let text = std::str::from_utf8(&event).unwrap();
        let data = text.strip_prefix("event: summary\ndata: ").unwrap_or_else(|| panic!("{text}"));
        serde_json::from_str(data).unwrap()
    }

    fn looks(fake: &Fake) -> u64 {
        fake.looks.load(Ordering::Relaxed)
    }

    #[tokio::test(start_paused = true)]
    async fn one_task_sends_changes_and_nothing_else_to_all_who_watch() {
        let fake = Fake::new(3);
        let events = Arc::new(Events::of(Arc::clone(&fake) as Shared));
        let mut all: Vec<_> = (0..100).map(|_| events.watch()).collect();
        for watch in &mut all {
            assert_eq!(summary(watch).await["ready"], true);
        }
        assert_eq!(looks(&fake), 1, "one look is for all");
        let silence = next(&mut all[0]).await.unwrap();
        assert_eq!(&*silence, b":\n\n", "an unchanged summary is not sent again");
        assert!((14..=16).contains(&looks(&fake)), "{}", looks(&fake));
        fake.ready.store(false, Ordering::Relaxed);
        let begun = Instant::now();
        for watch in &mut all {
            assert_eq!(summary(watch).await["ready"], false);
        }
        assert!(begun.elapsed() <= EVERY);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_looked_at_for_nobody() {
        let fake = Fake::new(3);
        let events = Arc::new(Events::of(Arc::clone(&fake) as Shared));
        let mut watch = events.watch();
        summary(&mut watch).await;
        drop(watch);
        tokio::time::sleep(EVERY * 2).await;
        let before = looks(&fake);
        tokio::time::sleep(EVERY * 10).await;
        assert_eq!(looks(&fake), before);
        fake.ready.store(false, Ordering::Relaxed);
        assert_eq!(summary(&mut events.watch()).await["ready"], false, "the first one is new");
    }

    #[tokio::test(start_paused = true)]
    async fn at_the_end_nothing_more_is_sent() {
        let events = Arc::new(Events::of(Fake::new(0) as Shared));
        let mut watch = events.watch();
        summary(&mut watch).await;
        events.end();
        assert!(next(&mut watch).await.is_none());
        assert!(next(&mut events.watch()).await.is_none());
    }
}
