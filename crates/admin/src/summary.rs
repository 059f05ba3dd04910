//! Everything at a glance: what fits on one page, however many clients there are.
//!
//! Holds nothing that changes while nothing happens, as ages do, so that two summaries are equal where nothing has.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use utoipa::ToSchema;
use weir_database::introspect::ViewSummary;
use weir_types::TypeUrl;

use crate::nacks::Nack;
use crate::propagation::Propagated;
use crate::tally::{Counts, Tally};
use crate::unavailable::Lacking;
use crate::upstreams::{Upstream, UpstreamState};
use crate::views::Subscribed;
use crate::{Draining, Shared};

/// The most upstream streams, and the most views, that are in it.
const MOST: usize = 100;

/// How many names of a view are in it.
const NAMES: usize = 3;

/// How many of the newest rejections, and of the newest changes, are in it.
const NEWEST: usize = 20;

/// Everything at a glance.
#[derive(Serialize, ToSchema)]
pub(crate) struct Summary {
    /// Whether clients can be served.
    ready: bool,
    /// What is missing.
    pending: Vec<String>,
    /// Whether clients are moved elsewhere.
    draining: bool,
    /// The number of the newest commit.
    commit: u64,
    /// How many streams of clients stand how, each by the worst of its types.
    streams: Counts,
    /// Whether any stream of a client was ever open.
    had_clients: bool,
    /// The streams to control planes, and the files.
    upstreams: Upstreams,
    /// What clients are subscribed to, by type.
    types: Vec<OfType>,
    /// How many views there are.
    view_count: usize,
    /// The first 100 of them: those with most streams that reject come first, then those with most that are behind,
    /// then the largest.
    views: Vec<View>,
    /// The newest 20 rejections, the newest first.
    nacks: Vec<Nack>,
    /// How long the newest 20 changes took that were followed, the newest first.
    propagation: Vec<Propagated>,
}

/// The streams to control planes, and the files.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = SummaryOfUpstreams)]
struct Upstreams {
    /// How many are connected, with everything answered.
    in_sync: usize,
    /// How many are connected, with something that is not answered.
    syncing: usize,
    /// How many are not connected.
    disconnected: usize,
    /// The first 100 of them, those that are not connected first, then those that are not in sync.
    links: Vec<Link>,
}

/// A stream to a control plane, or files.
#[derive(Serialize, ToSchema)]
#[schema(as = SummaryOfUpstream)]
struct Link {
    /// As /upstreams has it.
    id: u64,
    /// The authority that it is for; empty for names without one.
    authority: String,
    /// `in-sync`, `syncing` or `disconnected`.
    state: UpstreamState,
    /// The dynamic parameters that it is for; null where one stream serves all.
    parameters: Option<BTreeMap<String, String>>,
    /// What it carries.
    carries: String,
    /// Where it is connected to.
    endpoint: Option<String>,
    /// Since when it is connected, or not.
    since: String,
    /// The last thing that went wrong; also when it is connected again.
    last_error: Option<String>,
    /// How many resources are served from the store, and not vouched for since.
    unconfirmed: usize,
    /// How many removals wait to be confirmed.
    withheld: usize,
}

/// What clients are subscribed to of a type.
#[derive(Serialize, ToSchema)]
#[schema(as = SummaryOfType)]
struct OfType {
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    short_name: &'static str,
    /// The type's URL.
    type_url: String,
    /// How many views there are.
    views: usize,
    /// How many streams stand how with it.
    #[serde(flatten)]
    streams: Counts,
}

/// Streams that are subscribed to the same.
#[derive(Serialize, ToSchema)]
#[schema(as = SummaryOfView)]
struct View {
    /// As /views has it.
    id: u64,
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    short_name: &'static str,
    /// The type's URL.
    type_url: String,
    /// The first names of what is subscribed; `*` for the wildcard.
    names: Vec<Subscribed>,
    /// How many names, locators and collections are subscribed.
    subscribed: usize,
    /// Of how much of it there is nothing to give.
    #[serde(flatten)]
    lacking: Lacking,
    /// The number of the newest commit that concerns it.
    head: u64,
    /// The number of the commit up to which all streams have been sent everything.
    sent: u64,
    /// How many streams there are.
    streams: usize,
    /// How many of them stand how.
    #[serde(flatten)]
    counts: Counts,
}

/// Makes summaries, one after the other.
#[derive(Default)]
pub(crate) struct Maker {
    /// What the views of the last one are subscribed to: that of a view never changes.
    names: HashMap<u64, Vec<Subscribed>>,
}

impl Maker {
    pub(crate) async fn make(&mut self, instance: &Shared) -> Summary {
        let tally = Tally::of(instance).await;
        let database = instance.database();
        let (mut types, mut views) = (Vec::new(), Vec::new());
        for type_url in database.types() {
            let of_type = database.views(&type_url);
            let mut streams = Counts::default();
            of_type.iter().for_each(|view| streams += tally.view(view.id));
            let (short_name, views_of_type) = (type_url.short_name(), of_type.len());
            types.push(OfType { short_name, type_url: type_url.to_string(), views: views_of_type, streams });
            views.extend(of_type.into_iter().map(|view| {
                let counts = tally.view(view.id);
                (type_url.clone(), view, counts)
            }));
            tokio::task::yield_now().await;
        }
        let pending = instance.pending();
        let Draining { draining, .. } = instance.draining();
        Summary {
            ready: pending.is_empty(),
            pending,
            draining,
            commit: database.position().0,
            streams: tally.streams,
            had_clients: instance.clients_seen() > 0,
            upstreams: Upstreams::of(instance.upstreams()),
            types,
            view_count: views.len(),
            views: self.views(instance, views),
            nacks: instance.nacks().into_iter().take(NEWEST).collect(),
            propagation: instance.propagated().into_iter().take(NEWEST).collect(),
        }
    }

    fn views(&mut self, instance: &Shared, mut views: Vec<(TypeUrl, ViewSummary, Counts)>) -> Vec<View> {
        use std::cmp::Reverse;
        views.sort_unstable_by_key(|(_, view, counts)| {
            (Reverse((counts.rejecting, counts.behind, view.streams)), view.id)
        });
        views.truncate(MOST);
        let mut known = std::mem::take(&mut self.names);
        for (type_url, view, _) in &views {
            let names = known.remove(&view.id).unwrap_or_else(|| names(instance, type_url, view));
            self.names.insert(view.id, names);
        }
        let shown = views.into_iter().map(|(type_url, view, counts)| View {
            id: view.id,
            short_name: type_url.short_name(),
            type_url: type_url.to_string(),
            names: self.names.get(&view.id).cloned().unwrap_or_default(),
            subscribed: view.selectors,
            lacking: Lacking::of(view.unsettled, view.barred),
            head: view.head.newest().0,
            sent: view.sent.0,
            streams: view.streams,
            counts,
        });
        shown.collect()
    }
}

fn names(instance: &Shared, type_url: &TypeUrl, view: &ViewSummary) -> Vec<Subscribed> {
    let subscribed = instance.database().subscribed(type_url, view.subscription, NAMES);
    subscribed.unwrap_or_default().into_iter().map(Subscribed::from).collect()
}

impl Upstreams {
    fn of(mut all: Vec<Upstream>) -> Self {
        let mut upstreams = Self::default();
        for upstream in &all {
            *match upstream.state {
                UpstreamState::InSync => &mut upstreams.in_sync,
                UpstreamState::Syncing => &mut upstreams.syncing,
                UpstreamState::Disconnected => &mut upstreams.disconnected,
            } += 1;
        }
        all.sort_by_key(|upstream| (std::cmp::Reverse(upstream.state), upstream.id));
        all.truncate(MOST);
        upstreams.links = all.into_iter().map(Link::from).collect();
        upstreams
    }
}

impl From<Upstream> for Link {
    fn from(upstream: Upstream) -> Self {
        Self {
            id: upstream.id,
            authority: upstream.authority,
            state: upstream.state,
            parameters: upstream.parameters,
            carries: upstream.carries,
            endpoint: upstream.endpoint,
            since: crate::time::rfc3339(upstream.since),
            last_error: upstream.last_error.map(|error| error.message),
            unconfirmed: upstream.unconfirmed.iter().map(|of_type| of_type.resources).sum(),
            withheld: upstream.withheld.iter().map(|held| held.removals).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::tests::fake::Fake;

    #[tokio::test]
    async fn what_is_wrong_comes_first_and_the_rest_is_cut() {
        // The third client rejects what it is sent of the view 7.
        let fake = Fake::new(3);
        let _streams: Vec<_> = (0..150).map(|i| fake.ask(&format!("c{i}"), &[])).collect();
        let instance: Shared = Arc::clone(&fake) as Shared;
        let mut maker = Maker::default();
        for _ in 0..2 {
            let summary = serde_json::to_value(maker.make(&instance).await).unwrap();
            assert_eq!(summary["streams"], json!({ "in_sync": 2, "behind": 0, "rejecting": 1 }));
            let views = summary["views"].as_array().unwrap();
            assert_eq!((views.len(), &summary["view_count"]), (MOST, &json!(150)));
            assert_eq!((&views[0]["names"][0]["name"], &views[0]["rejecting"]), (&json!("c7"), &json!(1)));
            assert_eq!((&views[1]["id"], &views[MOST - 1]["id"]), (&json!(0), &json!(99)));
            let links = summary["upstreams"]["links"].as_array().unwrap();
            assert_eq!((&links[0]["state"], &links[1]["withheld"]), (&json!("disconnected"), &json!(40)));
            assert_eq!((&summary["upstreams"]["in_sync"], &links[0]["unconfirmed"]), (&json!(1), &json!(7)));
            assert_eq!(summary["propagation"].as_array().unwrap().len(), NEWEST);
            assert_eq!(maker.names.len(), MOST, "names of what is not shown are not kept");
        }
    }
}
