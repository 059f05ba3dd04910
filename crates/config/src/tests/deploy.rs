//! The files to run Weir by, against the configuration: they leave it the time and the files that it needs.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::examples::{read, repository};
use crate::Config;

/// How long the program may take to end beyond what a drain takes.
const MARGIN: Duration = Duration::from_secs(10);

fn longest_end(config: &Config) -> Duration {
    config.drain.delay + config.drain.over + config.drain.grace + MARGIN
}

/// The values of a key of a unit, in order.
fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect()
}

#[test]
fn the_unit_leaves_room_for_the_defaults_and_nothing_else() {
    let unit = read("deploy/systemd/weir.service");
    let only = |key: &str| match values(&unit, key)[..] {
        [value] => value.to_owned(),
        ref other => panic!("{key} is {other:?}"),
    };
    let config =
        "downstream.listen = ['0.0.0.0:18000']\n[[upstream]]\nendpoints = ['http://127.0.0.1:18001']\n";
    let defaults = crate::parse(config, Path::new("x.toml")).unwrap();
    let stop = crate::parse_duration(&only("TimeoutStopSec")).unwrap();
    assert!(
        stop >= longest_end(&defaults),
        "TimeoutStopSec={stop:?} is less than {:?}",
        longest_end(&defaults)
    );
    let files: usize = only("LimitNOFILE").parse().unwrap();
    assert!(files > defaults.limits.max_connections.get() + 1000, "LimitNOFILE={files}");
    assert!(only("ExecStart").starts_with("/usr/bin/weir serve --config /etc/weir/"));
    assert_eq!((&*only("Type"), &*only("ExecReload")), ("notify", "/bin/kill -HUP $MAINPID"));
    for (key, value) in [
        ("DynamicUser", "yes"),
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("PrivateTmp", "yes"),
        ("PrivateDevices", "yes"),
        ("MemoryDenyWriteExecute", "yes"),
        ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"),
        ("StateDirectory", "weir"),
    ] {
        assert_eq!(only(key), value, "{key}");
    }
    assert_eq!(values(&unit, "SystemCallFilter")[0], "@system-service");
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let directory = std::env::temp_dir().join(format!("weir-unit-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("weir.service");
    // The program is not installed where tests run.
    std::fs::write(&file, read("deploy/systemd/weir.service").replace("/usr/bin/weir", "/bin/true")).unwrap();
    let analyze = |arguments: &[&str]| Command::new("systemd-analyze").args(arguments).arg(&file).output();
    let (verified, exposed) =
        (analyze(&["verify"]), analyze(&["security", "--offline=true", "--threshold=20"]));
    std::fs::remove_dir_all(&directory).unwrap();
    // Where there is no systemd, the test above is all there is.
    let (Ok(verified), Ok(exposed)) = (verified, exposed) else { return };
    let stated = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success() && !stated.contains("weir.service:"), "{stated}");
    let stated = String::from_utf8_lossy(&exposed.stdout).into_owned();
    assert!(exposed.status.success(), "more exposed than 2.0 of 10: {stated}");
}

#[test]
fn kubernetes_gives_the_pod_the_time_that_its_configuration_asks_for() {
    let manifest = read("deploy/kubernetes/weir.yaml");
    let lines = manifest.lines().skip_while(|line| line.trim() != "weir.toml: |").skip(1);
    let text: Vec<_> = lines.take_while(|line| line.starts_with("    ")).collect();
    let config =
        crate::parse(&text.join("\n"), Path::new("weir.toml")).unwrap_or_else(|error| panic!("{error}"));
    let grace = manifest.lines().find_map(|line| line.trim().strip_prefix("terminationGracePeriodSeconds: "));
    let grace = Duration::from_secs(grace.unwrap().parse().unwrap());
    assert!(grace >= longest_end(&config), "{grace:?} is less than {:?}", longest_end(&config));
    let port =
        |name: &str, port: u16| manifest.contains(&format!("{{ name: {name}, containerPort: {port} }}"));
    assert!(port("xds", config.downstream.listen[0].port()));
    assert!(port("admin", config.admin.as_ref().unwrap().listen.port()));
    assert!(manifest.contains("path: /ready") && manifest.contains("runAsNonRoot: true"));
    let mounted: Vec<_> =
        manifest.split("mountPath: ").skip(1).filter_map(|rest| rest.split([',', ' ']).next()).collect();
    let store = config.store.expect("what a pod knows outlives it").path;
    assert!(store.parent().is_some_and(|directory| mounted.iter().any(|path| directory == Path::new(path))));
    assert!(manifest.contains("volumeClaimTemplates:"), "the store is on a volume");
    assert!(manifest.contains("startupProbe:"));
}

#[test]
fn the_image_runs_as_nobody() {
    let image = read("deploy/Dockerfile");
    assert!(image.contains("\nFROM gcr.io/distroless/cc-debian12:nonroot\n"), "{image}");
    assert!(repository().join("Cargo.lock").exists(), "--locked needs it");
}
