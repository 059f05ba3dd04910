//! The next response: which type makes a step, what the step is, and what is noted of it when it is made.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use weir_database::{RemovalDelivery, Shape};
use weir_types::{Cursor, Dialect, Kind, Name, Version};

use super::held_removals::HeldRemovals;
use super::order::{self, Additions, Portion, Removals, TypeProgress, next_step};
use super::split::Split;
use super::{Mode, Nonce, ServerStream, Step, TypeSubscription};
use crate::profile::ClientKind;
use crate::responses::{EncodedResponse, ResponseCache, StreamResponses};

/// A response that is ready to leave.
#[derive(Debug)]
pub struct OutgoingResponse {
    /// The place of its type in [`Session::types`](crate::Session::types).
    pub index: usize,
    /// Its nonce.
    pub nonce: Nonce,
    /// The version of what the client then has.
    pub version: Version,
    /// Its bytes, in the frame that gRPC puts around a message.
    pub frame: Bytes,
    /// Whether it refreshes what lives on.
    pub refreshes: bool,
    /// Of a poll: whether it must not be kept for anyone else.
    pub uncacheable: bool,
}

impl ServerStream {
    /// The next response, if there is anything to send. The caller has room to send it.
    pub(crate) fn poll_transmit<C: ResponseCache>(
        &mut self,
        responses: &StreamResponses<'_, C>,
    ) -> Option<OutgoingResponse> {
        if let Some(part) = self.next_part() {
            return Some(part);
        }
        self.look_at_endpoints();
        loop {
            self.look_at_removals(responses.now);
            let next = next_step(self.progress(), self.clusters_are_warming())?;
            let index = next.index;
            let mut removals = match next.portion {
                Portion::Whole | Portion::Removals => RemovalDelivery::Now,
                Portion::Additions => RemovalDelivery::Deferred,
            };
            let view = &self.types[index].view;
            let settled = view.unsettled() == (0, 0) && view.failing() == 0 && view.unproved() == 0;
            let mut response = responses.get_or_make(&self.step(index, removals));
            let replaces =
                next.portion != Portion::Removals && response.warming.is_some() && self.takes_away(index);
            if replaces && removals == RemovalDelivery::Now {
                removals = RemovalDelivery::Deferred;
                response = responses.get_or_make(&self.step(index, removals));
            }
            // Commits go on meanwhile: what must leave before this, or before its removals, comes first.
            if next.is_overtaken(self.progress(), self.clusters_are_warming()) {
                continue;
            }
            if let Some(transmit) = self.make_step(index, removals, settled, response, responses.now) {
                return Some(transmit);
            }
        }
    }

    /// How far each type has come.
    fn progress(&self) -> impl Iterator<Item = TypeProgress> + Clone {
        let holds = self.holds_removals() && self.held_removals != HeldRemovals::Due;
        self.types.iter().map(move |type_subscription| type_subscription.progress(self.dialect, holds))
    }

    /// Takes note of removals of what the client has by name.
    fn look_at_removals(&mut self, now: Instant) {
        if self.holds_removals() {
            let there_are = self.types.iter().any(TypeSubscription::removes_what_is_in_use);
            self.held_removals.look(there_are, now, self.patience.warming);
        }
    }

    /// Whether removals of what the client has by name stay behind for a time. Another Weir does not know whether its clients
    /// have left it.
    fn holds_removals(&self) -> bool {
        self.mode == Mode::Aggregated && self.client != ClientKind::Weir
    }

    /// The next part of a response that takes more than one: nothing comes in between.
    fn next_part(&mut self) -> Option<OutgoingResponse> {
        let index = self.types.iter().position(|of_type| of_type.split.is_some())?;
        let type_subscription = &mut self.types[index];
        let nonce = type_subscription.responses.nonce()?.following();
        let split = type_subscription.split.take()?;
        let Split { version, removals, .. } = *split;
        let (frame, left) = split.take_next();
        type_subscription.sent(nonce, version, removals, left);
        Some(OutgoingResponse { index, nonce, version, frame, refreshes: false, uncacheable: false })
    }

    /// Whether there may be something to send. If not, [`Self::poll_transmit`] would return nothing.
    pub(crate) fn is_due(&self) -> bool {
        let has_changes =
            |of_type: &TypeSubscription| of_type.has_additions(self.dialect) || of_type.has_removals();
        self.types.iter().any(|of_type| of_type.split.is_some() || has_changes(of_type))
    }

    fn step(&self, index: usize, removals: RemovalDelivery) -> Step<'_> {
        let type_subscription = &self.types[index];
        let is_full_state = type_subscription.is_full_state(self.dialect);
        Step {
            type_subscription,
            dialect: self.dialect,
            after: if self.mode.is_poll() { Cursor::default() } else { type_subscription.view.cursor() },
            shape: if is_full_state { Shape::Everything } else { Shape::Changes },
            removals,
            forced: !type_subscription.is_answered()
                && type_subscription.gates_first_response(self.dialect)
                && type_subscription.initial_versions.get().is_none()
                && !self.is_up_to_date(index),
        }
    }

    /// Whether the client's first request states a version, for a subscription of which a version covers everything:
    /// if it is the current one, nothing is sent.
    fn is_up_to_date(&self, index: usize) -> bool {
        let type_subscription = &self.types[index];
        let mut subscription = type_subscription.view.subscription().iter();
        let is_answered_by_version = self.mode.is_poll()
            || self.dialect == Dialect::Sotw
                && matches!(type_subscription.type_url.kind(), Kind::Cluster | Kind::Listener)
                && subscription.all(|selector| selector.locator.is_wildcard());
        let states_version = type_subscription.version.is_some() || self.mode.rejected().is_some();
        !type_subscription.is_answered() && is_answered_by_version && states_version
    }

    /// Whether the client of an aggregated stream has something that is gone.
    fn takes_away(&self, index: usize) -> bool {
        let type_subscription = &self.types[index];
        let removals = type_subscription.view.head().removals > type_subscription.view.cursor().removals;
        self.mode == Mode::Aggregated && type_subscription.is_answered() && removals
    }

    /// Moves the type subscription over a step that was encoded when the subscription was `settled` or not.
    /// Returns the response, unless there is nothing to send.
    fn make_step(
        &mut self,
        index: usize,
        removals_sent: RemovalDelivery,
        settled: bool,
        response: EncodedResponse,
        now: Instant,
    ) -> Option<OutgoingResponse> {
        let (up_to_date, defer_removals) =
            (self.is_up_to_date(index), removals_sent == RemovalDelivery::Deferred);
        let version = if self.mode.is_poll() { response.poll_version } else { response.version };
        let type_subscription = &mut self.types[index];
        let whole = type_subscription.is_full_state(self.dialect) || self.mode.is_poll();
        let same = [type_subscription.version, self.mode.rejected()].contains(&Some(version));
        // In state of the world, a response that repeats what the client has is empty (but when asked).
        let news = response.refreshes || response.has_errors && !self.mode.is_poll();
        let silent = same
            && !news
            && type_subscription.resend.is_empty()
            && whole
            && (type_subscription.is_answered() || up_to_date);
        let Cursor { removals, .. } = type_subscription.view.cursor();
        let removals = if defer_removals { removals } else { response.to };
        type_subscription.view.advance(Cursor { additions: response.to, removals });
        type_subscription.resend.clear();
        if !defer_removals {
            type_subscription.pending_errors.clear();
            type_subscription.pending_errors_are_due = false;
        }
        type_subscription.pending_errors_are_due |= !response.postponed.is_empty();
        type_subscription.pending_errors.extend(response.postponed.iter().chain(&*response.waiting).cloned());
        type_subscription.responses.make_step();
        if !defer_removals {
            type_subscription.initial_versions.compare(settled && !response.disputed);
        }
        let Some(frame) = response.frame.filter(|_| !silent) else {
            type_subscription.answer_for_silence();
            return None;
        };
        let nonce = Nonce::next(type_subscription.responses.nonce(), response.to);
        if type_subscription.type_url.kind() == Kind::Cluster {
            self.begin_warming(response.new_clusters, now);
        }
        let split = response.rest.and_then(|parts| Split::new(parts, version, removals_sent));
        self.types[index].sent(nonce, version, removals_sent, split);
        if let Some(clusters) = response.warming {
            self.warm(clusters);
        }
        let EncodedResponse { refreshes, uncacheable, .. } = response;
        Some(OutgoingResponse { index, nonce, version, frame, refreshes, uncacheable })
    }

    /// After a change of its cluster, a delta client waits for endpoints that it does not ask for.
    fn warm(&mut self, clusters: Arc<HashSet<Name>>) {
        if self.mode != Mode::Aggregated || self.dialect != Dialect::Delta {
            return;
        }
        let mut type_subscription = self.types.iter_mut();
        match type_subscription.find(|l| l.type_url.kind() == Kind::ClusterLoadAssignment) {
            Some(endpoints) => endpoints.resend_names(&clusters, &self.parameters),
            None => self.awaited_endpoints.add(clusters),
        }
    }
}

impl TypeSubscription {
    /// How far it has come, as its turn among the types follows from it.
    fn progress(&self, dialect: Dialect, holds_removals: bool) -> TypeProgress {
        TypeProgress {
            kind: self.type_url.kind(),
            additions: match self.has_additions(dialect) {
                false => Additions::None,
                true if !self.is_answered() || self.is_asked_for() => Additions::Awaited,
                true => Additions::Pushed,
            },
            removals: match self.has_removals() {
                false => Removals::None,
                true if holds_removals && self.removes_what_is_in_use() => Removals::InUse,
                true => Removals::Pending,
            },
        }
    }

    /// Whether something is gone to which the client may send requests, since it has it by name.
    fn removes_what_is_in_use(&self) -> bool {
        order::is_referred_to(self.type_url.kind()) && self.has_removals() && self.view.loses_names()
    }

    /// Whether the client is to be sent something that it has just asked for: it waits for that, and for nothing else.
    fn is_asked_for(&self) -> bool {
        !self.resend.is_empty() || self.view.head().answers > self.view.cursor().additions
    }

    fn has_additions(&self, dialect: Dialect) -> bool {
        if !self.is_answered() && self.gates_first_response(dialect) {
            return self.may_respond_first(dialect);
        }
        !self.resend.is_empty() || self.view.head().additions > self.view.cursor().additions
    }

    /// Whether there are removals to be sent. After a step that had to hold them back, there may always be.
    fn has_removals(&self) -> bool {
        let cursor = self.view.cursor();
        let held_back = cursor.removals < cursor.additions;
        let left = held_back || self.initial_versions.needs_recheck() || self.pending_errors_are_due;
        self.is_answered() && (left || self.view.head().removals > cursor.removals)
    }
}
