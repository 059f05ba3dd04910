//! From a commit to the frame: what the database and the encoder do for 1 and for 10,000 subscribers of one
//! view, which is meant to be the same. What comes on top for each stream, its step over the shared frame, is measured beside it.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use weir_bench::{parameters, variant};
use weir_database::{Database, Settings, ViewListener};
use weir_downstream::{RecentResponses, Statements};
use weir_session::{ClientProfile, ClientTransport, Env, Responses, Session, Wrapping};
use weir_types::constraints::Expr;
use weir_types::{Answered, ApiVersion, Batch, Dialect, Provenance, TypeUrl};
use weir_wire::discovery::{DeltaDiscoveryRequest, DiscoveryRequest};
use weir_wire::request::{DeltaRequest, Statement};
use weir_wire::services::Service;

struct Asleep;

impl ViewListener for Asleep {
    fn wake(&self) {}
}

fn responses() -> Responses<RecentResponses> {
    Responses::new("bench".into(), 4 << 20, Instant::now(), RecentResponses::new(64 << 20))
}

struct Fleet {
    database: Database,
    responses: Responses<RecentResponses>,
    clusters: TypeUrl,
    streams: Vec<Session>,
    changes: u64,
}

impl Fleet {
    fn new(dialect: Dialect, streams: usize, resources: usize) -> Self {
        let clusters = TypeUrl::from_short_name("cds").unwrap_or_else(|| TypeUrl::new("cds"));
        let database = Database::new(Settings::default());
        let mut batch = Batch::new(clusters.clone(), Provenance::Local);
        batch.upserts =
            (0..resources).map(|n| variant(&format!("c{n}"), Expr::All(vec![]), 1024, 0)).collect();
        database.commit(batch);
        let subscriber: Arc<dyn ViewListener> = Arc::new(Asleep);
        let profile =
            Arc::new(ClientProfile { parameters: parameters(0).into(), ..ClientProfile::default() });
        let Some(service) = Service::of(ApiVersion::V3, None) else { unreachable!("there is ADS") };
        let statements = Statements::default();
        let now = Instant::now();
        let streams = (0..streams).map(|_| {
            let transport = ClientTransport::Grpc(service, dialect);
            let (client, settings) = (Arc::clone(&profile), Arc::default());
            let mut session = Session::new(transport, client, Wrapping::default(), settings, 0);
            let env =
                Env { database: &database, subscriber: &subscriber, initial_versions: &statements, now };
            let type_url = clusters.to_string();
            let handled = match dialect {
                Dialect::Sotw => {
                    let request = DiscoveryRequest { type_url, ..DiscoveryRequest::default() };
                    session.handle_request(request, &env)
                }
                Dialect::Delta => {
                    let message = DeltaDiscoveryRequest { type_url, ..DeltaDiscoveryRequest::default() };
                    session.handle_request(DeltaRequest { message, known: Statement::default() }, &env)
                }
            };
            assert!(handled.is_ok());
            session
        });
        let streams = streams.collect();
        let mut answer = Batch::new(clusters.clone(), Provenance::Local);
        answer.answered.push(Answered::all());
        database.commit(answer);
        let responses = responses();
        let mut fleet = Self { database, responses, clusters, streams, changes: 0 };
        fleet.step_all(0);
        fleet
    }

    /// One cluster changes.
    fn change(&mut self) {
        self.changes += 1;
        let mut batch = Batch::new(self.clusters.clone(), Provenance::Local);
        batch.upserts.push(variant("c0", Expr::All(vec![]), 1024, self.changes));
        let _asleep = black_box(self.database.apply(batch));
    }

    fn step(&mut self, stream: usize) -> Option<Bytes> {
        self.streams[stream].poll_transmit(&self.responses, Instant::now()).map(|transmit| transmit.frame)
    }

    fn step_all(&mut self, from: usize) {
        for stream in from..self.streams.len() {
            assert!(self.step(stream).is_some(), "every stream has a step to make");
        }
    }
}

fn fanout(c: &mut Criterion) {
    for dialect in [Dialect::Delta, Dialect::Sotw] {
        for streams in [1, 10_000] {
            // Between any two changes twenty thousand streams take a step in all, so that both cases find the
            // processor's caches as cold.
            let mut others = Fleet::new(dialect, 20_000 - streams, 10);
            let mut fleet = Fleet::new(dialect, streams, 10);
            c.bench_function(&format!("commit to frame/{dialect}/{streams} subscribers"), |b| {
                b.iter_custom(|iterations| {
                    let mut spent = Duration::ZERO;
                    for _ in 0..iterations {
                        others.change();
                        others.step_all(0);
                        // Upkeep that the cache owes for the steps of all streams belongs to those.
                        fleet.responses = responses();
                        let start = Instant::now();
                        fleet.change();
                        black_box(fleet.step(0));
                        spent += start.elapsed();
                        fleet.step_all(1);
                    }
                    spent
                });
            });
        }
        let mut fleet = Fleet::new(dialect, 10_000, 10);
        c.bench_function(&format!("one more stream's step/{dialect}"), |b| {
            b.iter_custom(|iterations| {
                let mut spent = Duration::ZERO;
                let mut left = iterations as usize;
                while left > 0 {
                    fleet.change();
                    black_box(fleet.step(0));
                    let start = Instant::now();
                    let now = left.min(fleet.streams.len() - 1);
                    for stream in 1..=now {
                        black_box(fleet.step(stream));
                    }
                    spent += start.elapsed();
                    fleet.step_all(now + 1);
                    left -= now;
                }
                spent
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = fanout
}
criterion_main!(benches);
