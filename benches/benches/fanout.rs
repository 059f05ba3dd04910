//! From a commit to the frame: what the database and the encoder do for 1 and for 10,000 subscribers of one
//! view, which is meant to be the same. What comes on top for each stream, its step over the shared frame, is measured beside it.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use weir_bench::{parameters, variant};
use weir_database::{Database, Settings, Subscriber};
use weir_downstream::{Attached, Attacher, Frames, Tells, Wrapping};
use weir_protocol::Dialect;
use weir_protocol::server::{Inbound, Mode, Names, ServerStream};
use weir_types::constraints::Expr;
use weir_types::{Answered, Batch, Reach, Selector, TypeUrl, WILDCARD};

struct Asleep;

impl Subscriber for Asleep {
    fn wake(&self) {}
}

struct Fleet {
    database: Database,
    frames: Frames,
    clusters: TypeUrl,
    streams: Vec<ServerStream<Attached, Bytes>>,
    changes: u64,
}

impl Fleet {
    fn new(dialect: Dialect, streams: usize, resources: usize) -> Self {
        let clusters = TypeUrl::from_short_name("cds").unwrap_or_else(|| TypeUrl::new("cds"));
        let database = Database::new(Settings::default());
        let mut batch = Batch::new(clusters.clone(), Reach::Local);
        batch.upserts =
            (0..resources).map(|n| variant(&format!("c{n}"), Expr::All(vec![]), 1024, 0)).collect();
        database.commit(batch);
        let subscriber: Arc<dyn Subscriber> = Arc::new(Asleep);
        let streams = (0..streams).map(|_| {
            let mut stream = ServerStream::new(dialect, Mode::Aggregated, parameters(0));
            let wildcard = vec![Selector::plain(WILDCARD, parameters(0))];
            let names = match dialect {
                Dialect::Sotw => Names::Replace(wildcard),
                Dialect::Delta => Names::Patch { subscribe: wildcard, unsubscribe: vec![] },
            };
            let inbound = Inbound {
                type_url: clusters.clone(),
                nonce: String::new(),
                nack: None,
                names,
                version: None,
                known: None,
            };
            let mut views =
                Attacher { database: &database, subscriber: &subscriber, tells: Tells::default() };
            let accepted = stream.handle_message(inbound, &mut views, Instant::now());
            assert!(accepted.is_ok());
            stream
        });
        let streams = streams.collect();
        let mut answer = Batch::new(clusters.clone(), Reach::Local);
        answer.answered.push(Answered::all());
        database.commit(answer);
        let frames = Frames::new("bench".into(), 64 << 20, 4 << 20);
        let mut fleet = Self { database, frames, clusters, streams, changes: 0 };
        fleet.step_all(0);
        fleet
    }

    /// One cluster changes.
    fn change(&mut self) {
        self.changes += 1;
        let mut batch = Batch::new(self.clusters.clone(), Reach::Local);
        batch.upserts.push(variant("c0", Expr::All(vec![]), 1024, self.changes));
        let _asleep = black_box(self.database.apply(batch));
    }

    fn step(&mut self, stream: usize) -> Option<Bytes> {
        let mut frames = self.frames.of_stream(Wrapping::default());
        self.streams[stream].poll_transmit(&mut frames, Instant::now()).map(|transmit| transmit.frame)
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
                        fleet.frames = Frames::new("bench".into(), 64 << 20, 4 << 20);
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
