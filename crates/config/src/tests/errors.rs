//! Errors of configuration files: the file, the line, the key, the value, and what is allowed.

use std::path::Path;

pub(super) const HEAD: &str = "downstream.listen = ['127.0.0.1:1']\n";
pub(super) const FILES: &str = "[[upstream]]\nfiles = 'r'\n";
pub(super) const PLANE: &str = "[[upstream]]\nendpoints = ['http://a:1']\n";

/// `head`, `upstream` and `rest`; the upstream's table starts on the second line.
pub(super) fn error(parts: &[&str]) -> String {
    match crate::parse(&parts.concat(), Path::new("etc/weir.toml")) {
        Ok(config) => panic!("{parts:?} was accepted: {config:?}"),
        Err(error) => error.to_string().replace("etc/weir.toml:", ""),
    }
}

#[test]
fn an_error_names_the_file() {
    let error = crate::parse("x = 1", Path::new("etc/weir.toml")).unwrap_err().to_string();
    assert!(
        error.starts_with("etc/weir.toml:1: x: unknown key `x`, expected one of `node`, `log`,"),
        "{error}"
    );
    let error = crate::load(Path::new("does/not/exist.toml")).unwrap_err().to_string();
    assert!(error.starts_with("does/not/exist.toml: No such file"), "{error}");
}

#[test]
fn the_shape() {
    for (parts, wanted) in [
        (&[HEAD, HEAD][..], "2: listen: duplicate key"),
        (&["x = \n"][..], "1: string values must be quoted, expected literal string"),
        (&[HEAD, "[node]\nid = 5\n", FILES], "3: node.id: invalid type: integer `5`, expected a string"),
        (
            &["[log]\nformat = 'xml'\n[downstream]\nlisten=['127.0.0.1:1']\n", FILES],
            "2: log.format: unknown variant `xml`, expected one of `auto`, `text`, `json`",
        ),
        (
            &[HEAD, "downstream.csds = 'all'\n", FILES],
            "2: downstream.csds: unknown variant `all`, expected one of `off`, `loopback`, `any`",
        ),
        (
            &[HEAD, "downstream.cold_start.grpc = 'wait'\n", FILES],
            "2: downstream.cold_start.grpc: unknown variant `wait`, expected one of `hold`, `error`, `close`",
        ),
        (
            &[HEAD, "downstream.cold_start.istio = 'hold'\n", FILES],
            "2: downstream.cold_start.istio: unknown key `istio`, expected one of `envoy`, `grpc`, `weir`, `other`",
        ),
        (
            &[HEAD, "[node]\nid = 'a-${NO_SUCH_VARIABLE}'\n", FILES],
            "3: node.id: the environment variable NO_SUCH_VARIABLE is not set; $${ stands for ${",
        ),
        (
            &[HEAD, "[upstream]\nfiles = 'r'\n"],
            "2: upstream: invalid type: map, expected a list: each is a table of its own, under a heading with double brackets: [[name]]",
        ),
        (&[FILES], "1: missing key `downstream`"),
        (&[HEAD], "1: upstream: must be there at least once: [[upstream]]"),
        (
            &[HEAD, FILES, "[[dynamic_parameters]]\nkey = 'x'\n"],
            "4: dynamic_parameters[0]: missing key `from`",
        ),
        (
            &[HEAD, FILES, "file = 'x'\n"],
            "4: upstream[0].file: unknown key `file`; did you mean `files`? expected one of `authority`, `virtual_hosts`, `files`, `poll_interval`, `endpoints`, `tls`, `headers`, `token_file`, `token_over_plaintext`, `max_subscriptions`, `new_subscriptions_per_second`, `idle_timeout`, `connect_timeout`, `does_not_exist_timeout`, `drop_on_errors`, `debounce`, `shrink_guard`, `backoff_base`, `backoff_max`, `answer_timeout`, `stable_after`, `shared_versions`, `max_response_size`, `nack_upstream`, `prefetch`, `protocol`, `dynamic_parameters`, `acknowledge`, `transport`, `keepalive_interval`, `keepalive_timeout`, `node_on_first_message_only`, `streams_per_connection`, `load_reports`, `refresh_interval`, `refresh_jitter`, `request_timeout`, `parameter_keys`, `max_parameter_sets`, `new_parameter_sets_per_second`, `node`, `acknowledge_share`, `acknowledge_deadline`",
        ),
        (
            &[HEAD, PLANE, "dynamic_parameters = 'yes'\n"],
            "4: upstream[0].dynamic_parameters: unknown variant `yes`, expected `native` or `streams`",
        ),
        (
            &[HEAD, PLANE, "protocol = 'xds'\n"],
            "4: upstream[0].protocol: unknown variant `xds`, expected one of `ads-delta`, `ads-sotw`, `delta`, `sotw`, `rest`",
        ),
        (&[HEAD, FILES, "[limits]\nmax_names = -1\n"], "5: limits.max_names: must be at least 1 (got -1)"),
    ] {
        assert_eq!(error(parts), wanted);
    }
}

#[test]
fn single_values() {
    for (parts, wanted) in [
        (
            &["downstream.listen = ['127.0.0.1:1', 'localhost:2']\n", FILES][..],
            "1: downstream.listen[1]: \"localhost:2\" is not a socket address; write it like \"127.0.0.1:18000\" or \"[::]:18000\"",
        ),
        (
            &[HEAD, FILES, "[cache]\nidle_timeout = '60'\n"],
            "5: cache.idle_timeout: \"60\" is not a duration; write it like \"15s\", \"500ms\", \"2m\" or \"1h\"",
        ),
        (
            &[HEAD, FILES, "[cache]\nidle_timeout = 60\n"],
            "5: cache.idle_timeout: invalid type: integer `60`, expected a duration like \"15s\"",
        ),
        (
            &[HEAD, PLANE, "max_response_size = '4MB'\n"],
            "4: upstream[0].max_response_size: \"4MB\" is not a size; write it like \"4MiB\" or \"512KiB\"",
        ),
        (
            &[HEAD, "[[upstream]]\nendpoints = ['http://a:1',\n 'a:1']\n"],
            "4: upstream[0].endpoints[1]: \"a:1\" is not an endpoint: it has no scheme; write it like \"http://10.0.0.1:18000\" or \"https://cp.example:18000\"",
        ),
        (
            &[HEAD, "[[upstream]]\nendpoints = ['ftp://a:1']\n"],
            "3: upstream[0].endpoints[0]: \"ftp://a:1\" is not an endpoint: the scheme \"ftp\" is not supported; write it like \"http://10.0.0.1:18000\" or \"https://cp.example:18000\"",
        ),
        (
            &[HEAD, "[[upstream]]\nendpoints = ['http://a:1/x']\n"],
            "3: upstream[0].endpoints[0]: \"http://a:1/x\" is not an endpoint: it has a path; write it like \"http://10.0.0.1:18000\" or \"https://cp.example:18000\"",
        ),
        (
            &[HEAD, FILES, "[[dynamic_parameters]]\nkey = 'a'\nfrom = 'node.id'\npattern = '('\n"],
            "7: dynamic_parameters[0].pattern: \"(\" is not a regular expression: unclosed group",
        ),
        (
            &[HEAD, FILES, "[[dynamic_parameters]]\nkey = 'a'\nfrom = 'node.name'\n"],
            "6: dynamic_parameters[0].from: \"node.name\" is no part of a node or an identity; allowed are node.id, node.cluster, node.locality.region, node.locality.zone, node.locality.sub_zone, node.user_agent_name, node.metadata.KEY, identity.spiffe, identity.uri, identity.dns",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
}

#[test]
fn rules_between_values() {
    for (parts, wanted) in [
        (
            &["downstream.listen = []\n", FILES][..],
            "1: downstream.listen: must have at least one address (got [])",
        ),
        (&[HEAD, "upstream = []\n"], "2: upstream: must be there at least once: [[upstream]]"),
        (
            &[HEAD, FILES, FILES],
            "4: upstream[1].authority: must be another authority than upstream[0].authority (got \"\")",
        ),
        (
            &[HEAD, FILES, "authority = 'a'\nvirtual_hosts = 'wildcard'\n"],
            "5: upstream[0].virtual_hosts: applies only to names without an authority (the upstream has \"a\")",
        ),
        (
            &[HEAD, FILES, "[admin]\nlisten = '127.0.0.1:1'\n"],
            "5: admin.listen: must be another address than downstream.listen[0] (got 127.0.0.1:1)",
        ),
        (
            &[HEAD, "downstream.max_connection_age = '0s'\n", FILES],
            "2: downstream.max_connection_age: must be greater than zero (got 0s)",
        ),
        (
            &[HEAD, FILES, "[limits]\nmax_streams_per_connection = 0\n"],
            "5: limits.max_streams_per_connection: must be at least 1 (got 0)",
        ),
        (
            &[HEAD, FILES, "[admission]\nnew_streams_per_second = 0\n"],
            "5: admission.new_streams_per_second: must be at least 1 (got 0)",
        ),
        (
            &[HEAD, FILES, "[admission]\nnew_streams_burst = 5\n"],
            "5: admission.new_streams_burst: applies only with new_streams_per_second",
        ),
        (
            &[HEAD, FILES, "[drain]\nover = 'long'\n"],
            "5: drain.over: \"long\" is not a duration; write it like \"15s\", \"500ms\", \"2m\" or \"1h\"",
        ),
        (&[HEAD, FILES, "[store]\n"], "4: store: missing key `path`"),
        (
            &[HEAD, FILES, "[store]\npath = '/'\n"],
            "5: store.path: must be a file, in a directory that outlives the process (got \"/\")",
        ),
        (
            &[HEAD, FILES, "[store]\npath = 's'\nmax_size = '1000KiB'\n"],
            "6: store.max_size: must be at least 1MiB (got 1000KiB)",
        ),
        (
            &[HEAD, FILES, "[store]\npath = 's'\npersist_secrets = true\n"],
            "6: store.persist_secrets: needs a key_file: secrets are stored encrypted only",
        ),
        (
            &[HEAD, FILES, "[store]\npath = 's'\nkey_file = 'k'\n"],
            "6: store.key_file: applies only with persist_secrets = true",
        ),
        (
            &[HEAD, FILES, "endpoints = ['http://a']\n"],
            "3: upstream[0].files: an upstream has either files or endpoints, not both",
        ),
        (
            &[HEAD, FILES, "poll_interval = \"0s\"\n"],
            "4: upstream[0].poll_interval: must be greater than zero (got 0s)",
        ),
        (
            &[HEAD, "[[upstream]]\nendpoints = ['http://a']\npoll_interval = '5s'\n"],
            "4: upstream[0].poll_interval: applies only to files",
        ),
        (&[HEAD, "[[upstream]]\n"], "2: upstream[0]: an upstream needs either endpoints or files"),
        (
            &[HEAD, "[[upstream]]\nendpoints = []\n"],
            "3: upstream[0].endpoints: must have at least one endpoint (got [])",
        ),
        (
            &[HEAD, FILES, "protocol = 'ads-sotw'\n"],
            "4: upstream[0].protocol: does not apply to files; it belongs to endpoints",
        ),
        (
            &[HEAD, PLANE, "nack_upstream = 'any'\n"],
            "4: upstream[0].nack_upstream: applies only with acknowledge = \"after-subscribers\"",
        ),
        (
            &[HEAD, PLANE, "acknowledge = 'on-receipt'\nacknowledge_share = 5\n"],
            "5: upstream[0].acknowledge_share: applies only with acknowledge = \"after-subscribers\"",
        ),
        (
            &[HEAD, PLANE, "acknowledge = 'after-subscribers'\nacknowledge_share = 0\n"],
            "5: upstream[0].acknowledge_share: must be a percentage from 1 to 100 (got 0)",
        ),
        (
            &[HEAD, PLANE, "acknowledge = 'after-subscribers'\nnack_upstream = { percent = 101 }\n"],
            "5: upstream[0].nack_upstream: must be a percentage from 1 to 100 (got 101)",
        ),
        (
            &[HEAD, PLANE, "acknowledge = 'after-subscribers'\nnack_upstream = 'some'\n"],
            "5: upstream[0].nack_upstream: unknown variant `some`, expected one of `never`, `any`, `percent`",
        ),
        (
            &[HEAD, PLANE, "acknowledge = 'after-subscribers'\nacknowledge_deadline = '0s'\n"],
            "5: upstream[0].acknowledge_deadline: must be greater than zero (got 0s)",
        ),
        (
            &[HEAD, PLANE, "max_parameter_sets = 0\n"],
            "4: upstream[0].max_parameter_sets: must be at least 1 (got 0)",
        ),
        (
            &[HEAD, PLANE, "dynamic_parameters = 'native'\nparameter_keys = []\n"],
            "5: upstream[0].parameter_keys: applies only with dynamic_parameters = \"streams\"",
        ),
        (
            &[HEAD, PLANE, "parameter_keys = ['a', 'a']\n"],
            "4: upstream[0].parameter_keys[1]: \"a\" is there twice",
        ),
        (
            &[HEAD, PLANE, "backoff_max = '1ms'\n"],
            "4: upstream[0].backoff_max: must be at least backoff_base, which is 500ms (got 1ms)",
        ),
        (
            &[HEAD, PLANE, "debounce = { max = '1ms' }\n"],
            "4: upstream[0].debounce.max: must be at least debounce.quiet, which is 100ms (got 1ms)",
        ),
        (
            &[HEAD, PLANE, "acknowledge = 'after-subscribers'\ndebounce = {}\n"],
            "5: upstream[0].debounce: applies only with acknowledge = \"on-receipt\"",
        ),
        (
            &[HEAD, PLANE, "max_subscriptions = 0\n"],
            "4: upstream[0].max_subscriptions: must be at least 1 (got 0)",
        ),
        (
            &[HEAD, PLANE, "new_subscriptions_per_second = 0\n"],
            "4: upstream[0].new_subscriptions_per_second: must be at least 1 (got 0)",
        ),
        (
            &[HEAD, PLANE, "dynamic_parameters = 'native'\nnew_parameter_sets_per_second = 1\n"],
            "5: upstream[0].new_parameter_sets_per_second: applies only with dynamic_parameters = \"streams\"",
        ),
        (
            &[HEAD, PLANE, "shrink_guard = { percent = 100 }\n"],
            "4: upstream[0].shrink_guard.percent: must be a percentage from 1 to 99 (got 100)",
        ),
        (
            &[HEAD, PLANE, "shrink_guard = { minimum = 0 }\n"],
            "4: upstream[0].shrink_guard.minimum: must be at least 1 (got 0)",
        ),
        (
            &[HEAD, PLANE, "shrink_guard = { confirm_after = '0s' }\n"],
            "4: upstream[0].shrink_guard.confirm_after: must be greater than zero (got 0s)",
        ),
        (
            &[HEAD, "[[upstream]]\nendpoints = ['http://a:1', 'http://b:1']\n", "answer_timeout = '15s'\n"],
            "4: upstream[0].answer_timeout: must be shorter than does_not_exist_timeout, which is 15s (got 15s): resources would count as missing before other endpoints are asked",
        ),
        (
            &[HEAD, PLANE, "connect_timeout = '0s'\n"],
            "4: upstream[0].connect_timeout: must be greater than zero (got 0s)",
        ),
        (&[HEAD, FILES, "[limits]\nmax_names = 0\n"], "5: limits.max_names: must be at least 1 (got 0)"),
        (
            &[
                HEAD,
                FILES,
                "[[dynamic_parameters]]\nkey='a'\nfrom='node.id'\ndefault='x'\n[[dynamic_parameters]]\nkey='a'\nfrom='node.id'\n",
            ],
            "9: dynamic_parameters[1].key: \"a\" always has a value already: an earlier rule has a default",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
}

#[test]
fn f03_exports_have_a_type_and_a_file_of_their_own() {
    for (exports, wanted) in [
        (
            "[[export]]\ntype = 'clusters'\nto = 'x.yaml'\n",
            "5: export[0].type: \"clusters\" is no resource type; did you mean cds? allowed are cds, eds,",
        ),
        ("[[export]]\ntype = 'cds'\nto = 'x.toml'\n", "6: export[0].to: must end with .yaml,"),
        (
            "[[export]]\ntype = 'cds'\nto = 'x.pb'\n[[export]]\ntype = 'lds'\nto = 'x.pb'\n",
            "9: export[1].to: must be another file than export[0].to (got \"x.pb\")",
        ),
    ] {
        let error = error(&[HEAD, FILES, exports]);
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn p15_templates_know_the_keys_of_the_upstream() {
    let rule = "[[dynamic_parameters]]\nkey = 'zone'\nfrom = 'node.locality.zone'\n";
    for (node, wanted) in [
        (
            "node.id = 'w-{zon}'\n",
            "4: upstream[0].node.id: \"w-{zon}\" has a placeholder for the unknown key \"zon\"; allowed are {zone}",
        ),
        (
            "node.cluster = 'w-{zone'\n",
            "4: upstream[0].node.cluster: \"w-{zone\" is not a template: a { without a }; write it like \"weir-{env}\"",
        ),
        (
            "node.cluster = 'zone}'\n",
            "4: upstream[0].node.cluster: \"zone}\" is not a template: a } without a {; write it like \"weir-{env}\"",
        ),
        (
            "node.cluster = '{}'\n",
            "4: upstream[0].node.cluster: \"{}\" is not a template: a { without a key; write it like \"weir-{env}\"",
        ),
        (
            "node.metadata.a.b = [1, '{env}']\n",
            "4: upstream[0].node.metadata.a.b[1]: \"{env}\" has a placeholder for the unknown key \"env\"; allowed are {zone}",
        ),
        (
            "parameter_keys = []\nnode.id = '{zone}'\n",
            "5: upstream[0].node.id: \"{zone}\" has a placeholder for the unknown key \"zone\"; there are no parameter_keys",
        ),
    ] {
        assert_eq!(error(&[HEAD, PLANE, node, rule]), wanted);
    }
    crate::parse(&[HEAD, PLANE, "node.id = 'w-{zone}'\n", rule].concat(), Path::new("x")).unwrap();
}

#[test]
fn u01_keys_of_streams_and_of_polls_are_not_mixed() {
    for (keys, wanted) in [
        (
            "refresh_interval = '1s'\n",
            "4: upstream[0].refresh_interval: applies only with protocol = \"rest\"",
        ),
        (
            "protocol = 'rest'\ntransport = 'v2'\n",
            "5: upstream[0].transport: does not apply to protocol = \"rest\"",
        ),
        (
            "protocol = 'rest'\nrefresh_interval = '0s'\n",
            "5: upstream[0].refresh_interval: must be greater than zero (got 0s)",
        ),
        (
            "protocol = 'rest'\nrequest_timeout = '0s'\n",
            "5: upstream[0].request_timeout: must be greater than zero (got 0s)",
        ),
    ] {
        assert_eq!(error(&[HEAD, PLANE, keys]), wanted);
    }
    crate::parse(&[HEAD, PLANE, "protocol = 'rest'\nrefresh_jitter = '0s'\n"].concat(), Path::new("x"))
        .unwrap();
}

#[test]
fn environment_variables_are_put_into_texts() {
    let text = [HEAD, FILES, "[node]\nid = '${CARGO_PKG_NAME}'\ncluster = '$${x}'\n"].concat();
    let config = crate::parse(&text, Path::new("weir.toml")).unwrap();
    assert_eq!((&*config.node.id, &*config.node.cluster), ("weir-config", "${x}"));
}
