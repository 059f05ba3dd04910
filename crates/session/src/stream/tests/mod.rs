//! The production session on a database: what is committed and asked for, and the responses that leave.

mod answers;
mod errors;
mod fixture;
mod held_removals;
mod known;
mod memory;
mod messages;
mod order;
mod polls;
mod requests;
mod responses;
mod split;
mod waiting;

use weir_types::Dialect::{Delta, Sotw};

use self::fixture::{Fixture, client_of, types_of};
use self::messages::{Message, holding, nack, patch, replace, stating};
use super::*;
