//! What clients with equal subscriptions share.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use weir_database::Database;
use weir_database::introspect::ViewSummary;
use weir_types::{DynamicParameters, Form, Name, TypeUrl};

use crate::blocking::run_blocking;
use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::tally::{Counts, Tally};
use crate::unavailable::Lacking;
use crate::{Shared, TAG};

/// How many of the names of a view are shown.
const SHOWN: usize = 20;

/// A set of names and locators, and how far the streams are that are subscribed to just these.
#[derive(Serialize, ToSchema)]
pub(crate) struct View {
    /// Never given twice.
    id: u64,
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    short_name: &'static str,
    /// The type's URL.
    type_url: String,
    /// How many streams share it.
    streams: usize,
    /// How many of them stand how with it.
    #[serde(flatten)]
    counts: Counts,
    /// How many names, locators and collections it consists of.
    subscribed: usize,
    /// The first 20 of them.
    names: Vec<Subscribed>,
    /// Of how much of it there is nothing to give.
    #[serde(flatten)]
    lacking: Lacking,
    /// The number of the newest commit that concerns it.
    head: u64,
    /// The number of the commit up to which all streams have been sent everything.
    sent: u64,
}

/// What is subscribed.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct Subscribed {
    /// The name; `*` for the wildcard.
    name: String,
    /// Whether it was asked for by a locator.
    located: bool,
    /// Its dynamic parameters.
    parameters: BTreeMap<String, String>,
}

impl From<(Name, Form, DynamicParameters)> for Subscribed {
    fn from((name, form, parameters): (Name, Form, DynamicParameters)) -> Self {
        Self { name: name.to_string(), located: form == Form::Located, parameters: parameters.to_pairs() }
    }
}

impl View {
    fn of(
        type_url: &TypeUrl,
        view: &ViewSummary,
        counts: Counts,
        names: Vec<(Name, Form, DynamicParameters)>,
    ) -> Self {
        Self {
            id: view.id,
            short_name: type_url.short_name(),
            type_url: type_url.to_string(),
            streams: view.streams,
            counts,
            subscribed: view.selectors,
            names: names.into_iter().map(Subscribed::from).collect(),
            lacking: Lacking::of(view.unsettled, view.barred),
            head: view.head.newest().0,
            sent: view.sent.0,
        }
    }
}

/// What clients with equal subscriptions share; by age.
#[utoipa::path(
    get, path = "/views", tag = TAG,
    params(
        ("type" = Option<String>, Query, description = "Only of this type: cds, … or a type URL"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; default 1000"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
    ),
    responses((status = 200, body = Page<View>), (status = 400, body = Problem)),
)]
pub(crate) async fn views(State(instance): State<Shared>, mut query: Query) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let type_url = query.type_url()?;
    query.finish()?;
    // The first of all has the number 0.
    let from = if part.after.is_some() { part.after_number()? + 1 } else { 0 };
    let tally = Tally::of(&instance).await;
    let database = instance.database();
    let found = database.clone();
    let views = run_blocking(move || found_views(&found, type_url, from)).await?;
    let rows = views.into_iter().filter_map(move |(type_url, view)| {
        let names = database.subscribed(&type_url, view.subscription, SHOWN)?;
        Some((view.id.to_string(), View::of(&type_url, &view, tally.view(view.id), names)))
    });
    Ok(part.answer(rows))
}

/// Those of all types, or of one, whose ids are not below `from`; by age.
fn found_views(database: &Database, type_url: Option<TypeUrl>, from: u64) -> Vec<(TypeUrl, ViewSummary)> {
    let types = type_url.map_or_else(|| database.types(), |one| vec![one]);
    let mut views: Vec<_> = types
        .into_iter()
        .flat_map(|type_url| database.views(&type_url).into_iter().map(move |view| (type_url.clone(), view)))
        .filter(|(_, view)| view.id >= from)
        .collect();
    views.sort_unstable_by_key(|(_, view)| view.id);
    views
}
