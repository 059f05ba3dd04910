//! The cache: variants, subscriptions to them, and what each subscription still has to be sent.
//!
//! Owns every cached variant with its constraints, the matching of parameters to variants, the views that
//! equal subscriptions share, and the demand that they add up to. A pure cache per type (`type_cache`) behind a
//! cloneable handle ([`Database`]). Knows no protocol, encodes nothing and never blocks: it wakes its subscribers.

mod database;
mod demand;
pub mod explain;
mod idle;
pub mod introspect;
mod limits;
pub mod lint;
mod lock;
pub mod matching;
mod selection;
mod settings;
mod split;
mod type_cache;
mod view;
mod watch;

pub use crate::type_cache::{
    Ambiguity, Diff, Errors, Failing, News, Query, Refresh, RemovalDelivery, Removed, Shape, Statistics,
};
pub use database::{Applied, Committed, Database, ViewHandle};
pub use demand::{DemandChange, NodeIdOf, ParameterSets};
pub use limits::{ClientLimits, DemandLimits, MOST_REFUSED, Quota, Refusal, Refused};
pub use settings::Settings;
pub use split::{Part, Piece};
pub use view::{Barred, UnavailableCounts, Unsettled, ViewListener};
pub use watch::{Answer, Observer, Tally, Touched, Watch};
