//! `docs/getting-started.md`: each of its commands is run, with other ports, and shows what the page shows.

mod support;

use serde_json::{Value, json};
use support::local;
use tempfile::TempDir;
use tokio::sync::Mutex;
use weir_testkit::process::{Child, Shell, free_port, go_program, http, no_go, tool, weir_program};
use weir_testkit::resources::{direct_routes, listener_with_routes, static_cluster};
use weir_testkit::wait::{PATIENCE, until_within};

const PAGE: &str = include_str!("../../docs/getting-started.md");

/// The ports of the page.
const PORTS: [&str; 7] = ["18000", "18001", "19000", "10000", "10001", "50051", "50052"];

/// The heading from which on the reader has a control plane.
const BETWEEN: &str = "## Between your control plane and its Envoys";

/// Commands, and what the page shows of their output, if it does.
#[derive(Debug, PartialEq)]
struct Block {
    commands: String,
    shown: Option<String>,
}

/// The blocks of a page. An output belongs to the commands before it.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for fenced in page.split("\n```").skip(1).step_by(2) {
        match fenced.split_once('\n') {
            Some(("sh", commands)) => blocks.push(Block { commands: commands.to_owned(), shown: None }),
            Some(("text", shown)) => {
                let last = blocks.last_mut().expect("commands come first");
                assert_eq!(last.shown.replace(shown.to_owned()), None, "one output for {last:?}");
            }
            other => panic!("neither commands nor their output: {other:?}"),
        }
    }
    blocks
}

/// Whether all lines that are shown are in the output, whatever the spaces; `…` stands for anything.
fn is_shown(output: &str, shown: &str) -> bool {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<_> = output.lines().map(words).collect();
    shown.lines().map(words).all(|wanted| lines.iter().any(|line| is_like(line, &wanted)))
}

/// Whether a line is as it is wanted, where `…` stands for anything.
fn is_like(line: &str, wanted: &str) -> bool {
    match wanted.split_once('…') {
        None => line == wanted,
        Some((begin, rest)) => line.strip_prefix(begin).is_some_and(|line| {
            line.char_indices().any(|(at, _)| is_like(&line[at..], rest)) || rest.is_empty()
        }),
    }
}

#[test]
fn blocks_are_found_with_what_they_show() {
    let found = blocks("a\n\n```sh\none\n```\n\nb\n\n```sh\ntwo\nthree\n```\n\n```text\nfour\n```\n");
    let block = |commands: &str, shown: Option<&str>| Block {
        commands: commands.to_owned(),
        shown: shown.map(str::to_owned),
    };
    assert_eq!(found, [block("one", None), block("two\nthree", Some("four"))]);
    assert!(is_shown("x\na   b 7 c\n", "a b … c"));
    assert!(is_shown("x\na   b 7 c\n", "… b …"));
    assert!(!is_shown("x\na b 7 d\n", "a b … c"));
    assert!(!is_shown("x\n", "x y"));
}

/// Somebody who follows the page.
struct Reader {
    shell: Mutex<Shell>,
    /// The ports of the page, and those that they are here.
    ports: Vec<(&'static str, u16)>,
    directory: TempDir,
}

impl Reader {
    async fn start() -> Self {
        let directory = TempDir::with_prefix("weir-started-").unwrap();
        let programs = directory.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(weir_program(), programs.join("weir")).unwrap();
        std::os::unix::fs::symlink(tool("envoy"), programs.join("envoy")).unwrap();
        let python = tool("venv/bin/python3");
        let folders = [&*programs, python.parent().unwrap()];
        let shell = Mutex::new(Shell::start(directory.path(), &folders).await);
        let ports = PORTS.into_iter().map(|port| (port, free_port())).collect();
        let reader = Self { shell, ports, directory };
        reader.run(&format!("export WEIR_ADMIN=http://{}", local(reader.port("19000")))).await;
        reader
    }

    fn port(&self, written: &str) -> u16 {
        let found = self.ports.iter().find(|(port, _)| *port == written);
        found.expect("a port of the page").1
    }

    /// Does what a part of the page describes. Commands that show something are repeated until they do.
    async fn follow(&self, part: &str) {
        for Block { commands, shown } in blocks(part) {
            let commands = self
                .ports
                .iter()
                .fold(commands, |commands, (written, port)| commands.replace(written, &port.to_string()));
            println!("{commands}");
            match shown {
                None => self.run(&commands).await,
                Some(shown) => self.repeat(&commands, &shown).await,
            }
        }
    }

    async fn run(&self, commands: &str) {
        let (code, output) = self.shell.lock().await.run(commands).await;
        assert_eq!(code, 0, "{commands}\nprinted\n{output}\n{}", self.logs());
    }

    async fn repeat(&self, commands: &str, shown: &str) {
        let last = Mutex::new(String::new());
        let look = || async {
            let (_, output) = self.shell.lock().await.run(commands).await;
            let is_shown = is_shown(&output, shown);
            *last.lock().await = output;
            is_shown.then_some(())
        };
        if tokio::time::timeout(PATIENCE, until_within(2 * PATIENCE, commands, look)).await.is_err() {
            panic!("{commands}\nprinted\n{}instead of\n{shown}\n{}", last.lock().await, self.logs());
        }
    }

    /// What servers in the background have logged.
    fn logs(&self) -> String {
        let log = |name: &str| {
            let text = std::fs::read_to_string(self.directory.path().join("weir-demo").join(name));
            format!("--- {name}\n{}\n", text.unwrap_or_default())
        };
        ["weir.log", "envoy-1.log", "envoy-2.log"].map(log).concat()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_envoys_and_a_grpc_client_get_what_the_page_shows() {
    let (until_between, _) = PAGE.split_once(BETWEEN).expect("the page has this part");
    Reader::start().await.follow(until_between).await;
}

/// What a control plane of the reader's own has for an Envoy.
fn own(port: u16, body: &str) -> Value {
    json!([
        listener_with_routes("web", port, direct_routes("web", body)),
        static_cluster("backend", &[local(1)])
    ])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_weir_is_put_between_a_control_plane_and_its_envoys() {
    if let Some(obstacle) = no_go() {
        eprintln!("the page is not followed to its end: {obstacle}");
        return;
    }
    let (before, between) = PAGE.split_once(BETWEEN).expect("the page has this part");
    let reader = Reader::start().await;
    let (xds, admin) = (local(reader.port("18001")), local(free_port()));
    let mut command = go_program("go-control-plane");
    command.args(["-cache", "snapshot-ads", "-hash", "id"]);
    command.args(["-listen", &xds.to_string(), "-admin", &admin.to_string()]);
    let control_plane = Child::start("go-control-plane", &mut command);
    control_plane.wait_for_line(&["listening"]).await;
    let steer = async |method: &str, path: &str, body: &Value| {
        let answer =
            http::request(admin, method, path, &[("host", "test")], &body.to_string()).await.unwrap();
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
    };
    steer("PUT", "/resources?node=web-1", &own(reader.port("10000"), "hello web-1\n")).await;
    steer("POST", "/start", &Value::Null).await;

    // What it needs of the part before it: where to work, and the bootstrap.
    for Block { commands, .. } in blocks(before) {
        if ["mkdir", "cat > envoy.yaml"].iter().any(|begin| commands.starts_with(begin)) {
            reader.follow(&format!("\n```sh\n{commands}\n```")).await;
        }
    }
    reader.follow(between).await;
}
