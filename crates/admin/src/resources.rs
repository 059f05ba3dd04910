//! What is held: resources with their variants, and who asks for them.

mod delivery;
mod explanation;
mod model;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use weir_database::Database;
use weir_types::{Name, TypeUrl};

use crate::blocking::run_blocking;
use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::{Shared, TAG};

pub(crate) use delivery::{__path_delivery, delivery};
pub use delivery::{Changed, Delivery, DeliveryProgress, Standing};
pub(crate) use explanation::{__path_explain, explain};
use model::Detail;
pub use model::{AskedResource, Resource, ResourceVariant};

/// How many names are described under one lock.
const AT_ONCE: usize = 64;

/// What is between the type and the name in a cursor: no type URL has it.
const SEPARATOR: char = ' ';

/// The resources of all types, or of one; by type URL and name.
#[utoipa::path(
    get, path = "/resources", tag = TAG,
    params(
        ("type" = Option<String>, Query, description = "Only of this type: cds, … or a type URL"),
        ("prefix" = Option<String>, Query, description = "Only names that begin with this"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; default 1000"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
    ),
    responses((status = 200, body = Page<Resource>), (status = 400, body = Problem)),
)]
pub(crate) async fn resources(State(instance): State<Shared>, mut query: Query) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let type_url = query.type_url()?;
    let prefix = query.take("prefix")?.unwrap_or_default();
    query.finish()?;
    let database = instance.database();
    let mut types = type_url.map_or_else(|| database.types(), |one| vec![one]);
    let after = part.after.clone().unwrap_or_default();
    let (after_type, after_name) = after.split_once(SEPARATOR).unwrap_or_default();
    types.retain(|type_url| type_url.as_str() >= after_type);
    let (after_type, after_name) = (after_type.to_owned(), after_name.to_owned());
    let rows = types.into_iter().flat_map(move |type_url| {
        let mut names = database.names(&type_url, &prefix);
        if *type_url.as_str() == after_type {
            names.retain(|name| **name > *after_name);
        }
        described(database.clone(), type_url, names)
    });
    Ok(part.answer(rows))
}

/// What there is of `names`, each with its cursor.
fn described(
    database: Database,
    type_url: TypeUrl,
    names: Vec<Name>,
) -> impl Iterator<Item = (String, Resource)> {
    let mut from = 0;
    let chunks = std::iter::from_fn(move || {
        let chunk = names.get(from..names.len().min(from + AT_ONCE)).filter(|chunk| !chunk.is_empty())?;
        from += chunk.len();
        let found = database.describe(&type_url, chunk);
        let row = |resource: weir_database::introspect::Resource| {
            let cursor = format!("{}{SEPARATOR}{}", type_url.as_str(), resource.name);
            (cursor, Resource::of(&type_url, resource))
        };
        Some(found.into_iter().map(row).collect::<Vec<_>>())
    });
    chunks.flatten()
}

/// Reads a type in a path. A type URL may come without what stands before its slash.
fn type_in_path(text: &str) -> Result<TypeUrl, Problem> {
    let full = || text.contains('.').then(|| TypeUrl::new(format!("type.googleapis.com/{text}")));
    let no_such = |error: weir_types::NoSuchType| Problem::invalid("type", text, error.to_string());
    text.parse().or_else(|error| full().ok_or(error)).map_err(no_such)
}

/// One resource, with the bodies of its variants. Secrets are left out of these.
#[utoipa::path(
    get, path = "/resources/{type}/{name}", tag = TAG,
    params(
        ("type" = String, Path, description = "cds, …, or the name of the message: envoy.config.cluster.v3.Cluster"),
        ("name" = String, Path, description = "The name, with % before what is special in paths"),
    ),
    responses((status = 200, body = Detail), (status = 400, body = Problem), (status = 404, body = Problem)),
)]
pub(crate) async fn resource(
    State(instance): State<Shared>,
    Path((type_url, name)): Path<(String, String)>,
) -> Result<Json<Detail>, Problem> {
    let type_url = type_in_path(&type_url)?;
    let none = format!("there is no {} {name}, and nobody asks for it", type_url.short_name());
    let wanted = Name::from(&*name);
    let detail = run_blocking(move || {
        let found = instance.database().describe(&type_url, &[wanted]);
        found.into_iter().next().map(|resource| Detail::of(&type_url, resource))
    });
    detail.await?.map(Json).ok_or_else(|| Problem::missing("name", &name, none))
}
