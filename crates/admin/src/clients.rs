//! Who is connected, and how each client stands.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;

use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::{Shared, TAG};

mod given;
mod model;

pub(crate) use given::{__path_given, given};

pub(crate) use model::time;
pub(crate) use model::worst;
pub use model::{
    Accepted, Client, Condition, Identity, Locality, Located, Nacked, Node, Origin, Parameter, Sent,
    TypeState,
};

/// What is shown of clients: those that are left out by nothing.
#[derive(Default)]
struct Filter {
    node: Option<String>,
    cluster: Option<String>,
    identity: Option<weir_types::Pattern>,
    user_agent: Option<String>,
    dialect: Option<String>,
    state: Option<Condition>,
    type_url: Option<weir_types::TypeUrl>,
    view: Option<u64>,
    parameters: Option<weir_types::DynamicParameters>,
}

impl Filter {
    fn of(query: &mut Query) -> Result<Self, Problem> {
        let allowed = format!("allowed are {}", Condition::ALL.map(Condition::as_str).join(", "));
        let known = |text: &str| Condition::ALL.into_iter().find(|condition| condition.as_str() == text);
        Ok(Self {
            node: query.take("node")?,
            cluster: query.take("cluster")?,
            identity: query
                .parse("identity", "it is a name, with * at either end", |text| text.parse().ok())?,
            user_agent: query.take("user_agent")?,
            dialect: query.take("dialect")?,
            state: query.parse("state", &allowed, known)?,
            type_url: query.type_url()?,
            view: query.parse("view", "it is the id of a view", |text| text.parse().ok())?,
            parameters: query.parameters()?,
        })
    }

    fn admits(&self, client: &Client) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| *wanted == value);
        let has = |key: &str, value: &str| {
            client.parameters.iter().any(|parameter| parameter.key == key && parameter.value == value)
        };
        is(&self.cluster, &client.node.cluster)
            && self.identity.as_ref().is_none_or(|wanted| {
                client.identity.as_ref().is_some_and(|identity| identity.matches(wanted))
            })
            && is(&self.user_agent, &client.node.user_agent)
            && is(&self.dialect, client.dialect)
            && self.parameters.as_ref().is_none_or(|wanted| wanted.iter().all(|(key, value)| has(key, value)))
            && if self.type_url.is_none() && self.view.is_none() {
                self.state.is_none_or(|state| state == client.state)
            } else {
                client.types.iter().any(|status| {
                    self.type_url.as_ref().is_none_or(|wanted| status.type_url == wanted.as_str())
                        && self.view.is_none_or(|view| view == status.view)
                        && self.state.is_none_or(|state| state == status.state)
                })
            }
    }

    /// Whether it may admit a stream, by what is cheap to find out: most of ten thousand need not be described to be
    /// left out. None if it is gone.
    fn may_admit(&self, instance: &Shared, id: u64) -> Option<bool> {
        if let Some(prefix) = &self.node
            && !instance.client_name(id)?.starts_with(prefix)
        {
            return Some(false);
        }
        let standing = instance.client_standing(id)?;
        let stands = |condition: Condition| self.state.is_none_or(|state| state == condition);
        Some(match self.view {
            Some(view) => standing.iter().any(|(of, condition)| *of == view && stands(*condition)),
            None => self.type_url.is_some() || stands(worst(&standing)),
        })
    }
}

/// The open streams, by age.
#[utoipa::path(
    get, path = "/clients", tag = TAG,
    params(
        ("node" = Option<String>, Query, description = "Only nodes whose id begins with this"),
        ("cluster" = Option<String>, Query, description = "Only nodes of this cluster"),
        ("identity" = Option<String>, Query, description = "Only whose certificate has this name; * at either end"),
        ("user_agent" = Option<String>, Query, description = "Only of this kind: envoy, grpc-java, …"),
        ("dialect" = Option<String>, Query, description = "Only who speaks this: sotw, delta, rest"),
        ("state" = Option<Condition>, Query, description = "Only who stands so; with type, with that type"),
        ("type" = Option<String>, Query, description = "Only who is subscribed to this: cds, … or a type URL"),
        ("view" = Option<u64>, Query, description = "Only who shares the view of this id; state is then that with it"),
        ("param" = Vec<String>, Query, description = "Only with this dynamic parameter, KEY=VALUE"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; 1000 unless said"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
    ),
    responses((status = 200, body = Page<Client>), (status = 400, body = Problem)),
)]
pub(crate) async fn clients(State(instance): State<Shared>, mut query: Query) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let filter = Filter::of(&mut query)?;
    query.finish()?;
    let after = part.after_number()?;
    let ids = instance.client_ids().into_iter().filter(move |id| *id > after);
    let rows = ids.filter_map(move |id| {
        if !filter.may_admit(&instance, id)? {
            return None;
        }
        let client = instance.client(id, false)?;
        filter.admits(&client).then(|| (id.to_string(), client))
    });
    Ok(part.answer(rows))
}

/// One open stream.
#[utoipa::path(
    get, path = "/clients/{id}", tag = TAG,
    params(("id" = u64, Path, description = "The id of the stream, as /clients has it")),
    responses((status = 200, body = Client), (status = 404, body = Problem)),
)]
pub(crate) async fn client(
    State(instance): State<Shared>,
    Path(id): Path<String>,
) -> Result<Json<Client>, Problem> {
    let found = id.parse().ok().and_then(|id| instance.client(id, true));
    found.map(Json).ok_or_else(|| Problem::missing("id", &id, format!("no open stream has the id {id}")))
}
