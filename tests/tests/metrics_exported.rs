//! Metrics of a real process, over OTLP and for Prometheus, against the table of instruments.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use weir_metrics::{ALL, Instrument, Kind};
use weir_testkit::process::Weir;
use weir_testkit::{Collector, FakeControlPlane, Published, XdsClient, node, type_url};

/// Its kind, and the labels of each of its series.
fn shape(metric: Metric) -> (Kind, Vec<Vec<KeyValue>>) {
    match metric.data.expect("a metric has data") {
        Data::Sum(sum) => {
            let kind = if sum.is_monotonic { Kind::Counter } else { Kind::UpDownCounter };
            (kind, sum.data_points.into_iter().map(|point| point.attributes).collect())
        }
        Data::Gauge(gauge) => {
            (Kind::Gauge, gauge.data_points.into_iter().map(|point| point.attributes).collect())
        }
        Data::Histogram(histogram) => {
            (Kind::Histogram, histogram.data_points.into_iter().map(|point| point.attributes).collect())
        }
        other => panic!("nothing else is used: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_is_what_the_table_states() {
    let (collector, control_plane) = (Collector::start().await, FakeControlPlane::start().await);
    control_plane.set(Published::text(type_url("cds"), "a", "1"));
    let weir = Weir::builder()
        .upstream(&control_plane, "ads-delta", "streams")
        .variable("OTEL_METRIC_EXPORT_INTERVAL", "100")
        .section(&format!("[telemetry]\nendpoint = \"{}\"\ntraces = false\n", collector.endpoint()))
        .start()
        .await;
    let mut client = XdsClient::delta(weir.address(), &node("n")).await;
    client.subscribe(type_url("cds"), &[]);
    client.accept(type_url("cds")).await;
    let mut version = 1;
    let sent = loop {
        // Of each type one commit a second is measured.
        version += 1;
        control_plane.set(Published::text(type_url("cds"), "a", &version.to_string()));
        let received = client.receive_type(type_url("cds")).await;
        match version {
            2 => client.nack(&received, "no"),
            _ => client.ack(&received),
        }
        let newest = |name: &str| {
            collector.look(|sent| sent.metrics.iter().rev().find(|(_, metric)| metric.name == name).cloned())
        };
        if newest("weir.propagation.duration").is_some() && newest("weir.downstream.nacks").is_some() {
            let all: BTreeMap<String, Metric> = collector.look(|sent| {
                sent.metrics.iter().map(|(_, metric)| (metric.name.clone(), metric.clone())).collect()
            });
            break all;
        }
    };
    assert!(sent.len() > 25, "{:?}", sent.keys());
    let table: BTreeMap<&str, &Instrument> =
        ALL.iter().map(|instrument| (instrument.name, *instrument)).collect();
    let text = weir.admin("/metrics").await.body;
    for (name, metric) in sent {
        let instrument = table.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in the table"));
        assert_eq!(
            (metric.unit.as_str(), metric.description.as_str()),
            (instrument.unit, instrument.about),
            "{name}"
        );
        let (kind, series) = shape(metric);
        assert_eq!(kind, instrument.kind, "{name}");
        for labels in series {
            let keys: BTreeSet<&str> = labels.iter().map(|label| label.key.as_str()).collect();
            assert_eq!(keys, instrument.labels.iter().copied().collect(), "{name}");
        }
        for series in instrument.prometheus() {
            let starts =
                |line: &str| line.strip_prefix(&series).is_some_and(|rest| rest.starts_with(['{', ' ']));
            assert!(text.lines().any(starts), "{series} is not at /metrics:\n{text}");
        }
    }
    collector.look(|sent| assert_eq!(sent.metrics[0].0["service.name"], "weir"));
}
