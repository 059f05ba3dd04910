//! Which endpoints there are, and their description.

use axum::http::{Method, StatusCode, Uri};
use axum::{Json, Router};
use serde_json::{Map, Value, json};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::PROBES;
use crate::page::MOST;
use crate::{
    State, TAG, ambiguities, clients, config, draining, events, log_level, nacks, probes, problem,
    propagation, refused, resources, site, store, upstreams, views,
};

/// The description's general part.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Weir",
        description = "The admin interface of a running Weir. Lists come in pages: pass `next` as `after`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(problem::Problem))
)]
struct Description;

/// The description, in the form of OpenAPI 3.1.
#[utoipa::path(get, path = "/openapi.json", tag = TAG, responses((status = 200, body = Object)))]
async fn description() -> Json<Value> {
    let mut document = serde_json::to_value(described().into_openapi()).unwrap_or_default();
    for (path, verbs) in document["paths"].as_object_mut().into_iter().flatten() {
        for operation in verbs.as_object_mut().into_iter().flat_map(Map::values_mut) {
            complete(path, operation);
        }
    }
    Json(document)
}

/// Adds what endpoints have in common: problems have a content type of their own, who has no rights gets the
/// reason as text, pages have a limit, and responses have a description.
fn complete(path: &str, operation: &mut Value) {
    let problem = json!({ "schema": { "$ref": "#/components/schemas/Problem" } });
    if !PROBES.contains(&path) {
        for (status, description) in [("401", "It takes a token or a certificate"), ("403", "Not with these")]
        {
            let content = json!({ "text/plain": { "schema": { "type": "string" } } });
            operation["responses"][status] = json!({ "description": description, "content": content });
        }
    }
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        if response["description"].as_str().is_none_or(str::is_empty) {
            let words = status.parse().ok().and_then(|status: StatusCode| status.canonical_reason());
            response["description"] = json!(words.unwrap_or_default());
        }
        let Some(content) = response.get_mut("content").and_then(Value::as_object_mut) else { continue };
        if content.get("application/json") == Some(&problem) {
            *content = Map::from_iter([("application/problem+json".to_owned(), problem.clone())]);
        }
    }
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        if parameter["name"] == "limit" {
            parameter["schema"]["minimum"] = json!(1);
            parameter["schema"]["maximum"] = json!(MOST);
        }
    }
}

/// Every endpoint with its description: none can be without.
fn described() -> OpenApiRouter<State> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(probes::live))
        .routes(routes!(probes::ready))
        .routes(routes!(probes::metrics))
        .routes(routes!(upstreams::upstreams))
        .routes(routes!(upstreams::confirm_removals))
        .routes(routes!(clients::clients))
        .routes(routes!(clients::client))
        .routes(routes!(clients::given))
        .routes(routes!(nacks::nacks))
        .routes(routes!(propagation::propagation))
        .routes(routes!(events::events))
        .routes(routes!(resources::resources))
        .routes(routes!(resources::resource))
        .routes(routes!(resources::explain))
        .routes(routes!(resources::delivery))
        .routes(routes!(ambiguities::ambiguities))
        .routes(routes!(views::views))
        .routes(routes!(refused::refused))
        .routes(routes!(store::store))
        .routes(routes!(config::config))
        .routes(routes!(log_level::log_level, log_level::set_log_level))
        .routes(routes!(draining::draining, draining::drain))
        .routes(routes!(description))
}

pub(crate) fn routes() -> Router<State> {
    Router::from(described())
        .merge(site::routes())
        .fallback(async |uri: Uri| problem::Problem::nowhere(uri.path()))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| {
            problem::Problem::method(&method, uri.path())
        })
}
