//! The table of all metrics: name, unit, labels, description.
//!
//! Owns what the instruments are called, so that `docs/metrics.md`, the dashboard and the alerts can be held against
//! one list. Never counts anything, and never knows where the numbers go: the instruments are those of
//! `opentelemetry::global`.
//!
//! Names are OpenTelemetry's: dots between words, no unit and no `total` in the name; Prometheus appends both. Labels
//! are bounded: configured names, short names of resource types, fixed words; never a node id, never a resource name.

mod table;

use opentelemetry::global;
use opentelemetry::metrics::{AsyncInstrument, Callback, Counter, Gauge, Histogram, Meter, UpDownCounter};

pub use table::*;

/// The scope of all instruments.
const SCOPE: &str = "weir";

/// Upper bounds of the buckets of durations, in seconds: from within one process to a client that is stuck.
const SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// What an instrument does with numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sums up, and only grows.
    Counter,
    /// Sums up.
    UpDownCounter,
    /// Shows the last value.
    Gauge,
    /// Counts how many values lie between bounds.
    Histogram,
}

impl Kind {
    /// As the reference page calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::UpDownCounter => "up-down counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One instrument.
#[derive(Clone, Copy, Debug)]
pub struct Instrument {
    /// What it does.
    pub kind: Kind,
    /// As OpenTelemetry calls it.
    pub name: &'static str,
    /// In UCUM: `s`, `By`, `1`, or what is counted in braces.
    pub unit: &'static str,
    /// The keys of its labels, sorted.
    pub labels: &'static [&'static str],
    /// The description, as `# HELP` shows it.
    pub about: &'static str,
}

/// Builds an instrument of the global meter from its entry in the table.
macro_rules! build {
    ($self:ident, $builder:ident) => {
        meter().$builder($self.name).with_description($self.about).with_unit($self.unit)
    };
}

impl Instrument {
    /// To count events with.
    pub fn counter(&self) -> Counter<u64> {
        build!(self, u64_counter).build()
    }

    /// To count what comes and goes.
    pub fn up_down_counter(&self) -> UpDownCounter<i64> {
        build!(self, i64_up_down_counter).build()
    }

    /// To note a value.
    pub fn gauge(&self) -> Gauge<u64> {
        build!(self, u64_gauge).build()
    }

    /// To note durations, in seconds.
    pub fn histogram(&self) -> Histogram<f64> {
        build!(self, f64_histogram).with_boundaries(SECONDS.to_vec()).build()
    }

    /// Calls `observe` for the value whenever the metrics are read.
    pub fn observe(&self, observe: impl Fn(&dyn AsyncInstrument<u64>) + Send + Sync + 'static) {
        let observe: Callback<u64> = Box::new(observe);
        match self.kind {
            Kind::Counter => drop(build!(self, u64_observable_counter).with_callback(observe).build()),
            _ => drop(build!(self, u64_observable_gauge).with_callback(observe).build()),
        }
    }

    /// As [`Self::observe`], for values that are not whole.
    pub fn observe_f64(&self, observe: impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static) {
        let observe: Callback<f64> = Box::new(observe);
        match self.kind {
            Kind::Counter => drop(build!(self, f64_observable_counter).with_callback(observe).build()),
            _ => drop(build!(self, f64_observable_gauge).with_callback(observe).build()),
        }
    }

    /// The names of its series in Prometheus' text format.
    pub fn prometheus(&self) -> Vec<String> {
        let mut name = self.name.replace('.', "_");
        let unit = match self.unit {
            "s" => "_seconds",
            "By" => "_bytes",
            "1" if self.kind == Kind::Gauge => "_ratio",
            _ => "",
        };
        if !name.ends_with(unit) {
            name.push_str(unit);
        }
        match self.kind {
            Kind::Counter => vec![name + "_total"],
            Kind::Histogram => ["_bucket", "_sum", "_count"].map(|part| format!("{name}{part}")).into(),
            Kind::UpDownCounter | Kind::Gauge => vec![name],
        }
    }
}

fn meter() -> Meter {
    global::meter(SCOPE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_is_in_order() {
        let names: Vec<_> = ALL.iter().map(|instrument| instrument.name).collect();
        assert!(names.is_sorted(), "sorted by name: {names:#?}");
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "each name once");
        for instrument in ALL {
            let word = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
            assert!(instrument.name.chars().all(word), "{instrument:?}");
            assert!(instrument.labels.is_sorted(), "{instrument:?}");
            assert!(instrument.labels.iter().all(|label| label.chars().all(word)), "{instrument:?}");
            let counted = instrument.unit.starts_with('{') && instrument.unit.ends_with('}');
            assert!(counted || ["s", "By", "1"].contains(&instrument.unit), "{instrument:?}");
            assert!(!instrument.about.is_empty() && !instrument.about.ends_with('.'), "{instrument:?}");
        }
    }

    #[test]
    fn prometheus_names_have_the_unit_and_total() {
        assert_eq!(UPSTREAM_NACKS.prometheus(), ["weir_upstream_nacks_total"]);
        assert_eq!(DOWNSTREAM_STREAMS.prometheus(), ["weir_downstream_streams"]);
        assert_eq!(
            UPSTREAM_ACKNOWLEDGEMENT_HOLD_TIME.prometheus(),
            ["bucket", "sum", "count"]
                .map(|part| format!("weir_upstream_acknowledgement_hold_time_seconds_{part}"))
        );
    }
}
