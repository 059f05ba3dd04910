//! From a difference to its responses, none larger than a client takes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use weir_database::{Diff, News, Part, Piece, Removed};
use weir_types::{Constraints, Dialect, Form, Name, TypeUrl, Variant, Version};
use weir_wire::frame::{Failing, Response};

use crate::stream::{Nonce, Step};

/// The length of a gRPC frame's header.
pub(crate) const HEADER: usize = 5;

/// Encodes for clients of one kind.
pub(crate) struct Encoder<'a> {
    pub(crate) control_plane: &'a str,
    /// Whether every state-of-the-world resource is wrapped.
    pub(crate) wrapped: bool,
    /// The largest message that they take, in bytes.
    pub(crate) limit: usize,
    /// When it is sent, to clients that are sent times to live.
    pub(crate) at: Option<Instant>,
}

impl Encoder<'_> {
    /// The responses of a difference, of which there is none if it is empty; whether they contain errors; and what came of
    /// their size.
    pub(crate) fn encode(&self, step: &Step<'_>, diff: &Diff) -> (Vec<Bytes>, bool, Encoding) {
        let gone = Gone::new(&diff.removed, &diff.errors.sent, step.dialect);
        let has_errors = !diff.errors.sent.is_empty() || step.dialect == Dialect::Sotw && !gone.is_empty();
        let has_content = match step.is_full_state() {
            true => diff.news != News::None,
            false => {
                !diff.resources.is_empty() || !diff.heartbeats.is_empty() || !gone.is_empty() || has_errors
            }
        };
        let mut encoding = Encoding {
            type_url: step.type_subscription.type_url().clone(),
            limit: self.limit,
            split: None,
            oversized: Vec::new(),
            whole_state_fits: false,
        };
        let is_sent = has_content || step.forced;
        let frames = if is_sent { self.frames(step, diff, &mut encoding) } else { Vec::new() };
        (frames, has_errors, encoding)
    }

    fn frames(&self, step: &Step<'_>, diff: &Diff, encoding: &mut Encoding) -> Vec<Bytes> {
        let nonce = step.nonce(diff.to);
        // What is absent from a whole state is deleted, so that it cannot be split.
        if step.is_full_state() || self.may_fit(diff) {
            let whole = Contents {
                resources: &diff.resources,
                heartbeats: &diff.heartbeats,
                removed: &diff.removed,
                errors: &diff.errors.sent,
            };
            let frame = self.encode_one(step, diff.version, nonce, whole);
            if self.fits(&frame) {
                encoding.whole_state_fits = step.is_full_state();
                return vec![frame];
            }
            if step.is_full_state() {
                encoding.oversized.push(frame.len() - HEADER);
                return vec![frame];
            }
        }
        let parts = self.split(step, diff, nonce);
        encoding.split = Some(parts.len());
        let nonces = std::iter::successors(Some(nonce), |nonce| Some(nonce.following()));
        let contents = parts.iter().map(|part| Contents {
            resources: &part.resources,
            heartbeats: &part.heartbeats,
            removed: &part.removed,
            errors: &part.errors,
        });
        let frames: Vec<Bytes> = contents
            .zip(nonces)
            .map(|(contents, nonce)| self.encode_one(step, diff.version, nonce, contents))
            .collect();
        let oversized = frames.iter().filter(|frame| !self.fits(frame)).map(|frame| frame.len() - HEADER);
        encoding.oversized.extend(oversized);
        frames
    }

    fn may_fit(&self, diff: &Diff) -> bool {
        let bodies = diff.resources.iter().filter_map(|(variant, _)| variant.content().body.as_ref());
        bodies.map(Bytes::len).sum::<usize>() <= self.limit
    }

    fn fits(&self, frame: &Bytes) -> bool {
        frame.len() - HEADER <= self.limit
    }

    fn split(&self, step: &Step<'_>, diff: &Diff, nonce: Nonce) -> Vec<Part> {
        let nonce = nonce.to_string();
        let empty = self.response(step, diff.version, &nonce);
        let limit = self.limit.saturating_sub(empty.base_weight());
        diff.split(limit, |piece| match (piece, step.dialect) {
            (Piece::Resource(variant, form), Dialect::Delta) => empty.delta_weight(variant, form),
            (Piece::Resource(variant, form), Dialect::Sotw) => empty.sotw_weight(variant, form),
            (Piece::Heartbeat(variant, form), _) => empty.heartbeat_weight(variant, form),
            (Piece::Removed(Removed::Variant(key)), _) => {
                empty.removal_weight(&key.name, Some(&key.constraints))
            }
            (Piece::Removed(removed), _) => empty.removal_weight(removed.name(), None),
            (Piece::Failing(error), _) => empty.error_weight(&failing(error)),
        })
    }

    fn encode_one(&self, step: &Step<'_>, version: Version, nonce: Nonce, contents: Contents<'_>) -> Bytes {
        let gone = Gone::new(contents.removed, contents.errors, step.dialect);
        let errors: Vec<_> = contents.errors.iter().map(failing).collect();
        let nonce = nonce.to_string();
        let response = Response {
            resources: contents.resources,
            heartbeats: contents.heartbeats,
            removed: &gone.plain,
            removed_variants: &gone.located,
            errors: &errors,
            ..self.response(step, version, &nonce)
        };
        match step.dialect {
            Dialect::Sotw => response.sotw(),
            Dialect::Delta => response.delta(),
        }
    }

    /// A response that has nothing in it yet.
    fn response<'a>(&'a self, step: &Step<'a>, version: Version, nonce: &'a str) -> Response<'a> {
        Response {
            type_url: step.type_subscription.type_url(),
            nonce,
            version,
            control_plane: self.control_plane,
            resources: &[],
            heartbeats: &[],
            removed: &[],
            removed_variants: &[],
            errors: &[],
            wrapped: self.wrapped,
            at: self.at,
        }
    }
}

/// The content of one response.
#[derive(Clone, Copy)]
struct Contents<'a> {
    resources: &'a [(Arc<Variant>, Form)],
    heartbeats: &'a [(Arc<Variant>, Form)],
    removed: &'a [Removed],
    errors: &'a [weir_database::Failing],
}

/// What came of the size of a difference: responses that were split, and those that could not be.
#[derive(Debug)]
pub struct Encoding {
    /// The type of its resources.
    pub type_url: TypeUrl,
    /// The largest message that the client takes, in bytes.
    pub limit: usize,
    /// How many responses it takes, where it does not fit into one.
    pub split: Option<usize>,
    /// The sizes of responses that are larger and cannot be split: of a whole state, or of one resource.
    pub oversized: Vec<usize>,
    /// Whether it is a whole state, and fits.
    pub whole_state_fits: bool,
}

/// What is gone, as the encoder takes it.
struct Gone<'a> {
    plain: Vec<&'a str>,
    located: Vec<(&'a str, Option<&'a Constraints>)>,
}

impl<'a> Gone<'a> {
    fn new(removed: &'a [Removed], errors: &[weir_database::Failing], dialect: Dialect) -> Self {
        let mut gone = Self { plain: Vec::new(), located: Vec::new() };
        // Where what is gone is sent as an error, upstream's own has more to it.
        let mut explained: HashMap<&Name, Vec<&weir_database::Failing>> = HashMap::new();
        for error in errors.iter().filter(|_| dialect == Dialect::Sotw) {
            explained.entry(&error.name).or_default().push(error);
        }
        for removed in removed {
            let mut errors = explained.get(removed.name()).into_iter().flatten();
            match removed {
                _ if errors.any(|error| explains(error, removed)) => {}
                Removed::Variant(key) if key.constraints.is_unconstrained() => match dialect {
                    Dialect::Delta => gone.plain.push(&key.name),
                    Dialect::Sotw => gone.located.push((&key.name, None)),
                },
                Removed::Name(name) => gone.plain.push(name),
                Removed::Variant(key) => gone.located.push((&key.name, Some(&key.constraints))),
                Removed::Locator(name) => gone.located.push((name, None)),
            }
        }
        gone
    }

    fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.located.is_empty()
    }
}

/// Whether an error states why something is gone.
fn explains(failing: &weir_database::Failing, removed: &Removed) -> bool {
    match removed {
        Removed::Name(name) | Removed::Locator(name) => failing.name == *name,
        Removed::Variant(key) => (&failing.name, &failing.error.constraints) == (&key.name, &key.constraints),
    }
}

/// An error, as the encoder takes it.
fn failing(failing: &weir_database::Failing) -> Failing<'_> {
    let error = &failing.error;
    let constraints = (failing.form == Form::Located).then_some(&error.constraints);
    Failing { name: &failing.name, constraints, code: error.code, message: &error.message }
}
