//! A headless Chromium, driven as a person would: with keys, and by looking. It uses WebDriver to ChromeDriver.

use std::net::SocketAddr;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::{Child, free_port, http};
use crate::wait::{PATIENCE, until, until_within};

/// What has to be installed: of Debian the packages `chromium` and `chromium-driver`.
const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];

/// Chromium needs no network but the loopback here, and there may be no sandbox in a container.
const ARGUMENTS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// A key that is not a character, as WebDriver writes it.
pub mod key {
    /// Tabulator.
    pub const TAB: &str = "\u{e004}";
    /// Enter.
    pub const ENTER: &str = "\u{e007}";
    /// Escape.
    pub const ESCAPE: &str = "\u{e00c}";
    /// To the end.
    pub const END: &str = "\u{e010}";
    /// To the left.
    pub const LEFT: &str = "\u{e012}";
    /// To the right.
    pub const RIGHT: &str = "\u{e014}";
    /// Down.
    pub const DOWN: &str = "\u{e015}";
}

/// A browser with one page. Ends with its value.
pub struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: TempDir,
}

/// Why there can be no browser here, if so.
pub fn no_browser() -> Option<String> {
    let missing: Vec<_> = PROGRAMS.into_iter().filter(|program| found(program).is_none()).collect();
    (!missing.is_empty()).then(|| format!("{} is not installed", missing.join(" and ")))
}

pub(super) fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

impl Browser {
    /// Starts one, with a profile of its own, and shows `url`.
    pub async fn open(url: &str) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let profile = TempDir::with_prefix("weir-browser-").expect("a temporary directory");
        let mut command = Command::new("chromedriver");
        // A group of its own, so that nothing of the browser outlives its value.
        command.arg(format!("--port={}", address.port())).process_group(0);
        let driver = Child::start("chromedriver", &mut command);
        until("ChromeDriver to be ready", || async {
            // It listens to nobody who thinks that it is somebody else.
            let host = address.to_string();
            let answer = http::get_with(address, "/status", &[("host", &host)]).await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
        let directory = format!("--user-data-dir={}", profile.path().display());
        let arguments: Vec<_> = ARGUMENTS.into_iter().chain([&*directory]).collect();
        let mut browser = Self { driver, address, session: String::new(), _profile: profile };
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        }}});
        let session = browser.call("/session", &capabilities).await;
        browser.session = format!("/session/{}", session["sessionId"].as_str().expect("a session has an id"));
        browser.go(url).await;
        browser
    }

    /// Shows another page, or the same anew.
    pub async fn go(&self, url: &str) {
        self.call(&format!("{}/url", self.session), &json!({ "url": url })).await;
    }

    /// Presses keys, one after the other: characters, or of [`key`].
    pub async fn press(&self, keys: &[&str]) {
        let actions: Vec<_> = keys
            .iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        let body = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] });
        self.call(&format!("{}/actions", self.session), &body).await;
    }

    /// Types a text.
    pub async fn write(&self, text: &str) {
        let characters: Vec<String> = text.chars().map(String::from).collect();
        self.press(&characters.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }

    /// What a piece of JavaScript returns, run in the page.
    pub async fn run(&self, script: &str) -> Value {
        self.call(&format!("{}/execute/sync", self.session), &json!({ "script": script, "args": [] })).await
    }

    /// Waits until a piece of JavaScript returns something else than null or false, and gives that. Panics with what
    /// the page shows.
    pub async fn until(&self, what: &str, script: &str) -> Value {
        let look = || async {
            let value = self.run(script).await;
            (!value.is_null() && value != false).then_some(value)
        };
        let shown = || async { self.run("return document.body.innerText").await };
        match tokio::time::timeout(PATIENCE, until_within(2 * PATIENCE, what, look)).await {
            Ok(value) => value,
            Err(_) => panic!("waited in vain for {what}; the page shows\n{}", shown().await),
        }
    }

    /// Makes the page so large, in pixels, and prefer dark or light.
    pub async fn screen(&self, width: u32, height: u32, dark: bool) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size).await;
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", &features).await;
    }

    async fn devtools(&self, command: &str, parameters: &Value) {
        let body = json!({ "cmd": command, "params": parameters });
        self.call(&format!("{}/goog/cdp/execute", self.session), &body).await;
    }

    /// A picture of what is seen, as PNG.
    pub async fn picture(&self) -> Vec<u8> {
        let path = format!("{}/screenshot", self.session);
        let value = self.send("GET", &path, "").await;
        STANDARD.decode(value.as_str().expect("a text")).expect("it is in base64")
    }

    /// What the browser has complained of since it was asked last: errors of scripts, what the policy forbids, requests
    /// that failed.
    pub async fn complaints(&self) -> Vec<String> {
        let entries = self.call(&format!("{}/se/log", self.session), &json!({ "type": "browser" })).await;
        let entries = entries.as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| format!("{}: {}", entry["level"], entry["message"])).collect()
    }

    async fn call(&self, path: &str, body: &Value) -> Value {
        self.send("POST", path, &body.to_string()).await
    }

    async fn send(&self, method: &str, path: &str, body: &str) -> Value {
        let host = self.address.to_string();
        let headers = [("host", &*host), ("content-type", "application/json")];
        let answer = http::request(self.address, method, path, &headers, body).await;
        let answer = answer.unwrap_or_else(|e| panic!("ask ChromeDriver for {path}: {e}"));
        let value: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        assert_eq!(answer.status, 200, "{method} {path}: {}", value["value"]["message"]);
        value["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.driver.kill_group();
    }
}
