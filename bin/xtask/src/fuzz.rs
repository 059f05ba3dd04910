//! Runs the fuzz targets of `tests/fuzz` for a bounded time, or over a bounded number of inputs, each from its corpus.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::steps::cargo;

/// Where the targets are, relative to the workspace.
const PACKAGE: &str = "tests/fuzz";
/// Where what is found goes, relative to the workspace.
const OUTPUT: &str = "target/fuzz";

/// What cargo calls instead of rustc for the crates of the workspace, relative to it: instruments them.
const COMPILER: &str = "tests/fuzz/rustc";

/// Targets that take an input for a whole stream. What that covers depends on the order of hash tables, so that a fuzzer
/// goes another way in every run; what is always the same, the tests of the package give them.
const STREAMS: &[&str] = &["hostile_client", "hostile_control_plane"];

/// How much each target is fuzzed.
#[derive(Clone, Copy)]
pub(crate) enum Effort {
    /// For so long, from what was found before too.
    Seconds(u32),
    /// So many inputs, which are the same in every run.
    Inputs(u32),
}

/// Why nothing can be fuzzed here, if so: the corpus is gone through by the tests all the same.
pub(crate) fn obstacle() -> Option<String> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    (!answers(&compiler))
        .then(|| format!("libFuzzer needs a C++ compiler ({compiler} is not there; set CXX)"))
}

/// Fuzzes every target. Where that is not possible, prints the reason and does nothing.
pub(crate) fn run(root: &Path, effort: Effort) -> Result<()> {
    if let Some(obstacle) = obstacle() {
        println!("fuzz: skipped, since {obstacle}");
        return Ok(());
    }
    let fuzzer = build(root)?;
    let mut crashed = Vec::new();
    for target in targets(root)? {
        if matches!(effort, Effort::Inputs(_)) && STREAMS.contains(&target.as_str()) {
            println!("== fuzz: {target} has had its inputs from the tests of {PACKAGE}");
            continue;
        }
        println!("== fuzz: {target}");
        if !fuzz(root, &fuzzer, &target, effort)? {
            crashed.push(target);
        }
    }
    if !crashed.is_empty() {
        bail!("found by fuzzing {}: the inputs are in {OUTPUT}/artifacts", crashed.join(", "));
    }
    Ok(())
}

fn answers(program: &str) -> bool {
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Builds the fuzzer, from the dependencies that the tests have, and returns where it is.
fn build(root: &Path) -> Result<PathBuf> {
    let output = cargo()
        .args(["test", "--workspace", "--features", "weir-fuzz/libfuzzer", "--test", "fuzzer", "--no-run"])
        .args(["--message-format", "json-render-diagnostics"])
        .env("RUSTC_WORKSPACE_WRAPPER", root.join(COMPILER))
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("start cargo test")?;
    if !output.status.success() {
        bail!("the fuzzer does not build");
    }
    let messages = String::from_utf8(output.stdout).context("read the messages of cargo")?;
    let path = messages.split_once(r#""executable":""#).and_then(|(_, rest)| rest.split_once('"'));
    path.map(|(path, _)| PathBuf::from(path)).context("cargo names no fuzzer")
}

/// The targets are the folders of the corpus.
fn targets(root: &Path) -> Result<Vec<String>> {
    let corpus = root.join(PACKAGE).join("corpus");
    let folders = corpus.read_dir().with_context(|| format!("read {}", corpus.display()))?;
    let mut names = folders
        .map(|folder| Ok(folder?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Returns whether nothing was found.
fn fuzz(root: &Path, fuzzer: &Path, target: &str, effort: Effort) -> Result<bool> {
    let output = root.join(OUTPUT);
    let artifacts = output.join("artifacts");
    let (found, bounds) = match effort {
        Effort::Seconds(seconds) => ("corpus", [format!("-max_total_time={seconds}"), "-seed=0".to_owned()]),
        Effort::Inputs(inputs) => ("found", [format!("-runs={inputs}"), "-seed=1".to_owned()]),
    };
    let found = output.join(found).join(target);
    if matches!(effort, Effort::Inputs(_)) && found.exists() {
        // What an earlier run has found would make this one another.
        fs::remove_dir_all(&found).with_context(|| format!("remove {}", found.display()))?;
    }
    for folder in [&found, &artifacts] {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    let log = output.join(format!("{target}.log"));
    let status = Command::new(fuzzer)
        .env("WEIR_FUZZ_TARGET", target)
        .args(bounds)
        .args(["-timeout=10", "-rss_limit_mb=2048", "-print_funcs=0", "-max_len=4096"])
        .arg(format!("-artifact_prefix={}/{target}-", artifacts.display()))
        .arg(found)
        .arg(root.join(PACKAGE).join("corpus").join(target))
        .stderr(fs::File::create(&log).with_context(|| format!("create {}", log.display()))?)
        .status()
        .context("start the fuzzer")?;
    let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let shown = if status.success() { 1 } else { 60 };
    lines[lines.len().saturating_sub(shown)..].iter().for_each(|line| println!("{line}"));
    Ok(status.success())
}
