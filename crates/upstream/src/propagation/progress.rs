//! How far a commit has come, at each view that it has touched.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::Notify;
use weir_database::{Answer, Observer, Touched, ViewListener};

use super::trace::{Trace, ViewSpan};
use crate::arrival::Moment;

/// Counts what the streams of a commit are sent and answer, and notes it in the commit's trace.
pub(super) struct Progress {
    /// Who else waits.
    waiter: Option<Arc<dyn Observer>>,
    trace: Option<Trace>,
    views: OnceLock<Vec<View>>,
    /// How many streams are not done.
    pending: AtomicUsize,
    rejected: AtomicUsize,
    /// Notified when none are left.
    done: Notify,
    /// When the last one was done.
    last: Mutex<Option<Instant>>,
}

/// The streams of one view.
struct View {
    /// How many there are.
    streams: usize,
    sent: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    counts: Counts,
    /// None where nobody traces, and where there are more views than one looks at.
    span: Option<ViewSpan>,
    /// Who was done last, and when.
    slowest: Option<(Arc<str>, Moment)>,
}

/// What became of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// How many there were.
    pub(super) streams: usize,
    /// To how many it was sent.
    pub(super) sent: usize,
    /// How many have accepted it, or had to be sent nothing.
    pub(super) accepted: usize,
    /// How many have rejected it.
    pub(super) rejected: usize,
    /// How many were gone before they answered.
    pub(super) left: usize,
}

impl Counts {
    /// How many are not done.
    pub(super) fn pending(&self) -> usize {
        self.streams.saturating_sub(self.accepted + self.rejected + self.left)
    }

    fn add(&mut self, other: &Self) {
        self.streams += other.streams;
        self.sent += other.sent;
        self.accepted += other.accepted;
        self.rejected += other.rejected;
        self.left += other.left;
    }
}

impl Progress {
    pub(super) fn new(waiter: Option<Arc<dyn Observer>>, trace: Option<Trace>) -> Self {
        Self {
            waiter,
            trace,
            views: OnceLock::new(),
            pending: AtomicUsize::new(0),
            rejected: AtomicUsize::new(0),
            done: Notify::new(),
            last: Mutex::new(None),
        }
    }

    /// The commit was made between these two.
    pub(super) fn committed(&self, from: Moment, to: Moment) {
        if let Some(trace) = &self.trace {
            trace.committed(self.views().len(), self.streams(), from, to);
        }
    }

    /// How many streams it concerns.
    pub(super) fn streams(&self) -> usize {
        self.views().iter().map(|view| view.streams).sum()
    }

    fn views(&self) -> &[View] {
        self.views.get().map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_done(&self) -> bool {
        self.pending.load(Ordering::Acquire) == 0
    }

    /// Waits until no stream is left.
    pub(super) async fn done(&self) {
        while !self.is_done() {
            self.done.notified().await;
        }
    }

    pub(super) fn rejected(&self) -> usize {
        self.rejected.load(Ordering::Acquire)
    }

    /// When the last stream was done; now while there are any left.
    pub(super) fn end(&self) -> Instant {
        let now = Moment::now().instant;
        if self.is_done() { self.last.lock().unwrap_or(now) } else { now }
    }

    /// Ends the trace.
    pub(super) fn finish(&self) {
        let Some(trace) = &self.trace else { return };
        let mut all = Counts::default();
        for view in self.views() {
            let mut state = view.state.lock();
            let sent = view.sent.load(Ordering::Acquire);
            let counts = Counts { streams: view.streams, sent, ..state.counts };
            all.add(&counts);
            if let Some(span) = state.span.take() {
                span.end(&counts, state.slowest.as_ref(), trace.arrived());
            }
        }
        trace.end(&all);
    }
}

impl Observer for Progress {
    fn over(&self) {
        if let Some(waiter) = &self.waiter {
            waiter.over();
        }
    }

    fn touched(&self, views: &[Touched<'_>]) {
        let mut spans = self.trace.iter().flat_map(|trace| trace.views(views));
        let views = views.iter().map(|touched| View {
            streams: touched.streams,
            sent: AtomicUsize::new(0),
            state: Mutex::new(State { span: spans.next(), ..State::default() }),
        });
        let views: Vec<View> = views.collect();
        self.pending.store(views.iter().map(|view| view.streams).sum(), Ordering::Release);
        _ = self.views.set(views);
    }

    fn sent(&self, view: usize) {
        if let Some(view) = self.views().get(view) {
            view.sent.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn answered(&self, view: usize, stream: &dyn ViewListener, answer: Answer<'_>) {
        let now = Moment::now();
        if self.trace.is_some()
            && let Some(view) = self.views().get(view)
        {
            view.state.lock().answered(stream.name(), answer, now);
        }
        if let Answer::Rejected(_) = answer {
            self.rejected.fetch_add(1, Ordering::AcqRel);
        }
        // Whoever finds none left has to find the time too.
        *self.last.lock() = Some(now.instant);
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }

    fn note(&self, view: usize) -> Option<Arc<[u8]>> {
        self.trace.as_ref()?;
        self.views().get(view)?.state.lock().span.as_ref()?.note()
    }
}

impl State {
    fn answered(&mut self, who: Arc<str>, answer: Answer<'_>, now: Moment) {
        match answer {
            Answer::Accepted => self.counts.accepted += 1,
            Answer::Rejected(reason) => {
                self.counts.rejected += 1;
                self.span.iter_mut().for_each(|span| span.rejected(&who, reason, now));
            }
            Answer::Left => self.counts.left += 1,
        }
        self.slowest = Some((who, now));
    }
}
