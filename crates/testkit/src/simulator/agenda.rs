//! Virtual time: what is on its way or due, and when.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use weir_session::Names;
use weir_types::DynamicParameters;

use super::proxy::Role;
use crate::model::{Request, Response, Sent};

/// The asking end of a stream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// A client, by its number.
    Client(usize),
    /// One of a proxy's streams to what is above it.
    Link(usize, DynamicParameters, Role),
}

/// Something on its way, or due.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A request arrives at the answering end, on the connection of this number.
    Asked(End, u64, Request),
    /// A response arrives at the asking end, on the connection of this number.
    Answered(End, u64, Response),
    /// A proxy sends what it has collected.
    Flush(End),
    /// A stream is open again.
    Open(End),
    /// Responses leave again.
    Resume(End),
    /// Some stream breaks.
    Cut,
    /// No response leaves on some stream for a while.
    Stall,
    /// The origin (none) or a proxy starts anew, without memory.
    Restart(Option<usize>),
    /// The origin's content changes.
    Change,
    /// A client subscribes to something, or no longer.
    Act(usize),
    /// A second has passed.
    Tick,
}

/// Short, since many are read at once.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(end, number, inbound) => {
                let Request { type_url, nonce, nack, names, version, known } = inbound;
                let nack = if nack.is_some() { " NACK" } else { "" };
                write!(f, "{end:?}#{number} > {} {nonce}{nack}", type_url.short_name())?;
                match names {
                    Names::Replace(names) => write!(f, " {names:?}")?,
                    Names::Patch { subscribe, unsubscribe } => {
                        write!(f, " +{subscribe:?} -{unsubscribe:?}")?;
                    }
                }
                version.iter().try_for_each(|version| write!(f, " {version}"))?;
                known.iter().try_for_each(|(name, _)| write!(f, " has {name}"))
            }
            Self::Answered(end, number, response) => {
                write!(f, "{end:?}#{number} < {} {}", response.type_url.short_name(), response.nonce)?;
                for Sent { name, constraints, body, ttl, .. } in &response.resources {
                    let constraints = constraints.iter().map(|constraints| format!("[{constraints}]"));
                    let body = String::from_utf8_lossy(body.as_deref().unwrap_or_default());
                    write!(f, " {name}{}={body:?}", constraints.collect::<String>())?;
                    ttl.iter().try_for_each(|ttl| write!(f, " for {ttl:?}"))?;
                }
                write!(f, " -{:?}", response.removed)?;
                if !response.missing.is_empty() {
                    write!(f, " missing {:?}", response.missing)?;
                }
                if response.everything { f.write_str(" (all)") } else { Ok(()) }
            }
            other => write!(f, "{other:?}"),
        }
    }
}

impl Event {
    /// Whether something is sent.
    pub(super) fn is_traffic(&self) -> bool {
        matches!(self, Self::Asked(..) | Self::Answered(..))
    }
}

/// Everything that will happen, in order of time; of what happens at one time, in the order in which it was
/// noted.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    now: Duration,
    serial: u64,
    due: BTreeMap<(Duration, u64), Event>,
}

impl Agenda {
    pub(super) fn now(&self) -> Duration {
        self.now
    }

    pub(super) fn at(&mut self, when: Duration, event: Event) {
        self.serial += 1;
        self.due.insert((when.max(self.now), self.serial), event);
    }

    pub(super) fn after(&mut self, delay: Duration, event: Event) {
        self.at(self.now + delay, event);
    }

    pub(super) fn next(&mut self) -> Option<Event> {
        let ((when, _), event) = self.due.pop_first()?;
        self.now = when;
        Some(event)
    }
}

/// The last things that happened, which are printed when it ends early. `WEIR_SIM_TRACE` sets how many.
#[derive(Debug)]
pub(super) struct Trace {
    last: VecDeque<(Duration, Event)>,
    length: usize,
}

impl Trace {
    pub(super) fn new() -> Self {
        let length = std::env::var("WEIR_SIM_TRACE").ok().and_then(|text| text.parse().ok());
        Self { last: VecDeque::new(), length: length.unwrap_or(60) }
    }

    pub(super) fn note(&mut self, when: Duration, event: &Event) {
        if !matches!(event, Event::Tick | Event::Flush(_)) {
            if self.last.len() >= self.length {
                self.last.pop_front();
            }
            self.last.push_back((when, event.clone()));
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the last that happened:");
            for (when, event) in &self.last {
                eprintln!("{:>8.3} s  {event}", when.as_secs_f64());
            }
        }
    }
}
