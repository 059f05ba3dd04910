//! The admin interface, asked everything that its own description allows and much that it does not, by schemathesis. Its
//! installation takes a minute: `cargo xtask ecosystem` runs this.

use tokio::process::Command;
use weir_testkit::process::{Weir, tool};
use weir_testkit::resources::grpc_path;
use weir_testkit::{XdsClient, node, type_url};

/// The tokens of the admin interface.
const LOOK: &str = "only-to-look";
const CHANGE: &str = "to-change";

/// What is not checked. Which words a parameter takes, as types and states, is not in the description but in the error:
/// `weir-admin` tests that each error states what is allowed (`tests/endpoints.rs`).
const UNCHECKED: &str = "positive_data_acceptance";

/// What is not asked: `/events` never ends (`weir-admin` tests it), and after `/drain` there is nobody to ask
/// (`tests/tests/drain.rs`).
const UNASKED: [&str; 2] = ["/events", "/drain"];

/// A Weir with tokens, resources and a client.
async fn asked() -> (Weir, XdsClient, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, token: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, token).unwrap();
        format!("{name} = {path:?}")
    };
    let keys = [file("token_file", LOOK), file("change_token_file", CHANGE)].join("\n");
    let resources = grpc_path("c", ([127, 0, 0, 1], 1).into());
    let weir = Weir::builder().admin(&keys).resources(&resources).log_level("info").start().await;
    let mut client = XdsClient::delta(weir.address(), &node("web-1")).await;
    client.subscribe(type_url("cds"), &["c"]);
    client.accept(type_url("cds")).await;
    (weir, client, directory)
}

/// Has schemathesis ask with this token, and panics with its report if it finds anything.
async fn ask(weir: &Weir, token: Option<&str>, unchecked: &str) {
    let url = format!("http://{}", weir.admin_address());
    let (description, directory) = (weir_description(weir).await, tempfile::tempdir().unwrap());
    let file = directory.path().join("openapi.json");
    std::fs::write(&file, description).unwrap();
    let mut command = Command::new(tool("schemathesis/bin/schemathesis"));
    command.current_dir(directory.path()).args(["run", "--no-color", "--url", &url, "--seed", "1"]);
    command.args(["--phases", "examples,coverage,fuzzing", "--max-examples", "20", "--continue-on-failure"]);
    command.args(["--checks", "all", "--exclude-checks", unchecked]);
    command.args(UNASKED.iter().flat_map(|path| ["--exclude-path", *path]));
    command.args(
        token.iter().flat_map(|token| ["--header".to_owned(), format!("authorization: Bearer {token}")]),
    );
    let ran = command.arg(&file).kill_on_drop(true).output().await.unwrap();
    let report = String::from_utf8_lossy(&ran.stdout);
    println!("{report}");
    assert!(ran.status.success(), "{token:?}:\n{report}{}", String::from_utf8_lossy(&ran.stderr));
}

/// The description, which takes rights too.
async fn weir_description(weir: &Weir) -> String {
    let bearer = format!("Bearer {LOOK}");
    let headers = [("host", "test"), ("authorization", &*bearer)];
    let answer = weir_testkit::process::http::get_with(weir.admin_address(), "/openapi.json", &headers).await;
    answer.unwrap().body
}

#[ignore = "cargo xtask ecosystem"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_answered_is_as_it_is_described() {
    let (weir, _client, _tokens) = asked().await;
    ask(&weir, Some(CHANGE), UNCHECKED).await;
    // Whoever has no rights does not learn which methods there are, and gets no further than to that.
    let unchecked = format!("{UNCHECKED},unsupported_method");
    ask(&weir, Some(LOOK), &unchecked).await;
    ask(&weir, None, &unchecked).await;
    assert_eq!(weir.run(&["status"]).await.code, 2, "it takes a token");
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), LOOK).unwrap();
    let status = weir.run(&["status", "--token-file", token.path().to_str().unwrap()]).await;
    assert_eq!(status.code, 0, "{status:?}");
}
