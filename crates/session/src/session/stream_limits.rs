//! How much a stream asks for: names over all types, locators of one name, and types.

use std::collections::HashMap;

use weir_types::{Form, Name, Selector, Subscription};

use crate::error::StreamError;
use crate::limits::{Limits, shortened};
use crate::stream::{Names, ServerStream, SubscriptionRequest};

/// Checks that `stream` would be subscribed to no more names, locators of one name, and types after `request` than
/// `limits` allow. A type counts as one name at least.
///
/// # Errors
/// RESOURCE_EXHAUSTED, with what it would be and the limit.
pub(super) fn check(
    stream: &ServerStream,
    request: &SubscriptionRequest,
    limits: &Limits,
) -> Result<(), StreamError> {
    let (mut others, mut own) = (0, None);
    for type_subscription in stream.types() {
        match *type_subscription.type_url() == request.type_url {
            true => own = Some(type_subscription.view().subscription()),
            false => others += type_subscription.view().subscription().len().max(1),
        }
    }
    if own.is_none() {
        check_types(stream.types().len() + 1, limits)?;
    }
    check_locators(own, &request.names, limits)?;
    let limit = limits.names_per_stream;
    let count = match &request.names {
        Names::Replace(names) => names.len(),
        Names::Patch { subscribe, unsubscribe } => {
            let held = own.map_or(0, |own| own.len());
            // What is asked for again, and what is given up, is looked up only where it matters.
            if others + (held + subscribe.len()).max(1) <= limit {
                return Ok(());
            }
            let is_held = |selector: &&_| own.is_some_and(|own| own.contains(selector));
            let new = subscribe.iter().filter(|selector| !is_held(selector)).count();
            held + new - unsubscribe.iter().filter(is_held).count()
        }
    };
    let total = others + count.max(1);
    if total > limit {
        return Err(StreamError::resource_exhausted(format!(
            "the stream would be subscribed to {total} names, over the limit of {limit} for all its types \
             (limits.max_names_per_stream)"
        )));
    }
    Ok(())
}

fn check_types(types: usize, limits: &Limits) -> Result<(), StreamError> {
    let limit = limits.types_per_stream as usize;
    if types > limit {
        return Err(StreamError::resource_exhausted(format!(
            "the stream would be subscribed to {types} types, over the limit of {limit} (limits.max_types_per_stream)"
        )));
    }
    Ok(())
}

/// Each change of a name is matched against all its locators.
fn check_locators(own: Option<&Subscription>, names: &Names, limits: &Limits) -> Result<(), StreamError> {
    let (asked, given_up, own) = match names {
        Names::Replace(names) => (names, &[][..], None),
        Names::Patch { subscribe, unsubscribe } => (subscribe, &unsubscribe[..], own),
    };
    let is_held = |selector: &&Selector| own.is_some_and(|own| own.contains(selector));
    let located = |selector: &&Selector| selector.form == Form::Located;
    let mut counts: HashMap<&Name, usize> = HashMap::new();
    for new in asked.iter().filter(located).filter(|selector| !is_held(selector)) {
        let held = || own.map_or(0, |own| own.locators_of(&new.locator.name));
        *counts.entry(&new.locator.name).or_insert_with(held) += 1;
    }
    let limit = limits.locators_per_name;
    if counts.values().all(|count| *count <= limit) {
        return Ok(());
    }
    for gone in given_up.iter().filter(located).filter(is_held) {
        counts.entry(&gone.locator.name).and_modify(|count| *count -= 1);
    }
    match counts.iter().find(|(_, count)| **count > limit) {
        None => Ok(()),
        Some((name, count)) => Err(StreamError::resource_exhausted(format!(
            "the stream would be subscribed to {count} locators of {}, over the limit of {limit} for one name \
             (limits.max_locators_per_name)",
            shortened(name.to_string())
        ))),
    }
}
