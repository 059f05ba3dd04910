//! Every mistake in a file is reported at once, by line.

use std::path::Path;

use super::errors::{FILES, HEAD};

#[test]
fn all_problems_are_sent_at_once_by_line() {
    let text = [HEAD, FILES, FILES, "[limits]\nmax_names = 0\n"].concat();
    let error = crate::parse(&text, Path::new("x")).unwrap_err().to_string();
    let lines: Vec<_> =
        error.lines().map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines, ["x:4 upstream[1].authority", "x:7 limits.max_names"]);
}

#[test]
fn every_mistake_of_a_section_is_reported_once() {
    let text = "
        [downstream]
        listen = 5
        csds = 'all'
        tls = { certificate = 1, key = 'k', ca = 'a' }
        cold_start.grpc = 'wait'
        lisden = []
        [log]
        level = 'loud'
        format = 'auto'
        [limit]
        [[upstream]]
        file = 'x'
        [[upstream]]
        files = 'x'
        poll_interval = 1
        [[upstream]]
        endpoints = ['http://a']
        shared_versions = 1
        [[upstream.prefetch]]
        type = 'cds'
        [[upstream.prefetch]]
        type = 'clusters'
        [drain]
        over = 'long'
        [admission]
        new_streams_burst = 5
    ";
    let error = crate::parse(text, Path::new("x")).unwrap_err().to_string();
    let found: Vec<_> =
        error.lines().map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" ")).collect();
    let wanted = [
        "x:3 downstream.listen",
        "x:4 downstream.csds",
        "x:5 downstream.tls.ca",
        "x:5 downstream.tls.certificate",
        "x:6 downstream.cold_start.grpc",
        "x:7 downstream.lisden",
        "x:9 log.level",
        "x:11 limit",
        "x:13 upstream[0].file",
        "x:16 upstream[1].poll_interval",
        "x:19 upstream[2].shared_versions",
        "x:23 upstream[2].prefetch[1].type",
        "x:25 drain.over",
        "x:27 admission.new_streams_burst",
    ];
    assert_eq!(found, wanted, "{error}");
    assert!(error.contains("limit: unknown key `limit`; did you mean `limits`? expected one of"), "{error}");
}
