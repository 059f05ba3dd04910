//! That everybody can use the page: the rules of axe, which know more of assistive technology than people see.

use serde_json::Value;
use weir_testkit::process::tool;

use crate::{Page, one_in_each_state};

/// What axe finds, in a line for each element. Each rule counts, those for good practice too.
const FOUND: &str = "return axe.run(document).then(({ violations, passes }) => ({
    passed: passes.length,
    found: violations.flatMap((rule) =>
        rule.nodes.map((node) => `${rule.id} (${rule.impact}): ${rule.help}: ${node.html}: ${node.failureSummary}`)),
}))";

impl Page {
    /// Panics with what axe finds in what is shown.
    async fn assert_accessible(&self, what: &str) {
        if self.0.run("return window.axe === undefined").await == true {
            let axe = std::fs::read_to_string(tool("node/node_modules/axe-core/axe.min.js")).unwrap();
            self.0.run(&axe).await;
        }
        let seen = self.0.run(FOUND).await;
        assert!(seen["passed"].as_u64().is_some_and(|rules| rules > 15), "{what}: {seen}");
        assert_eq!(seen["found"], Value::Array(Vec::new()), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn axe_finds_nothing_in_any_part_of_the_page() {
    let (bed, _clients) = one_in_each_state().await;
    let Some(page) = Page::open(bed.weir.admin_address()).await else { return };
    page.sends("1", "1", "1").await;
    page.toggle("1 Control planes").await;
    page.toggle("2 clusters").await;
    page.toggle("3 everything").await;
    page.toggle("3 backend").await;
    page.has_row("4 web-3", "behind").await;
    for (address, words) in [
        ("", "Latest rejections"),
        ("client/2", "What it rejected"),
        ("clients/rejecting", "web-2"),
        ("resource/cds/backend?param=env%3Dprod", "And why not another"),
        ("type/cds", "backend"),
        ("client/7000", "no open stream has the id"),
    ] {
        page.0.run(&format!("location.hash = '#/{address}'")).await;
        page.assert_shows("#panel", words).await;
        for (width, height, dark) in [(1280, 800, false), (1280, 800, true), (390, 844, false)] {
            page.0.screen(width, height, dark).await;
            page.assert_accessible(&format!("#/{address} of {width} pixels, dark: {dark}")).await;
        }
    }
    page.0.press(&["/"]).await;
    page.0.write("web").await;
    page.assert_shows("#found", "web-1").await;
    page.assert_accessible("what is found").await;

    page.0.run("document.querySelector('#panel').append(new Image())").await;
    let seen = page.0.run(FOUND).await;
    assert!(seen["found"].to_string().contains("image-alt"), "what is wrong is found: {seen}");
}
