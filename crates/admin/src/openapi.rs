//! Which endpoints there are, and their description.

use axum::http::{Method, Uri};
use axum::{Json, Router};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

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
async fn description() -> Json<utoipa::openapi::OpenApi> {
    Json(described().into_openapi())
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
