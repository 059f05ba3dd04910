use crate::completions::commands;
use crate::weir;

#[test]
fn every_command_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("share/man1");
    let outcome = weir(&["man", pages.to_str().unwrap()]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, ""), "{outcome:?}");
    let commands = commands();
    assert!(commands.iter().any(|command| command == "trace-change") && commands.len() > 15, "{commands:?}");
    for command in &commands {
        let page = std::fs::read_to_string(pages.join(format!("weir-{command}.1"))).unwrap();
        assert!(page.contains(".SH OPTIONS"), "{command}");
    }
    let weir = std::fs::read_to_string(pages.join("weir.1")).unwrap();
    assert!(weir.contains("caching xDS proxy"), "{weir}");
}

#[test]
fn what_help_states_of_tls_is_of_nothing_else() {
    for command in commands() {
        let help = weir(&[&command, "--help"]).stdout;
        let Some((_, section)) = help.split_once("\nTLS and tokens:\n") else { continue };
        let section = section.split("\n\nExamples:").next().unwrap_or_default();
        let section = section.split("\nNode:\n").next().unwrap_or_default();
        let flags = section.lines().map(str::trim_start).filter(|line| line.starts_with(['-', '<', '[']));
        let other: Vec<_> =
            flags.filter(|line| !line.starts_with("--t") && !line.starts_with("[env:")).collect();
        assert!(other.is_empty(), "{command}: {other:?}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_one_line() {
    let outcome = weir(&["man", "/dev/null/x"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.starts_with("weir: write manual pages to /dev/null/x: "), "{outcome:?}");
}
