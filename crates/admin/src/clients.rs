//! Who is connected, and how each client stands.

use std::collections::HashMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use weir_types::NODE_KEY;

use crate::blocking::run_blocking;
use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::unavailable::OBSTACLES;
use crate::{Shared, TAG};

mod given;
mod model;

pub use given::Given;
pub(crate) use given::{__path_given, given, obstacle_of};

pub(crate) use model::worst;
pub use model::{
    Accepted, Client, Condition, Identity, Locality, Located, Nacked, Node, Origin, Parameter, Sent, Sketch,
    TypeState,
};

/// What is shown of clients: those that are left out by nothing.
#[derive(Default)]
struct Filter {
    node: Option<String>,
    cluster: Option<String>,
    identity: Option<weir_types::Pattern>,
    user_agent: Option<String>,
    dialect: Option<&'static str>,
    state: Option<Condition>,
    type_url: Option<weir_types::TypeUrl>,
    view: Option<u64>,
    obstacle: Option<&'static str>,
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
            dialect: query.one_of("dialect", &["sotw", "delta", "rest"])?,
            state: query.parse("state", &allowed, known)?,
            type_url: query.type_url()?,
            view: query.parse("view", "it is the id of a view", |text| text.parse().ok())?,
            obstacle: query.one_of("obstacle", &OBSTACLES)?,
            parameters: query.parameters()?,
        })
    }

    /// Whether it admits one that stands so.
    fn admits(&self, client: &Client) -> bool {
        let any_type = self.type_url.is_none() && self.view.is_none();
        let mut types = client.types.iter().filter(|status| {
            self.type_url.as_ref().is_none_or(|wanted| status.type_url == wanted.as_str())
                && self.view.is_none_or(|view| view == status.view)
                && (any_type || self.state.is_none_or(|state| state == status.state))
        });
        let stands = !any_type || self.state.is_none_or(|state| state == client.state);
        stands
            && match self.obstacle {
                None => any_type || types.next().is_some(),
                Some(obstacle) => types.any(|status| status.lacking.is_for(obstacle)),
            }
    }

    /// Whether it admits what is known of a client from its first message on.
    fn knows(&self, sketch: &Sketch) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| *wanted == value);
        let has = |(key, value): (&str, &str)| match key {
            NODE_KEY => sketch.parameters.nodes().any(|(_, node)| node.digest() == value),
            _ => sketch.parameters.common().get(key) == Some(value),
        };
        self.node.as_ref().is_none_or(|prefix| sketch.node.starts_with(prefix))
            && is(&self.cluster, &sketch.cluster)
            && is(&self.user_agent, &sketch.user_agent)
            && self.dialect.is_none_or(|wanted| wanted == sketch.dialect)
            && self.parameters.as_ref().is_none_or(|wanted| wanted.iter().all(has))
            && self.identity.as_ref().is_none_or(|wanted| {
                sketch.identity.as_ref().is_some_and(|identity| identity.matches(wanted))
            })
    }

    /// Whether it may admit a stream, by what is cheap to find out: most of ten thousand need not be described to be
    /// left out. None if it is gone.
    fn may_admit(&self, instance: &Shared, id: u64) -> Option<bool> {
        if !self.knows(&instance.client_sketch(id)?) {
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
        ("dialect" = Option<String>, Query, description = "Only clients of this dialect: sotw, delta, rest"),
        ("state" = Option<Condition>, Query, description = "Only who stands so; with type, with that type"),
        ("type" = Option<String>, Query, description = "Only who is subscribed to this: cds, … or a type URL"),
        ("view" = Option<u64>, Query, description = "Only who shares the view of this id; state is then that with it"),
        ("obstacle" = Option<String>, Query, description = "Only from whom something is kept: denied, over-limit, away, any"),
        ("param" = Vec<String>, Query, description = "Only with this dynamic parameter, KEY=VALUE"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; default 1000"),
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
    // Counted when the first row is.
    let mut streams = None;
    let rows = ids.filter_map(move |id| {
        if !filter.may_admit(&instance, id)? {
            return None;
        }
        let mut client = instance.client(id, false)?;
        let streams = streams.get_or_insert_with(|| streams_by_node(&instance));
        client.streams_of_node = streams.get(&client.node.id).copied().unwrap_or(1);
        filter.admits(&client).then(|| (id.to_string(), client))
    });
    Ok(part.answer(rows))
}

/// How many streams each node has open.
fn streams_by_node(instance: &Shared) -> HashMap<String, usize> {
    let mut streams = HashMap::new();
    for sketch in instance.client_ids().into_iter().filter_map(|id| instance.client_sketch(id)) {
        *streams.entry(sketch.node).or_default() += 1;
    }
    streams
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
    let number = id.parse().ok();
    let found = run_blocking(move || {
        let mut client = instance.client(number?, true)?;
        client.streams_of_node = streams_by_node(&instance).get(&client.node.id).copied().unwrap_or(1);
        Some(client)
    });
    found
        .await?
        .map(Json)
        .ok_or_else(|| Problem::missing("id", &id, format!("no open stream has the id {id}")))
}
