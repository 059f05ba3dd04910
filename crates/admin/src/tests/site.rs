//! The files of the page: that all are served and found, and that they are safe and can be read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};

use super::fake::Fake;
use super::{get, request};
use crate::site::FILES;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("page")
}

fn in_folder(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { in_folder(&path, found) } else { found.push(path) }
    }
}

#[tokio::test]
async fn every_file_is_served_and_nothing_else_is() {
    let mut there = Vec::new();
    in_folder(&folder(), &mut there);
    let path = |file: &PathBuf| match file.strip_prefix(folder()).unwrap().to_str().unwrap() {
        "index.html" => "/".to_owned(),
        name => format!("/page/{name}"),
    };
    let there: BTreeSet<String> = there.iter().map(path).collect();
    let served: BTreeSet<String> = FILES.iter().map(|file| file.path.to_owned()).collect();
    assert_eq!(there, served);
    let fake = Fake::new(0);
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/page/main.js", "text/javascript; charset=utf-8"),
        ("/page/panels/client.js", "text/javascript; charset=utf-8"),
        ("/page/theme.css", "text/css; charset=utf-8"),
        ("/page/icon.svg", "image/svg+xml"),
    ] {
        let answer = get(&fake, path).await;
        assert_eq!((answer.status, &*answer.content_type), (200, kind), "{path}");
        assert_eq!(answer.body, FILES.iter().find(|file| file.path == path).unwrap().text);
    }
    for path in ["/page", "/page/", "/page/index.html", "/page/../src/lib.rs", "/page/panels"] {
        assert_eq!(get(&fake, path).await.status, 404, "{path}");
    }
    assert_eq!(request(&Arc::clone(&fake), "POST", "/", "").await.status, 405);
}

#[test]
fn a_file_that_is_there_already_is_not_sent_again() {
    let [index, other, ..] = FILES else { panic!("there are files") };
    let headers = HeaderMap::new();
    let answer = index.answer(&headers);
    assert_eq!(answer.status(), 200);
    let policy = answer.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    let tag = answer.headers()[header::ETAG].clone();
    assert_ne!(other.answer(&headers).headers()[header::ETAG], tag);
    let weak = format!("\"x\", W/{}", tag.to_str().unwrap());
    for (held, status) in [(tag.to_str().unwrap(), 304), (&*weak, 304), ("*", 304), ("\"x\"", 200)] {
        let headers = HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_str(held).unwrap())]);
        assert_eq!(index.answer(&headers).status(), status, "{held}");
    }
}

/// What stands between `before` and the next quotation mark.
fn quoted<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split('"').next())
}

#[test]
fn whatever_a_file_loads_is_there() {
    let mut loaded = BTreeSet::from(["/".to_owned(), "/page/main.js".to_owned()]);
    for file in FILES {
        let (folder, _) = file.path.rsplit_once('/').unwrap();
        for name in quoted(file.text, "from \"") {
            let path = match name.strip_prefix("../") {
                Some(above) => format!("{}/{above}", folder.rsplit_once('/').unwrap().0),
                None => format!("{folder}/{}", name.strip_prefix("./").expect(name)),
            };
            loaded.insert(path);
        }
        if file.path == "/" {
            loaded.extend(quoted(file.text, "href=\"page/").map(|name| format!("/page/{name}")));
        }
    }
    let there: BTreeSet<String> = FILES.iter().map(|file| file.path.to_owned()).collect();
    assert_eq!(loaded, there);
}

#[test]
fn no_file_comes_from_elsewhere_or_makes_markup_of_text() {
    for file in FILES {
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "style=\"",
            "<style",
            "@import",
            "url(",
        ] {
            assert!(!file.text.contains(forbidden), "{} has {forbidden}", file.path);
        }
        for address in quoted(file.text, "\"http") {
            assert!(address.ends_with("://www.w3.org/2000/svg"), "{} knows http{address}", file.path);
        }
    }
}

/// The colours of a block of CSS: `--name: #rrggbb;`.
fn colours(css: &str) -> Vec<(&str, [f64; 3])> {
    css.lines()
        .filter_map(|line| {
            let (name, value) = line.trim().strip_prefix("--")?.split_once(": #")?;
            let value = u32::from_str_radix(value.trim_end_matches(';'), 16).ok()?;
            let part = |shift: u32| f64::from((value >> shift) & 0xff) / 255.0;
            Some((name, [part(16), part(8), part(0)]))
        })
        .collect()
}

/// As WCAG 2.2 has it.
fn luminance(colour: [f64; 3]) -> f64 {
    let linear = |part: f64| if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
    let [red, green, blue] = colour.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn everything_can_be_read_in_light_and_in_dark() {
    let theme = FILES.iter().find(|file| file.path == "/page/theme.css").unwrap().text;
    let (light, rest) = theme.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let (dark, _) = rest.split_once("* {").unwrap();
    let (light, dark) = (colours(light), colours(dark));
    let names =
        |colours: &[(&str, _)]| colours.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&light), names(&dark), "every colour is there in both");
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
    for (scheme, colours) in [("light", light), ("dark", dark)] {
        let of = |name: &str| colours.iter().find(|(other, _)| *other == name).expect(name).1;
        for text in ["ink", "dim", "accent", "in-sync", "behind", "rejecting"] {
            for ground in ["ground", "panel", "raised", "chosen", "notice"] {
                let ratio = contrast(of(text), of(ground));
                assert!(ratio >= 4.5, "{scheme}: {text} on {ground} has a contrast of {ratio:.2}");
            }
        }
        assert!(contrast(of("on-alarm"), of("alarm")) >= 4.5);
    }
}
