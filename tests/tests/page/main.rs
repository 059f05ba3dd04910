//! The page of the admin interface, in a real browser in front of a running Weir. Where no browser is installed, each test
//! prints that and does nothing: `cargo xtask setup` installs one where it can.

mod accessible;
mod first;
mod fleet;
mod kept;
mod keyboard;
mod live;
mod lively;
mod looks;
mod many;
#[path = "../support/mod.rs"]
mod support;
mod truth;

use std::net::SocketAddr;

use serde_json::Value;
use support::{Bed, Source};
use weir_testkit::process::{Browser, no_browser};
use weir_testkit::resources::static_cluster;
use weir_testkit::{XdsClient, node};

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// What is written in each row of the tree, with its level before it.
const ROWS: &str = "return [...document.querySelectorAll('[role=treeitem]')].map((row) => \
     `${row.getAttribute('aria-level')} ${row.innerText.replace(/\\s+/g, ' ').trim()}`)";

/// The page, in a browser.
struct Page(Browser);

impl Page {
    /// Opens the page of the admin interface that listens there; none where no browser is installed.
    async fn open(admin: SocketAddr) -> Option<Self> {
        if let Some(obstacle) = no_browser() {
            eprintln!("the page is not tested: {obstacle} (run `cargo xtask setup`)");
            return None;
        }
        let page = Self(Browser::open("about:blank").await);
        page.0.screen(1280, 800, false).await;
        page.0.go(&format!("http://{admin}/")).await;
        Some(page)
    }

    /// Waits until the line at the top shows how many clients are in sync, behind, and rejecting.
    async fn sends(&self, in_sync: &str, behind: &str, rejecting: &str) {
        let wanted = format!("{in_sync} {behind} {rejecting}");
        let script = format!(
            "return ['in sync', 'behind', 'rejecting'].map((name) => \
                 document.querySelector(`#numbers [data-key='${{name}}'] a`)?.innerText.replace(/\\s+/g, ' ').trim()).join(' ') === {wanted:?}"
        );
        self.0.until(&format!("{wanted} at the top"), &script).await;
    }

    /// Waits until something is written in a part of the page.
    async fn assert_shows(&self, part: &str, text: &str) {
        let script = format!(
            "return document.querySelector({part:?})?.innerText.replace(/\\s+/g, ' ').includes({text:?})"
        );
        self.0.until(&format!("{part} to show {text:?}"), &script).await;
    }

    /// Waits until there is a row in the tree that begins and ends so.
    async fn has_row(&self, begin: &str, end: &str) {
        let script = format!(
            "const rows = (() => {{ {ROWS} }})(); \
             return rows.some((row) => row.startsWith({begin:?}) && row.endsWith({end:?}))"
        );
        self.0.until(&format!("a row {begin} … {end}"), &script).await;
    }

    /// Folds or unfolds the first row that begins so, with the mouse.
    async fn toggle(&self, begin: &str) {
        self.click(begin, ".twisty").await;
    }

    /// Chooses the first row that begins so, with the mouse.
    async fn choose(&self, begin: &str) {
        self.click(begin, ".label").await;
    }

    async fn click(&self, begin: &str, part: &str) {
        self.has_row(begin, "").await;
        let script = format!(
            "const index = (() => {{ {ROWS} }})().findIndex((row) => row.startsWith({begin:?})); \
             document.querySelectorAll('[role=treeitem]')[index].querySelector({part:?}).click()"
        );
        self.0.run(&script).await;
    }

    /// Panics if the browser had something to complain of.
    async fn expect_no_complaints(&self) {
        assert_eq!(self.0.complaints().await, Vec::<String>::new());
    }
}

fn backend(port: u16) -> Value {
    static_cluster("backend", &[([127, 0, 0, 1], port).into()])
}

/// A Weir with two variants of a cluster, and three clients: `web-1` has accepted its variant, `web-2` has rejected it,
/// `web-3` has not answered.
async fn one_in_each_state() -> (Bed, [XdsClient; 3]) {
    let bed =
        Bed::start(Source::Native("ads-delta"), &[(Some("prod"), backend(1)), (Some("test"), backend(2))])
            .await;
    let who = |id: &str| node(id).cluster("web").metadata("env", "prod");
    let mut accepts = XdsClient::delta(bed.address(), &who("web-1")).await;
    accepts.subscribe(CDS, &["backend"]);
    accepts.accept(CDS).await;
    let mut rejects = XdsClient::sotw(bed.address(), &who("web-2")).await;
    rejects.subscribe(CDS, &[]);
    let received = rejects.receive_type(CDS).await;
    rejects.nack(&received, "no such thing here");
    let mut waits = XdsClient::delta(bed.address(), &who("web-3")).await;
    waits.subscribe(CDS, &["backend"]);
    (bed, [accepts, rejects, waits])
}
