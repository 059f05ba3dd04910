//! What is asked of a running instance about single resources.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::operate::{Bed, ENDPOINTS, rows};
use crate::weir;

#[test]
fn p12_p13_what_a_client_gets_is_explained_with_the_rule() {
    let bed = Bed::start();
    let outcome = bed.run(&["explain", "x", "--type", "eds", "--client", "web-2"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let rows = rows(&outcome);
    assert!(rows[0].starts_with("client web-2, stream ") && rows[0].ends_with(": in-sync"), "{rows:?}");
    assert_eq!(rows[2], "parameters {env=test}");
    assert_eq!(rows[3], "env=test node.metadata.env is \"test\" (dynamic_parameters[0])");
    assert_eq!(rows[5], "served");
    assert!(
        rows[6].starts_with("env=test version ") && rows[6].ends_with(", from files, 1 subscriber"),
        "{rows:?}"
    );
    assert_eq!(rows[8], "not matching");
    assert!(rows[9].ends_with(" needs env=prod, the client has env=test"), "{rows:?}");
    let document = bed.json(&["explain", "x", "--type", "eds", "--client", "web-2"]);
    assert_eq!(
        (&document["outcome"], &document["chosen"]["constraints"]),
        (&json!("served"), &json!("env=test"))
    );
    assert_eq!(document["parameters"][0]["origin"]["rule"], 0);
}

#[test]
fn p12_what_somebody_would_get_is_explained() {
    let bed = Bed::start();
    let outcome = bed.run(&["explain", "x", "--type", "eds", "--param", "env=qa"]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.stdout.starts_with("parameters {env=qa}\n  env=qa  sent by the client\n"), "{outcome:?}");
    assert!(outcome.stdout.contains("\nnothing is served: no variant matches\n"), "{outcome:?}");
    let outcome = bed.run(&["explain", "y", "--type", "eds", "--client", "web-1"]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.stdout.contains("is not subscribed to it; this is what it would get"), "{outcome:?}");
    assert!(outcome.stdout.contains("\nnot found: there is no resource of this name\n"), "{outcome:?}");
    for (client, wanted) in [
        ("web-3", "weir: no client is connected whose node has the id \"web-3\"\n"),
        ("web-1", "weir: web-1 is not subscribed to any cds\n"),
    ] {
        let outcome = bed.run(&["explain", "x", "--type", "cds", "--client", client]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (2, wanted));
    }
}

#[test]
fn a_control_plane_that_has_not_answered_is_named() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let bed = Bed::of_control_plane(silent.local_addr().unwrap());
    let wanted = "\nnothing is served yet: the control plane has not answered (1 stream subscribed)";
    bed.until(&["explain", "x", "--type", "eds", "--client", "web-1"], |outcome| {
        outcome.code == 1 && outcome.stdout.contains(wanted)
    });
}

#[test]
fn p12_what_an_instance_holds_is_looked_at() {
    let bed = Bed::start();
    let outcome = bed.run(&["lint"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "nothing is wrong with 2 variants of 1 name\n"));
    let _asks_in_vain = bed.client("web-3", "env=qa");
    bed.wait_for_clients("in-sync", 3);
    let outcome = bed.run(&["lint"]);
    let wanted =
        "uncovered: eds x: 1 stream asked in vain with {env=qa}\n1 finding in 2 variants of 1 name\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, wanted));

    bed.write(&ENDPOINTS.replace("env: test", "env: [test, prod]"));
    let both = |outcome: &crate::Outcome| {
        outcome.stdout.contains("overlap: eds x: both variants match {env=prod}\n")
    };
    bed.until(&["lint"], both);
}

#[test]
fn e04_a_change_is_followed_to_all_clients() {
    let bed = Bed::start();
    let outcome = bed.run(&["trace-change", "eds", "x"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(rows(&outcome)[0].contains(": accepted after "), "{outcome:?}");
    assert_eq!(rows(&outcome)[1], "2 clients: 2 accepted, 0 unanswered, 0 waiting, 0 rejected");

    let admin = format!("http://{}", bed.server.admin());
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(["trace-change", "eds", "x", "--next", "--output", "json", "--admin", &admin]);
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    let before = bed.json(&["trace-change", "eds", "x"])["versions"].clone();
    // It may look for the first time after this change; then it waits for another one.
    let mut factor = 200;
    while following.try_wait().unwrap().is_none() {
        factor += 1;
        bed.write(&ENDPOINTS.replace("factor: 200", &format!("factor: {factor}")));
        bed.run(&["trace-change", "eds", "x"]);
    }
    let output = following.wait_with_output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &document["outcome"]), (Some(0), &json!("accepted")), "{document:#}");
    assert_ne!(document["versions"], before);

    let outcome = bed.run(&["trace-change", "eds", "nobody", "--timeout", "1ms"]);
    assert_eq!(outcome.code, 3, "{outcome:?}");
    assert!(
        outcome.stdout.starts_with("eds nobody, of which there is nothing here: timed-out after "),
        "{outcome:?}"
    );
    assert!(outcome.stdout.ends_with("\nnobody is subscribed to it\n"), "{outcome:?}");
}

#[test]
fn a_client_is_compared_with_the_files() {
    let mut bed = Bed::start();
    let config = bed.config();
    let compare = ["diff", "web-2", "--upstream", "--config", config.to_str().unwrap()];
    let outcome = bed.run(&compare);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "no difference: 1 resource\n"), "{outcome:?}");

    // A bad file changes nothing for clients.
    bed.write("resources: [{ constraints: 1 }]");
    bed.server.wait_for("bad resource file");
    let document = bed.run(&[&compare[..], &["--output", "json"]].concat());
    let document: serde_json::Value = serde_json::from_str(&document.stdout).unwrap();
    let difference = &document["differences"][0];
    assert_eq!(
        (&difference["name"], &difference["difference"]),
        (&json!("x"), &json!("extra")),
        "{document:#}"
    );
    let outcome = bed.run(&compare);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(rows(&outcome)[1].starts_with("eds x extra "), "{outcome:?}");

    let outcome = bed.run(&["diff", "web-2", "--upstream"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.starts_with("weir: --upstream needs --config: "), "{outcome:?}");
    let outcome = weir(&["diff", "web-2"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("<CLIENT_B>"), "{outcome:?}");
}

#[test]
fn nothing_is_believed_where_nothing_is_withheld() {
    let bed = Bed::start();
    for arguments in [&["confirm-removals"][..], &["confirm-removals", "--dry-run", "--type", "cds"]] {
        let outcome = bed.run(arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (1, "no removals are withheld\n"), "{outcome:?}");
    }
}

#[test]
fn an_instance_that_is_drained_is_not_ready() {
    let bed = Bed::start();
    let outcome = bed.run(&["drain"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.starts_with("draining: 2 streams, ends within "), "{outcome:?}");
    let outcome = bed.run(&["status"]);
    assert_eq!((outcome.code, rows(&outcome)[0].as_str()), (1, "not ready"), "{outcome:?}");
}
