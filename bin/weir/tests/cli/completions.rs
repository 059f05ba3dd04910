use crate::weir;

/// Every command but `help`.
pub(crate) fn commands() -> Vec<String> {
    let help = weir(&["--help"]).stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = weir(&["completions", shell]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        for word in commands().iter().map(String::as_str).chain(["--upstream", "--obstacle", "yaml"]) {
            assert!(outcome.stdout.contains(word.trim_start_matches('-')), "{shell}: {word}");
        }
    }
}

#[test]
fn every_subcommand_has_help_with_examples() {
    for subcommand in &commands() {
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
