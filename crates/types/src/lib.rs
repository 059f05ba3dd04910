//! Types that all crates share: resource names, variants, constraints, subscriptions.
//!
//! Owns the identities that every other crate uses and the meaning of dynamic parameter constraints
//! (xRFC TP2). Never reads or writes the wire, never waits, never holds a lock: values only.

mod batch;
mod client_node;
mod commit;
pub mod constraints;
mod dialect;
mod error;
mod error_chain;
mod file_format;
mod glob_index;
mod known;
mod lease;
mod locator;
mod name;
mod newest;
mod node_field;
mod node_part;
mod parameters;
mod pattern;
mod similar;
mod subscription;
mod type_url;
mod variant;
pub mod xdstp;

pub use batch::{Absence, Absent, Answered, Batch, Heartbeat, Provenance, Scope, Undecided};
pub use client_node::{ClientNode, ClientParameters, NODE_KEY};
pub use commit::{Commit, Cursor, Head};
pub use constraints::{ConstraintError, Constraints};
pub use dialect::Dialect;
pub use error::{Code, ErrorKind, Failed, ResourceError};
pub use error_chain::with_causes;
pub use file_format::FileFormat;
pub use glob_index::GlobIndex;
pub use known::KnownVersions;
pub use lease::Lease;
pub use locator::{Breadth, Form, ResourceLocator, Selector, WILDCARD};
pub use name::Name;
pub use newest::Newest;
pub use node_field::{IdentityField, NoSuchField, NodeField};
pub use node_part::{NoSuchPart, NodePart};
pub use parameters::DynamicParameters;
pub use pattern::Pattern;
pub use similar::similar;
pub use subscription::{Fingerprint, RefusalReason, Refusals, Subscription, SubscriptionChange};
pub use type_url::{ApiVersion, Kind, NoSuchType, TypeUrl};
pub use variant::{Content, Variant, VariantKey, Version};
pub use xdstp::authority;
