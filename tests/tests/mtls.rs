//! Mutual TLS: who is let in on both sides of Weir, who may have what, and certificates that change under load.

mod support;

use serde_json::json;
use weir_testkit::client::{Change, Connection, DIALECTS};
use weir_testkit::constraints::locator;
use weir_testkit::process::{Certificate, Envoy, EnvoyOptions, Weir, WeirBuilder};
use weir_testkit::wait::until;
use weir_testkit::{
    Authority, Dialect, FakeControlPlane, Published, Received, Secured, XdsClient, node, type_url,
};
use weir_types::Code;

use crate::support::pki::Pki;

const WEB: &str = "spiffe://prod.example/ns/shop/sa/web";

impl Pki {
    /// Those that are no good, and what each is called.
    fn bad(&self, name: &str) -> [(&'static str, Option<Certificate>); 3] {
        [
            ("of another authority", Some(self.wrong.issue(&[name]))),
            ("expired", Some(self.right.issue_expired(&[name]))),
            ("missing", None),
        ]
    }

    fn serving(&self, control_plane: &FakeControlPlane, more: &str) -> WeirBuilder {
        let builder = Weir::builder().upstream(control_plane, "ads-delta", "streams");
        builder.section(&self.tls("downstream.tls", more))
    }

    /// An upstream over TLS; the certificate is what stands in `weir.pem`, if it is shown at all.
    fn upstream(&self, control_plane: &FakeControlPlane, shows: bool) -> String {
        let (path, port) = (self.path().display(), control_plane.address().port());
        let own = match shows {
            true => format!("certificate = \"{path}/weir.pem\"\nkey = \"{path}/weir.key\"\n"),
            false => String::new(),
        };
        format!(
            "[[upstream]]\nendpoints = [\"https://localhost:{port}\"]\nbackoff_max = \"500ms\"\n\
             [upstream.tls]\nca = \"{path}/ca.pem\"\n{own}"
        )
    }
}

fn cluster(text: &str) -> Published {
    Published::text(type_url("cds"), "a", text)
}

/// What a client is given for cluster `a`, or why it is given nothing.
async fn ask(weir: &Weir, secured: &Secured) -> Result<String, String> {
    let connection = Connection::secured(weir.address(), secured).await?;
    let mut client = connection.ads(Dialect::Delta, &node("client"));
    client.subscribe(type_url("cds"), &["a"]);
    match client.try_receive(weir_testkit::wait::PATIENCE).await {
        Some(Ok(received)) => Ok(received.resource("a").text()),
        Some(Err(status)) => Err(format!("{status:?}")),
        None => panic!("neither an answer nor a refusal"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn weir_lets_in_only_clients_with_a_right_certificate() {
    let (pki, control_plane) = (Pki::new(), FakeControlPlane::start().await);
    control_plane.set(cluster("1"));
    let names = "subject_alt_names = [\"spiffe://prod.example/*\"]\n";
    let weir = pki.serving(&control_plane, names).start().await;
    assert_eq!(ask(&weir, &pki.shows(WEB)).await, Ok("1".to_owned()));
    let other = pki.right.issue(&["spiffe://test.example/ns/shop/sa/web"]);
    for (what, certificate) in pki.bad(WEB).into_iter().chain([("somebody else's", Some(other))]) {
        let trusts = pki.right.pem().to_owned();
        let refused = ask(&weir, &Secured { certificate, trusts }).await;
        assert!(refused.is_err(), "{what}: {refused:?}");
    }
    let count = |metrics: &str, outcome: &str| {
        let series =
            |line: &&str| line.starts_with("weir_downstream_handshakes_total") && line.contains(outcome);
        metrics.lines().find(series).and_then(|line| line.rsplit(' ').next()?.parse::<u32>().ok())
    };
    // Whoever is refused knows it before it is counted.
    let accepted = until("refusals to be counted", async || {
        let metrics = weir.admin("/metrics").await.body;
        (count(&metrics, "rejected") >= Some(4)).then(|| count(&metrics, "accepted"))
    });
    assert_eq!(accepted.await, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_refuse_a_weir_with_a_bad_certificate() {
    let (pki, control_plane) = (Pki::new(), FakeControlPlane::start().await);
    control_plane.set(cluster("1"));
    for (what, certificate) in pki.bad("localhost") {
        let Some(certificate) = certificate else { continue };
        certificate.write(pki.path(), "weir");
        let weir = pki.serving(&control_plane, "").start().await;
        let refused = ask(&weir, &pki.shows(WEB)).await;
        assert!(refused.is_err(), "{what}: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn weir_and_a_control_plane_refuse_each_other_without_a_right_certificate() {
    let pki = Pki::new();
    let server = |certificate| Secured { certificate, trusts: pki.right.pem().to_owned() };
    let right = server(Some(pki.right.issue(&["localhost"])));
    let elsewhere = server(Some(pki.right.issue(&["elsewhere.example"])));
    let mut cases =
        vec![("right", right.clone(), None), ("of another name", elsewhere, Some("not valid for name"))];
    for (what, certificate) in pki.bad("localhost") {
        let reason = if what == "expired" {
            "certificate has expired"
        } else {
            "of no authority that is trusted here"
        };
        cases.extend(certificate.map(|bad| (what, server(Some(bad)), Some(reason))));
    }
    for (what, server, refusal) in cases {
        let control_plane = FakeControlPlane::start_secured(&server).await;
        upstream(&pki, &control_plane, true, what, refusal).await;
    }
    for (what, certificate) in pki.bad("spiffe://prod.example/weir") {
        let control_plane = FakeControlPlane::start_secured(&right).await;
        if let Some(certificate) = &certificate {
            certificate.write(pki.path(), "weir");
        }
        let refusal = match what {
            "expired" => "CertificateExpired",
            "missing" => "CertificateRequired",
            _ => "UnknownCA",
        };
        upstream(&pki, &control_plane, certificate.is_some(), what, Some(refusal)).await;
    }
}

/// What comes of a Weir before such a control plane.
async fn upstream(
    pki: &Pki,
    control_plane: &FakeControlPlane,
    shows: bool,
    what: &str,
    refusal: Option<&str>,
) {
    println!("--- {what}");
    control_plane.set(cluster("1"));
    let weir = Weir::builder().section(&pki.upstream(control_plane, shows)).start().await;
    let mut client = XdsClient::delta(weir.address(), &node("client")).await;
    client.subscribe(type_url("cds"), &["a"]);
    match refusal {
        None => assert_eq!(client.accept(type_url("cds")).await.resource("a").text(), "1"),
        Some(reason) => {
            weir.child().wait_for_line(&[reason]).await;
            control_plane.look(|state| assert!(state.requests.is_empty(), "{what}: {}", state.describe()));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_and_authorities_change_under_load_and_no_stream_is_dropped() {
    let pki = Pki::new();
    let right = Secured::new(pki.right.issue(&["localhost"]), &pki.right);
    let mut control_plane = FakeControlPlane::start_secured(&right).await;
    control_plane.set(cluster("0"));
    let builder = Weir::builder().section(&pki.upstream(&control_plane, true));
    let weir = builder.section(&pki.tls("downstream.tls", "")).start().await;
    let mut clients = Vec::new();
    for i in 0..20 {
        let connection = Connection::secured(weir.address(), &pki.shows(WEB)).await.expect("to be let in");
        let mut client = connection.ads(DIALECTS[i % 2], &node("client"));
        client.subscribe(type_url("cds"), &["a"]);
        assert_eq!(client.accept(type_url("cds")).await.resource("a").text(), "0");
        clients.push(client);
    }
    let (mut trusted, mut newest, mut version) = (pki.shows(WEB), Authority::new("none yet"), 0);
    for round in 0..3 {
        let authority = Authority::new(&format!("round {round}"));
        authority.write(pki.path(), "ca");
        authority.issue(&["localhost", "spiffe://prod.example/weir"]).write(pki.path(), "weir");
        control_plane.secure(&Secured::new(authority.issue(&["localhost"]), &authority));
        let fresh = Secured::new(authority.issue(&[WEB]), &authority);
        // Until a client of the new authority is let in, and after: changes arrive on every stream.
        loop {
            version += 1;
            control_plane.set(cluster(&version.to_string()));
            for client in &mut clients {
                until_text(client, &version.to_string()).await;
            }
            if ask(&weir, &fresh).await.is_ok() {
                break;
            }
        }
        let nobody = |certificate| Secured { certificate, trusts: authority.pem().to_owned() };
        let bad = [
            ("of the authority before", trusted.clone()),
            ("of another authority", nobody(Some(pki.wrong.issue(&[WEB])))),
            ("expired", nobody(Some(authority.issue_expired(&[WEB])))),
            ("missing", nobody(None)),
        ];
        for (what, secured) in bad {
            let refused = ask(&weir, &secured).await;
            assert!(refused.is_err(), "round {round}, {what}: {refused:?}");
        }
        trusted = fresh;
        newest = authority;
    }
    control_plane.look(|state| assert_eq!(state.streams.len(), 1, "{}", state.describe()));

    // The link to the control plane has the new certificates, too, once it has to be made anew; a bad one ends nobody's
    // stream, and nothing comes of it.
    let expired = Secured::new(newest.issue_expired(&["localhost"]), &newest);
    let wrong = Secured::new(pki.wrong.issue(&["localhost"]), &newest);
    for (bad, reason) in
        [(expired, "certificate has expired"), (wrong, "of no authority that is trusted here")]
    {
        control_plane.secure(&bad);
        control_plane.restart().await;
        weir.child().wait_for_line(&["disconnected", reason]).await;
        let open = control_plane.look(|state| state.streams.iter().filter(|stream| stream.open).count());
        assert_eq!(open, 0, "{reason}");
    }
    control_plane.set(cluster("after"));
    control_plane.secure(&Secured::new(newest.issue(&["localhost"]), &newest));
    for client in &mut clients {
        until_text(client, "after").await;
    }
    let metrics = weir.admin("/metrics").await.body;
    assert!(metrics.contains("weir_tls_certificate_valid_until_seconds{"), "{metrics}");
}

/// Accepts what comes until the cluster is this.
async fn until_text(client: &mut XdsClient, text: &str) {
    while client.accept(type_url("cds")).await.resource("a").text() != text {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_clients_meet_and_who_is_let_in_changes_with_the_configuration_and_no_stream_is_dropped() {
    let (pki, control_plane) = (Pki::new(), FakeControlPlane::start().await);
    control_plane.set(cluster("1"));
    let names = "subject_alt_names = [\"spiffe://prod.example/*\"]\n";
    let weir = pki.serving(&control_plane, names).start().await;
    let connection = Connection::secured(weir.address(), &pki.shows(WEB)).await.expect("to be let in");
    let mut running = connection.ads(Dialect::Delta, &node("client"));
    running.subscribe(type_url("cds"), &["a"]);
    assert_eq!(running.accept(type_url("cds")).await.resource("a").text(), "1");

    // Other files, by another authority, for others: at one stroke, and not before the last of them is there.
    weir.reconfigure(|text| text.replace("/ca.pem", "/other-ca.pem").replace("/weir.", "/other."));
    weir.child()
        .wait_for_line(&["configuration rejected", "downstream.tls.certificate: ", "other.pem"])
        .await;
    assert_eq!(ask(&weir, &pki.shows(WEB)).await, Ok("1".to_owned()));
    pki.wrong.write(pki.path(), "other-ca");
    pki.wrong.issue(&["localhost"]).write(pki.path(), "other");
    weir.signal("HUP").await;
    weir.child().wait_for_line(&["configuration reloaded", "downstream.tls"]).await;
    let stranger = Secured::new(pki.wrong.issue(&[WEB]), &pki.wrong);
    assert_eq!(ask(&weir, &stranger).await, Ok("1".to_owned()));
    let refused = ask(&weir, &pki.shows(WEB)).await;
    assert!(refused.is_err(), "{refused:?}");
    control_plane.set(cluster("2"));
    until_text(&mut running, "2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_identity_gets_what_its_rules_give_it_and_nothing_else() {
    let (pki, control_plane) = (Pki::new(), FakeControlPlane::start_tp2().await);
    for env in ["prod", "test"] {
        let only = weir_testkit::constraints::value("env", env);
        control_plane.set(cluster(env).constrained(only.clone()));
        control_plane.set(Published::text(type_url("sds"), "shop-cert", env).constrained(only));
    }
    control_plane.set(Published::text(type_url("sds"), "bank-cert", "secret"));
    let rules = "[[dynamic_parameters]]\nkey = \"env\"\nfrom = \"identity.spiffe\"\n\
         pattern = \"^spiffe://([a-z]+)[.]example/\"\nenforce = true\n\
         [[access]]\nidentities = [\"spiffe://prod.example/*\"]\n\
         [[access]]\nidentities = [\"spiffe://prod.example/ns/shop/*\"]\ntypes = [\"sds\"]\nnames = [\"shop-*\"]\n";
    let builder = Weir::builder().upstream(&control_plane, "ads-delta", "native");
    let weir = builder.section(&pki.tls("downstream.tls", "")).section(rules).start().await;
    let connect = async |name: &str, dialect| {
        let connection = Connection::secured(weir.address(), &pki.shows(name)).await.expect("to be let in");
        connection.ads(dialect, &node("client"))
    };
    let denied = |received: &Received, name: &str| {
        assert!(received.resources.iter().all(|resource| resource.name != name), "{received:?}");
        assert_eq!(received.error_codes(), [(name, tonic::Code::from_i32(Code::PERMISSION_DENIED.0))]);
    };
    let (cds, sds) = (type_url("cds"), type_url("sds"));
    for dialect in DIALECTS {
        let mut web = connect(WEB, dialect).await;
        web.subscribe(cds, &["a"]);
        assert_eq!(web.accept(cds).await.resource("a").text(), "prod", "by plain name");
        web.subscribe(sds, &["shop-cert"]);
        assert_eq!(web.accept(sds).await.resource("shop-cert").text(), "prod");
        let shown = weir.admin("/clients?identity=spiffe://prod.example/*").await.body;
        let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        let clients = shown["items"].as_array().expect("a list");
        let is_web = |client: &serde_json::Value| {
            client["identity"]["spiffe"] == WEB && client["access"] == json!([0, 1])
        };
        assert!(!clients.is_empty() && clients.iter().all(is_web), "{shown}");

        let mut liar = connect(WEB, dialect).await;
        liar.locate(cds, &[locator("a", &[("env", "test")])]);
        denied(&liar.accept(cds).await, "a");
        let mut honest = connect(WEB, dialect).await;
        honest.locate(cds, &[locator("a", &[])]);
        assert_eq!(honest.accept(cds).await.resource("a").text(), "prod", "filled in");

        let mut thief = connect(WEB, dialect).await;
        thief.subscribe(sds, &["bank-cert"]);
        denied(&thief.accept(sds).await, "bank-cert");
        thief.change(sds, Change { names: vec!["*".into()], ..Change::default() });
        assert_eq!(
            thief.closed().await.code(),
            tonic::Code::PermissionDenied,
            "a wildcard has no name for an error"
        );

        let mut stranger = connect("spiffe://test.example/ns/shop/sa/web", dialect).await;
        stranger.subscribe(cds, &[]);
        assert_eq!(stranger.closed().await.code(), tonic::Code::PermissionDenied);
    }
    let line = weir.child().wait_for_line(&["denied", WEB, "bank-cert"]).await;
    assert!(line.contains("bank-cert"));
    assert!(weir.admin("/metrics").await.body.contains("weir_downstream_denied_total{"));
    let asked = control_plane.look(|state| format!("{:?}", state.requests));
    assert!(!asked.contains("bank-cert"), "nobody was asked for what nobody may have");
    assert!(!asked.contains(r#""env": "test""#), "{asked}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_envoy_is_served_over_mutual_tls_from_a_control_plane_over_mutual_tls() {
    let pki = Pki::new();
    let right = Secured::new(pki.right.issue(&["localhost"]), &pki.right);
    let control_plane = FakeControlPlane::start_secured(&right).await;
    let cluster = json!({
        "@type": type_url("cds"), "name": "backend", "type": "STATIC", "connect_timeout": "1s",
        "load_assignment": { "cluster_name": "backend" },
    });
    control_plane.set(weir_testkit::resources::published(&cluster));
    let builder = Weir::builder().section(&pki.upstream(&control_plane, true));
    let weir = builder.section(&pki.tls("downstream.tls", "")).start().await;
    let (chain, key) = pki.right.issue(&[WEB]).write(pki.path(), "envoy");
    let options = EnvoyOptions::new(Dialect::Delta, "envoy");
    let mut envoy = Envoy::with_bootstrap("envoy", |_| {
        let mut bootstrap = options.bootstrap(weir.address());
        bootstrap["static_resources"]["clusters"][0]["transport_socket"] = json!({
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
                "sni": "localhost",
                "common_tls_context": {
                    "alpn_protocols": ["h2"],
                    "tls_certificates": [{
                        "certificate_chain": { "filename": chain }, "private_key": { "filename": key },
                    }],
                    "validation_context": {
                        "trusted_ca": { "filename": pki.path().join("ca.pem") },
                        "match_typed_subject_alt_names": [
                            { "san_type": "URI", "matcher": { "exact": "spiffe://prod.example/weir" } },
                        ],
                    },
                },
            },
        });
        bootstrap
    });
    envoy.live().await;
    let dump = envoy.config_dump().await.to_string();
    assert!(dump.contains("\"backend\""), "{dump}");
}
