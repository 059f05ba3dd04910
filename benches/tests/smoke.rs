//! Every scenario of the load harness, tiny: that it runs, ends by itself, and finds what has to be so on any
//! machine. How fast anything is, is not tested here.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first thing that is not as it should be"
)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The runs of a scenario with a few streams.
fn load(arguments: &str) -> Vec<Value> {
    let program = Path::new(env!("CARGO_BIN_EXE_weir-load"));
    let directory = tempfile::tempdir().unwrap();
    let (json, plot) = (directory.path().join("figures.json"), directory.path().join("plot.svg"));
    let mut command = Command::new(program);
    command.args(arguments.split(' ')).args(["--timeout", "60", "--seconds", "1"]);
    command.arg("--json").arg(&json).arg("--plot").arg(&plot);
    // A build of the whole workspace has the server already.
    let server = program.with_file_name("weir");
    if server.exists() && std::env::var_os("WEIR_BIN").is_none() {
        command.arg("--weir").arg(server);
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {errors}");
    assert!(std::fs::read_to_string(plot).unwrap().ends_with("</svg>\n"));
    let figures: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    figures["runs"].as_array().unwrap().clone()
}

fn figure(run: &Value, name: &str) -> f64 {
    let figures = run["figures"].as_array().unwrap();
    let found = figures.iter().find(|figure| figure["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {run}"))["value"].as_f64().unwrap()
}

#[test]
fn connecting_brings_everybody_in_sync() {
    for dialect in ["sotw", "delta"] {
        let runs = load(&format!("connect -n 20 --dialect {dialect}"));
        assert!(figure(&runs[0], "last") > 0.0);
        assert!(figure(&runs[0], "CPU per stream") > 0.0);
    }
}

#[test]
fn idle_streams_are_weighed() {
    let runs = load("idle -n 20 -r 10,50 --dialect sotw --locators 2 --node-in-every-request");
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| figure(run, "RSS after") > 1.0));
}

#[test]
fn a_change_reaches_everybody_and_is_set_against_the_floor() {
    for arguments in ["", "--dialect sotw --type cds", "--locators 3 --per-connection 4", "--size 65536"] {
        let runs = load(format!("fan-out -n 10,20 -c 3 {arguments}").trim_end());
        assert_eq!(runs.iter().map(|run| run["streams"].as_u64().unwrap()).collect::<Vec<_>>(), [10, 20]);
        for run in &runs {
            assert_eq!(figure(run, "lost"), 0.0);
            assert!(figure(run, "CPU per delivery, floor") > 0.0);
            assert!(figure(run, "p50") <= figure(run, "last"));
        }
    }
}

#[test]
fn http_2_alone_takes_the_place_of_the_server() {
    let runs = load("fan-out -n 10 -c 3 --bare");
    assert_eq!(figure(&runs[0], "lost"), 0.0);
    assert_eq!(load("idle -n 10 --bare").len(), 1);
}

#[test]
fn few_receivers_among_many_get_their_change() {
    let runs = load("growth -n 20 -c 5");
    assert!(figure(&runs[1], "CPU per change / alone") > 0.0);
}

#[test]
fn churn_arrives() {
    let runs = load("churn -n 20 -r 20 --rate 200");
    assert!(figure(&runs[0], "changes") > 0.0);
    assert!(figure(&runs[0], "staleness p99") > 0.0);
}

#[test]
fn a_herd_is_sent_nothing_again_and_stays_in_sync() {
    for arguments in ["", " --locators 2", " --dialect sotw"] {
        let runs = load(&format!("herd -n 20 -r 50{arguments}"));
        assert_eq!(figure(&runs[0], "resources sent again"), 0.0);
        assert_eq!(figure(&runs[0], "in sync afterwards"), 20.0);
    }
}

#[test]
fn stalled_clients_come_back() {
    let runs = load("slow -n 20 -c 200");
    assert_eq!(figure(&runs[0], "stalled connections"), 2.0);
    assert_eq!(figure(&runs[0], "in sync afterwards"), 20.0);
}

#[test]
fn every_parameter_set_comes_back_after_an_outage() {
    let runs = load("sets -n 20 -c 2");
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| figure(run, "after an outage, last") > 0.0));
    assert!(figure(&runs[0], "CPU per set, beyond a client's stream").is_finite());
}

#[test]
fn distinct_names_and_variants_run() {
    assert_eq!(load("distinct -n 50 -r 100 -c 5").len(), 3);
    assert_eq!(load("variants -r 1 -s 1000").len(), 2);
}

#[test]
fn tracing_is_sent_to_a_collector() {
    let runs = load("tracing -n 5 -c 5");
    let sent: Vec<_> = runs.iter().map(|run| figure(run, "sent to the collector")).collect();
    assert!(sent[0] == 0.0 && sent[2] > 0.0, "{sent:?}");
}

#[test]
fn memory_of_resources_and_of_names_that_are_gone_is_measured() {
    let runs = load("memory -r 50");
    assert!(runs.iter().all(|run| figure(run, "RSS growth, at first") > -10.0));
}

#[test]
fn attacks_are_measured_beside_a_victim_alone() {
    let runs = load("attacks -r 60");
    assert_eq!(runs.len(), 9);
    for run in &runs {
        assert!(figure(run, "victim alone, p50") > 0.0);
        assert!(figure(run, "  worst, attacked") >= figure(run, "victim attacked, p50"));
        assert!(figure(run, "rounds of the attack") > 0.0, "{run}");
    }
}

#[test]
fn the_floor_stands_alone_too() {
    assert!(figure(&load("floor -n 20 -c 3")[0], "CPU per delivery") > 0.0);
}

#[test]
fn a_missing_server_is_errors_plainly() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-load"));
    let output = command.args(["connect", "--weir", "/nowhere/weir"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no /nowhere/weir"));
}
