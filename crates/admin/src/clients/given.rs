//! What a client is given.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_database::introspect::Shown;
use weir_types::{Absence, Form, RefusalReason, TypeUrl};

use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::unavailable::{ANY, AWAY, DENIED, OBSTACLES, OVER_LIMIT};
use crate::{Shared, TAG};

/// A resource that a client is subscribed to, as far as Weir knows it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Given {
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub short_name: Cow<'static, str>,
    /// The type's URL.
    pub type_url: String,
    /// The resource's name; where there is none, what was asked for.
    pub name: String,
    /// The name that brought it: itself, an alias, a glob or `*`.
    pub asked: String,
    /// Whether it was asked for by a locator.
    pub located: bool,
    /// The dynamic parameters for which it was chosen.
    pub parameters: BTreeMap<String, String>,
    /// The version that the client is sent; null where there is nothing.
    pub version: Option<String>,
    /// The version of the content alone, whoever asks and however; null where there is nothing.
    pub content: Option<String>,
    /// The constraints of the variant.
    pub constraints: Option<String>,
    /// What is known where there is nothing: `unknown`, `timed-out`, `absent`.
    #[schema(value_type = Option<String>)]
    pub absence: Option<Cow<'static, str>>,
    /// The error that upstream or Weir has for it.
    pub error: Option<String>,
    /// What keeps it from the client, whatever upstream has: `denied` by the access rules, `over-limit`; or `away`, where
    /// nothing is known of it and no control plane can be reached.
    #[schema(value_type = Option<String>)]
    pub obstacle: Option<Cow<'static, str>>,
}

/// What keeps a resource from a client, whatever upstream has.
fn obstacle(shown: &Shown) -> Option<&'static str> {
    let nothing = shown.variant.is_none() && shown.absence == Absence::Unknown;
    let is_away = shown.error.as_ref().is_some_and(|error| error.is_unavailable());
    let barred = shown.refusal.as_ref().map(obstacle_of);
    barred.or_else(|| (nothing && is_away).then_some(AWAY))
}

/// The same where it is a question of who asks.
pub(crate) fn obstacle_of(refusal: &RefusalReason) -> &'static str {
    match refusal {
        RefusalReason::Denied => DENIED,
        RefusalReason::OverLimit(_) => OVER_LIMIT,
    }
}

impl Given {
    fn of(type_url: &TypeUrl, shown: Shown) -> Self {
        let obstacle = obstacle(&shown);
        let Shown { selector, variant, absence, error, refusal: _ } = shown;
        let variant = variant.map(|(variant, _)| variant);
        let absence = match absence {
            Absence::Unknown => "unknown",
            Absence::TimedOut => "timed-out",
            Absence::Known => "absent",
        };
        let name = variant.as_ref().map_or(&selector.locator.name, |variant| variant.name());
        Self {
            short_name: type_url.short_name().into(),
            type_url: type_url.to_string(),
            name: name.to_string(),
            asked: selector.locator.name.to_string(),
            located: selector.form == Form::Located,
            parameters: selector.locator.parameters.to_pairs(),
            version: variant.as_ref().map(|variant| variant.version(selector.form).to_string()),
            content: variant.as_ref().map(|variant| variant.version(Form::Plain).to_string()),
            constraints: variant.as_ref().map(|variant| variant.key().constraints.to_string()),
            absence: variant.is_none().then_some(absence.into()),
            error: error.map(|error| format!("{}: {}", error.code, error.message)),
            obstacle: obstacle.map(Cow::Borrowed),
        }
    }
}

/// What the client of an open stream is given; by type in the order in which additions leave, then by name.
#[utoipa::path(
    get, path = "/clients/{id}/resources", tag = TAG,
    params(
        ("id" = u64, Path, description = "The id of the stream, as /clients has it"),
        ("type" = Option<String>, Query, description = "Only of this type: cds, … or a type URL"),
        ("obstacle" = Option<String>, Query, description = "Only what is kept from it: denied, over-limit, away, any"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; default 1000"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
    ),
    responses(
        (status = 200, body = Page<Given>), (status = 400, body = Problem), (status = 404, body = Problem),
    ),
)]
pub(crate) async fn given(
    State(instance): State<Shared>,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let type_url = query.type_url()?;
    let wanted = query.one_of("obstacle", &OBSTACLES)?;
    query.finish()?;
    let skipped = usize::try_from(part.after_number()?).unwrap_or(usize::MAX);
    let views = id.parse().ok().and_then(|id| instance.client_views(id));
    let missing = || Problem::missing("id", &id, format!("no open stream has the id {id}"));
    let mut views = views.ok_or_else(missing)?;
    views.retain(|(of_type, _)| type_url.as_ref().is_none_or(|wanted| wanted == of_type));
    let database = instance.database();
    let rows = views.into_iter().flat_map(move |(type_url, subscription)| {
        let shown = database.contents(&type_url, subscription).unwrap_or_default();
        shown.into_iter().map(move |shown| Given::of(&type_url, shown))
    });
    let rows = rows.filter(move |given| match wanted {
        None => true,
        Some(ANY) => given.obstacle.is_some(),
        wanted => given.obstacle.as_deref() == wanted,
    });
    let rows = rows.zip(1_u64..).map(|(given, number)| (number.to_string(), given));
    Ok(part.answer(rows.skip(skipped)))
}
