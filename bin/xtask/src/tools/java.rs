//! Control planes and clients in Java: the modules under `tests/java`, built into `target/tools/java`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{TOOLS, is_there, run};

/// Where the modules are, relative to the workspace: a folder each, with a `pom.xml`.
const MODULES: &str = "tests/java";
/// The modules.
const PROGRAMS: [&str; 2] = ["grpc-java", "java-control-plane"];

/// Builds the program of each module, for which Maven takes half a minute.
pub(crate) fn set_up(root: &Path) -> Result<()> {
    if let Some(obstacle) = missing() {
        if std::env::var_os("CI").is_some() {
            bail!("the tests with programs in Java: {obstacle}");
        }
        println!("tools: no programs in Java: {obstacle}");
        return Ok(());
    }
    for module in PROGRAMS {
        println!("tools: building {MODULES}/{module}");
        let output = root.join(TOOLS).join("java").join(module);
        run(Command::new("mvn")
            .args(["--quiet", "--batch-mode", "package"])
            .arg(format!("-Doutput={}", output.display()))
            .current_dir(root.join(MODULES).join(module)))
        .with_context(|| format!("build {MODULES}/{module}"))?;
    }
    Ok(())
}

/// Why there are no programs in Java here, if so.
fn missing() -> Option<String> {
    let missing = ["javac", "mvn"].into_iter().find(|program| !is_there(program))?;
    Some(format!(
        "{missing} is not installed (a JDK 17 and Maven, on Debian openjdk-17-jdk-headless and maven)"
    ))
}
