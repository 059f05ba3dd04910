//! Everything can be reached with the keyboard alone.

use weir_testkit::process::key::{DOWN, END, ENTER, ESCAPE, LEFT, RIGHT, TAB};

use crate::{Page, one_in_each_state};

impl Page {
    /// Waits until the focus is on something with this text, and panics if that cannot be seen.
    async fn is_at(&self, text: &str) {
        let script = format!(
            "const at = document.activeElement; \
             return `${{at.innerText}} ${{at.value ?? ''}} ${{at.id}}`.replace(/\\s+/g, ' ').includes({text:?})"
        );
        self.0.until(&format!("the focus to be at {text:?}"), &script).await;
        let outline = "const style = getComputedStyle(document.activeElement); \
             return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2";
        self.0.until(&format!("the focus at {text:?} to be seen"), outline).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_way_from_control_planes_to_a_rejection_and_its_resource_takes_no_mouse() {
    let (bed, _clients) = one_in_each_state().await;
    let Some(page) = Page::open(bed.weir.admin_address()).await else { return };
    page.sends("1", "1", "1").await;
    page.0.press(&[TAB]).await;
    page.is_at("Skip to the tree").await;
    page.0.press(&[ENTER]).await;
    page.is_at("Control planes").await;
    let stops = "return document.querySelectorAll('[role=treeitem][tabindex=\"0\"]').length";
    assert_eq!(page.0.run(stops).await, 1, "the tree is one stop of the tabulator");
    page.0.press(&[DOWN]).await;
    page.is_at("Weir").await;
    page.0.press(&[RIGHT]).await;
    page.is_at("clusters").await;
    page.0.press(&[RIGHT]).await;
    page.has_row("3 everything", "").await;
    page.0.press(&[RIGHT]).await;
    page.is_at("everything (*)").await;
    page.0.press(&[RIGHT]).await;
    page.has_row("4 web-2", "rejecting").await;
    page.0.press(&[DOWN]).await;
    page.is_at("web-2").await;
    page.0.press(&[ENTER]).await;
    page.assert_shows("#panel-title", "web-2").await;
    page.assert_shows("#panel", "no such thing here").await;
    page.assert_shows("#panel", "env=prod Rule 1 of [[dynamic_parameters]] reads node.metadata.env").await;
    page.is_at("web-2").await;
    page.0.press(&[LEFT, LEFT]).await;
    page.is_at("everything (*)").await;
    page.0.press(&["w"]).await;
    page.is_at("Weir 3 clients").await;
    page.0.press(&[END]).await;
    page.is_at("backend").await;

    page.0.press(&["/"]).await;
    page.is_at("search").await;
    page.0.write("nobody").await;
    page.assert_shows("#found", "No client and no resource begins with “nobody”").await;
    page.0.press(&[ESCAPE, ESCAPE]).await;
    page.is_at("backend").await;
    page.0.press(&["/"]).await;
    page.is_at("search").await;
    page.0.write("backe").await;
    page.assert_shows("#found", "backend").await;
    page.0.press(&[DOWN, ENTER]).await;
    page.is_at("backend").await;
    page.assert_shows("#panel", "depends on its dynamic parameters").await;
    page.assert_shows("#panel", "it takes env=prod, and env is not stated").await;
    page.0.press(&[TAB]).await;
    page.is_at("web-2").await;
    page.0.press(&[TAB]).await;
    page.is_at("ask-param").await;
    page.0.write("env=prod").await;
    page.0.press(&[ENTER]).await;
    page.assert_shows("#panel", "the variant for env=prod").await;
    page.expect_no_complaints().await;
}
