//! Tokens, certificates and rights over the wire: the admin interface, REST, and the command line.

mod support;

use std::io::ErrorKind::WouldBlock;
use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpSocket, TcpStream};
use weir_testkit::client::Connection;
use weir_testkit::process::http::{Answer, send};
use weir_testkit::process::{Ran, Weir, WeirBuilder, free_port};
use weir_testkit::{FakeControlPlane, Published, Secured, XdsClient, node, type_url};

use crate::support::pki::Pki;

const READER: &str = "spiffe://prod.example/ns/monitoring/sa/prometheus";
const CHANGER: &str = "spiffe://prod.example/ns/ops/sa/oncall";
const WEB: &str = "spiffe://prod.example/ns/shop/sa/web";

/// What stands in the secrets and the tokens, and nowhere else.
const SECRET: &str = "not-to-be-shown";

impl Pki {
    /// With the files of some tokens.
    fn with_tokens() -> Self {
        let pki = Self::new();
        for token in ["look", "change", "other"] {
            std::fs::write(pki.file(token), format!("{token}-{SECRET}\n")).expect("write a token");
        }
        pki
    }

    fn tokens(&self) -> String {
        format!("token_file = {:?}\nchange_token_file = {:?}", self.file("look"), self.file("change"))
    }
}

/// Asks the admin interface.
async fn ask(
    weir: &Weir,
    secured: Option<&Secured>,
    token: Option<&str>,
    what: (&str, &str),
    body: &str,
) -> Result<Answer, String> {
    let bearer = token.map(|token| format!("Bearer {token}-{SECRET}"));
    let bearer = bearer.iter().map(|bearer| ("authorization", bearer.as_str()));
    let headers: Vec<_> = bearer.chain([("content-type", "application/json")]).collect();
    send(weir.admin_address(), secured, what, &headers, body).await
}

async fn look(weir: &Weir, token: &str, path: &str) -> Answer {
    let answer = ask(weir, None, Some(token), ("GET", path), "").await;
    answer.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What looking, changing something and being probed come to.
async fn judged(weir: &Weir, secured: Option<&Secured>, token: Option<&str>) -> [u16; 3] {
    let mut statuses = [0; 3];
    for (status, (what, body)) in statuses.iter_mut().zip([
        (("GET", "/clients"), ""),
        (("PUT", "/log-level"), r#"{ "level": "debug" }"#),
        (("GET", "/live"), ""),
    ]) {
        let answer = ask(weir, secured, token, what, body).await;
        *status = answer.unwrap_or_else(|error| panic!("{what:?}: {error}")).status;
    }
    statuses
}

fn weir() -> WeirBuilder {
    Weir::builder().resources(&[])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admin_takes_one_token_to_look_and_another_to_change() {
    let pki = Pki::with_tokens();
    let weir = weir().admin(&pki.tokens()).start().await;
    for (token, wanted) in [
        (None, [401, 401, 200]),
        (Some("other"), [403, 403, 200]),
        (Some("look"), [200, 403, 200]),
        (Some("change"), [200, 200, 200]),
    ] {
        assert_eq!(judged(&weir, None, token).await, wanted, "{token:?}");
    }
    // A token that changes counts at once, and the old one no longer.
    std::fs::write(pki.path().join("look"), format!("new-{SECRET}")).expect("write a token");
    weir.child().wait_for_line(&["files reloaded", "admin"]).await;
    assert_eq!(judged(&weir, None, Some("look")).await, [403, 403, 200]);
    assert_eq!(judged(&weir, None, Some("new")).await, [200, 403, 200]);
    assert!(look(&weir, "new", "/metrics").await.body.contains("weir_admin_denied_total"));
    assert!(!weir.child().output().contains(SECRET), "tokens are never logged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admin_over_tls_goes_by_certificates_and_tokens() {
    let pki = Pki::with_tokens();
    let rights = format!("read = [\"{READER}\"]\nchange = [\"spiffe://prod.example/ns/ops/*\"]\n");
    let weir = weir().admin(&pki.tokens()).section(&pki.tls("admin.tls", &rights)).start().await;
    for (secured, token, wanted) in [
        (pki.shows_nothing(), None, [401, 401, 200]),
        (pki.shows_nothing(), Some("change"), [200, 200, 200]),
        (pki.shows(READER), None, [200, 403, 200]),
        (pki.shows(READER), Some("change"), [200, 200, 200]),
        (pki.shows(CHANGER), None, [200, 200, 200]),
        (pki.shows(WEB), None, [403, 403, 200]),
        (pki.shows(WEB), Some("look"), [200, 403, 200]),
    ] {
        let shown = secured.certificate.is_some();
        assert_eq!(judged(&weir, Some(&secured), token).await, wanted, "{shown} {token:?}");
    }
    let probe = ("GET", "/live");
    for certificate in [pki.wrong.issue(&[CHANGER]), pki.right.issue_expired(&[CHANGER])] {
        let secured = Secured { certificate: Some(certificate), trusts: pki.right.pem().to_owned() };
        let refused = ask(&weir, Some(&secured), None, probe, "").await;
        assert!(refused.is_err(), "a bad certificate is worse than none: {refused:?}");
    }
    let plain = ask(&weir, None, None, probe, "").await;
    assert!(plain.is_err(), "nothing is answered without TLS: {plain:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_an_operator_changes_with_the_configuration() {
    let pki = Pki::with_tokens();
    let rights = format!("read = [\"{READER}\"]\n");
    let weir = weir().admin(&pki.tokens()).section(&pki.tls("admin.tls", &rights)).start().await;
    let nobody = pki.shows_nothing();
    // Nothing before all of it can be used.
    weir.reconfigure(|text| {
        let text = text.replace("/look\"", "/other\"").replace("/ca.pem", "/wrong.pem");
        text.replace("/weir.", "/next.").replace(READER, WEB)
    });
    weir.child().wait_for_line(&["configuration rejected", "admin.tls.certificate: ", "next.pem"]).await;
    assert_eq!(judged(&weir, Some(&nobody), Some("look")).await, [200, 403, 200]);
    pki.wrong.issue(&["localhost"]).write(pki.path(), "next");
    weir.signal("HUP").await;
    weir.child().wait_for_line(&["configuration reloaded", "admin.token_file,admin.tls"]).await;
    let of_wrong = |certificate| Secured { certificate, trusts: pki.wrong.pem().to_owned() };
    for (name, token, wanted) in [
        (None, Some("look"), [403, 403, 200]),
        (None, Some("other"), [200, 403, 200]),
        (None, Some("change"), [200, 200, 200]),
        (Some(WEB), None, [200, 403, 200]),
        (Some(READER), None, [403, 403, 200]),
    ] {
        let secured = of_wrong(name.map(|name| pki.wrong.issue(&[name])));
        assert_eq!(judged(&weir, Some(&secured), token).await, wanted, "{name:?} {token:?}");
    }
    let old = ask(&weir, Some(&pki.shows(READER)), None, ("GET", "/live"), "").await;
    assert!(old.is_err(), "{old:?}");
}

/// A poll for names of a type, by its path.
async fn poll(weir: &Weir, secured: Option<&Secured>, path: &str, names: &[&str]) -> Result<Answer, String> {
    let body = json!({ "node": { "id": "n" }, "resource_names": names }).to_string();
    let path = format!("/v3/discovery:{path}");
    send(weir.address(), secured, ("POST", &path), &[("content-type", "application/json")], &body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rest_over_tls_has_the_same_identities_and_rights_and_plaintext_its_own_port() {
    let (pki, control_plane) = (Pki::with_tokens(), FakeControlPlane::start().await);
    for name in ["shop-a", "bank-a"] {
        control_plane.set(Published::text(type_url("cds"), name, "1"));
    }
    let plaintext = free_port();
    let rules = "[[access]]\nidentities = [\"spiffe://prod.example/ns/shop/*\"]\nnames = [\"shop-*\"]\n\
                 [[access]]\nnames = [\"bank-*\"]\n";
    let builder = Weir::builder().upstream(&control_plane, "ads-delta", "streams").section(rules);
    let builder = builder.downstream(&format!("listen_plaintext = [\"127.0.0.1:{plaintext}\"]"));
    let weir = builder.section(&pki.tls("downstream.tls", "")).start().await;
    let web = pki.shows(WEB);
    let names = |answer: &Answer| {
        let body: Value = serde_json::from_str(&answer.body).expect("JSON");
        let resources = body["resources"].as_array().cloned().unwrap_or_default();
        resources
            .iter()
            .map(|resource| resource["name"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    let answer = poll(&weir, Some(&web), "clusters", &["shop-a", "bank-a"]).await.expect("an answer");
    assert_eq!((answer.status, names(&answer)), (200, vec!["bank-a".to_owned(), "shop-a".to_owned()]));
    let other = pki.shows("spiffe://prod.example/ns/bank/sa/web");
    let answer = poll(&weir, Some(&other), "clusters", &["shop-a", "bank-a"]).await.expect("an answer");
    assert_eq!((answer.status, names(&answer)), (200, vec!["bank-a".to_owned()]), "{}", answer.body);
    let wildcard = poll(&weir, Some(&web), "clusters", &[]).await.expect("an answer");
    assert_eq!(wildcard.status, 403, "{}", wildcard.body);
    let secret = poll(&weir, Some(&web), "secrets", &["shop-a"]).await.expect("an answer");
    assert_eq!(names(&secret), [""; 0], "no rule names secrets: {}", secret.body);

    for (what, secured) in [("without TLS", None), ("without a certificate", Some(pki.shows_nothing()))] {
        let refused = poll(&weir, secured.as_ref(), "clusters", &["bank-a"]).await;
        assert!(refused.is_err(), "{what}: {refused:?}");
    }
    // Who comes without TLS is nobody.
    let mut nobody = XdsClient::delta(([127, 0, 0, 1], plaintext).into(), &node("n")).await;
    nobody.subscribe(type_url("cds"), &["shop-a", "bank-a"]);
    let received = nobody.accept(type_url("cds")).await;
    assert_eq!((received.names(), received.error_codes().len()), (vec!["bank-a"], 1), "{received:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_admin_answer_shows_a_secret() {
    let (pki, control_plane) = (Pki::with_tokens(), FakeControlPlane::start().await);
    let key = json!({
        "@type": type_url("sds"), "name": "key",
        "tls_certificate": { "private_key": { "inline_string": SECRET } },
    });
    control_plane.set(weir_testkit::resources::published(&key));
    let upstream = format!(
        "[[upstream]]\nendpoints = [\"{}\"]\nheaders = {{ authorization = \"{SECRET}\" }}\n\
         token_over_plaintext = true\n",
        control_plane.uri()
    );
    let weir = Weir::builder().section(&upstream).admin(&pki.tokens()).start().await;
    let mut client = XdsClient::delta(weir.address(), &node("n")).await;
    client.subscribe(type_url("sds"), &["key"]);
    let received = client.accept(type_url("sds")).await;
    assert!(format!("{:?}", received.resource("key").any().value).len() > SECRET.len());
    let json = async |path: &str| -> Value {
        serde_json::from_str(&look(&weir, "look", path).await.body).expect("JSON")
    };
    let (description, clients) = (json("/openapi.json").await, json("/clients").await);
    let id = clients["items"][0]["id"].to_string();
    let mut asked = 0;
    for (path, methods) in description["paths"].as_object().expect("paths") {
        // What goes on for ever shows what the others do.
        if methods.get("get").is_none_or(|get| get.to_string().contains("text/event-stream")) {
            continue;
        }
        let path = path.replace("{type}", "sds").replace("{name}", "key").replace("{id}", &id);
        for query in ["", "?type=sds&name=key&client=0"] {
            let answer = look(&weir, "look", &format!("{path}{query}")).await;
            assert!(!answer.body.contains(SECRET), "{path}{query}: {}", answer.body);
            asked += u32::from(answer.status == 200);
        }
    }
    assert!(asked > 8, "most are answered: {asked}");
    let shown = look(&weir, "look", "/resources/sds/key").await;
    assert!(shown.status == 200 && shown.body.contains("private_key"), "redacted, and shown: {}", shown.body);
    assert!(!weir.child().output().contains(SECRET), "nor is it logged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_uses_tls_and_shows_certificates_and_tokens() {
    let (pki, control_plane) = (Pki::with_tokens(), FakeControlPlane::start().await);
    control_plane.set(Published::text(type_url("cds"), "a", "1"));
    let rights = format!("read = [\"{READER}\"]\n");
    let builder = Weir::builder().upstream(&control_plane, "ads-delta", "streams").admin(&pki.tokens());
    let builder = builder.section(&pki.tls("downstream.tls", ""));
    let weir = builder.section(&pki.tls("admin.tls", &rights)).start().await;
    for (name, file) in [(READER, "reader"), (WEB, "web")] {
        pki.right.issue(&[name]).write(pki.path(), file);
    }
    pki.right.issue_expired(&[WEB]).write(pki.path(), "expired");
    let server = format!("https://localhost:{}", weir.address().port());
    let admin = format!("https://localhost:{}", weir.admin_address().port());
    let (ca, wrong) = (pki.file("ca.pem"), pki.file("wrong.pem"));
    let pair = |name: &str| [pki.file(&format!("{name}.pem")), pki.file(&format!("{name}.key"))];
    let (web, reader, expired) = (pair("web"), pair("reader"), pair("expired"));
    let (look, change, none) = (pki.file("look"), pki.file("change"), pki.file("none"));
    let by_address = format!("https://{}", weir.admin_address());
    let elsewhere = ["status", "--admin", &by_address, "--token-file", &look, "--tls-ca", &ca];
    let get = ["get", "cds", "a", "--server", &server, "--timeout", "60s", "--tls-ca"];
    let status = ["status", "--admin", &admin, "--tls-ca"];
    let level = ["log-level", "debug", "--admin", &admin, "--tls-ca", &ca, "--token-file"];
    let expect = |ran: Ran, wanted: Result<&str, &str>| match wanted {
        Ok(output) => assert!(ran.code == 0 && ran.stdout.contains(output), "{ran:?}, not {output}"),
        Err(reason) => assert!(ran.code == 2 && ran.stderr.contains(reason), "{ran:?}, not {reason}"),
    };
    for (command, more, wanted) in [
        (&get[..], &[&*ca, "--tls-cert", &web[0], "--tls-key", &web[1]][..], Ok("a ")),
        (&get, &[&ca], Err("demands a certificate, give one by --tls-cert")),
        (
            &get,
            &[&wrong, "--tls-cert", &web[0], "--tls-key", &web[1]],
            Err("of no authority that is trusted here"),
        ),
        (&get, &[&ca, "--tls-cert", &expired[0], "--tls-key", &expired[1]], Err("--tls-cert: ")),
        (&get, &[&none], Err("--tls-ca: ")),
        (&status, &[&ca, "--tls-cert", &reader[0], "--tls-key", &reader[1]], Ok("ready")),
        (&status, &[&ca, "--token-file", &look], Ok("ready")),
        (&elsewhere, &[], Err("not valid for name")),
        (&elsewhere, &["--tls-server-name", "localhost"], Ok("ready")),
        (&status, &[&ca], Err("give it by --token-file")),
        (&status, &[&wrong, "--token-file", &look], Err("of no authority that is trusted here")),
        (&status, &[&ca, "--token-file", &none], Err("--token-file: ")),
        (&level, &[&change], Ok("debug")),
        (&level, &[&look], Err("not good to change anything")),
    ] {
        expect(weir.run(&[command, more].concat()).await, wanted);
    }
}

/// A connection from `address` that sends nothing.
async fn silent(weir: &Weir, address: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("make a socket");
    let address = address.parse().expect("an address");
    socket.bind(SocketAddr::new(address, 0)).expect("bind to an address of the loopback interface");
    socket.connect(weir.address()).await.expect("connect")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshakes_that_do_not_end_make_room_for_newcomers() {
    let pki = Pki::new();
    let tls = pki.tls("downstream.tls", "handshake_timeout = \"10m\"\n");
    let weir = weir().section(&tls).section("[limits]\nmax_handshakes = 4\n").start().await;
    let mut other = silent(&weir, "127.0.0.3").await;
    let mut many = Vec::new();
    for _ in 0..4 {
        many.push(silent(&weir, "127.0.0.2").await);
    }
    assert_eq!(many[0].read(&mut [0]).await.expect("closed in order"), 0, "the oldest, at the limit");
    let newcomer = Connection::secured(weir.address(), &pki.shows(WEB)).await;
    assert!(newcomer.is_ok(), "a newcomer gets in: {:?}", newcomer.err());
    assert_eq!(many[1].read(&mut [0]).await.expect("closed in order"), 0, "the next oldest");
    let metrics = weir.admin("/metrics").await.body;
    assert!(
        metrics.contains("weir_downstream_admission_rejections_total{reason=\"handshakes\"} 2"),
        "{metrics}"
    );
    for open in many.iter_mut().skip(2).chain([&mut other]) {
        let closed = open.try_read(&mut [0]);
        assert!(closed.as_ref().is_err_and(|error| error.kind() == WouldBlock), "{closed:?}");
    }
}
