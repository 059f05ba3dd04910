//! What is shown of a resource and of a fleet is how its clients stand.

use crate::{Page, one_in_each_state};

/// The kind of verdict that a section shows, and its text.
fn verdict(section: &str) -> String {
    format!(
        "return [...document.querySelectorAll('#panel section')].filter((one) => one.innerText.startsWith({section:?})) \
           .map((one) => (one.querySelector('.verdict')?.className ?? 'none') + ': ' + one.innerText.replace(/\\s+/g, ' '))[0] ?? ''"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_a_resource_is_shown_as_its_clients_have_taken_it() {
    let (bed, [accepts, rejects, waits]) = one_in_each_state().await;
    let Some(page) = Page::open(bed.weir.admin_address()).await else { return };
    page.sends("1", "1", "1").await;
    page.0.run("location.hash = '#/resource/cds/backend'").await;
    page.assert_shows("#panel", "3 clients: 1 accepted, 1 unanswered, 1 rejected").await;
    page.assert_shows("#panel", "web-2: no such thing here").await;
    let shown = |section| {
        let (page, script) = (&page, verdict(section));
        async move { page.0.run(&script).await.as_str().unwrap_or_default().to_owned() }
    };
    let clients = shown("Clients").await;
    assert!(clients.starts_with("verdict rejecting: "), "{clients}");
    let gets = shown("Gets").await;
    assert!(gets.starts_with("none: ") && gets.contains("depends on its dynamic parameters"), "{gets}");
    page.0.run("location.hash = '#/resource/cds/backend?param=env%3Dprod'").await;
    page.assert_shows("#panel", "Clients reject that").await;
    let gets = shown("Gets").await;
    assert!(gets.starts_with("verdict rejecting: ") && gets.contains("env=prod"), "{gets}");
    drop((accepts, rejects, waits));
    page.sends("0", "0", "0").await;
    page.assert_shows("#panel", "No client is subscribed to it").await;
    page.0.run("location.hash = ''").await;
    page.assert_shows("#panel", "Nobody is connected any more").await;
    page.expect_no_complaints().await;
}
