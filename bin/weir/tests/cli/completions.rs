use crate::weir;

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = weir(&["completions", shell]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.stdout.contains("explain"), "{shell}");
    }
}

#[test]
fn every_subcommand_has_help_with_examples() {
    for subcommand in ["serve", "check", "get", "explain", "completions"] {
        let outcome = weir(&[subcommand, "--help"]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.stdout.contains(&format!("Examples:\n  weir {subcommand}")), "{}", outcome.stdout);
    }
}

#[test]
fn wrong_arguments_are_one_line() {
    let outcome = weir(&["check"]);
    assert_eq!(outcome.code, 2);
    assert_eq!(outcome.stderr, "weir: the following required arguments were not provided: --config <FILE>\n");
}
