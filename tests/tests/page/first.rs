//! The first things that are seen: a Weir that nobody uses yet, and one that takes a token.

use weir_testkit::process::{Weir, free_port, key};

use crate::Page;
use crate::support::local;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_there_is_nothing_yet_the_page_states_what_to_do() {
    let weir = Weir::builder().resources(&[]).start().await;
    let Some(page) = Page::open(weir.admin_address()).await else { return };
    page.sends("0", "0", "0").await;
    page.assert_shows("#panel", "Nobody is connected yet").await;
    page.assert_shows("#panel", "weir get cds --server").await;
    page.assert_shows("#panel", "No client has rejected anything").await;
    page.has_row("1 Weir 0 clients", "").await;
    for (address, words) in [
        ("client/7", "no open stream has the id 7"),
        ("view/cds/7", "This view is gone"),
        ("resource/cds/backend", "there is no variant of this name here"),
        ("clients/behind", "No client is behind"),
        ("type/nothing", "\"nothing\" is not allowed"),
        ("%zz/%", "How long changes take"),
    ] {
        page.0.run(&format!("location.hash = '#/{address}'")).await;
        page.assert_shows("#panel", words).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_token_is_taken_the_page_asks_for_it_and_keeps_it() {
    let directory = tempfile::tempdir().unwrap();
    let (token, config) = (directory.path().join("token"), directory.path().join("weir.toml"));
    std::fs::write(&token, "only-to-look\n").unwrap();
    let [listen, admin] = [free_port(), free_port()].map(local);
    let text = format!(
        "[downstream]\nlisten = [\"{listen}\"]\n[admin]\nlisten = \"{admin}\"\ntoken_file = {token:?}\n\
         [[upstream]]\nendpoints = [\"http://{}\"]\n",
        local(free_port()),
    );
    std::fs::write(&config, text).unwrap();
    let weir = Weir::with_config(&config, listen, admin).await;
    assert_eq!(weir.admin("/events").await.status, 401);
    let Some(page) = Page::open(admin).await else { return };
    page.assert_shows("#token", "this takes a token").await;
    page.0.write("another").await;
    page.0.press(&[key::ENTER]).await;
    page.assert_shows("#token", "Weir refuses this token").await;
    page.0.press(&[key::ESCAPE]).await;
    let asks = "return document.getElementById('token').open && document.activeElement.id === 'token-field'";
    page.0.until("the dialog to stay", asks).await;
    page.0.write("only-to-look").await;
    page.0.press(&[key::ENTER]).await;
    page.sends("0", "0", "0").await;
    page.0.until("the dialog to be closed", "return !document.getElementById('token').open").await;
    page.0.go(&format!("http://{admin}/")).await;
    page.sends("0", "0", "0").await;
    let shown = page.0.run("return document.body.innerText + location.href + document.cookie").await;
    assert!(!shown.as_str().unwrap().contains("only-to-look"), "{shown}");
}
