//! Programs in Java, which `cargo xtask ecosystem` builds from the modules under `tests/java`.

use tokio::process::Command;

use super::browser::found;
use super::tool;

/// Why programs in Java cannot run here, if so. Panics instead with `CI` set.
pub fn no_java() -> Option<String> {
    if found("java").is_some() {
        return None;
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "Java is not installed, and with CI set no test may be skipped"
    );
    Some("Java is not installed".to_owned())
}

/// The program of the module of this name. Panics, with what to do, if it is not there.
pub fn java_program(module: &str) -> Command {
    let path = tool(&format!("java/{module}"));
    let class_path = format!("{0}/{module}.jar:{0}/libraries/*", path.display());
    let mut command = Command::new("java");
    command.args(["-cp", &class_path, "weir.Main"]);
    command
}
