//! How it looks: that every text can be read, that nothing is cut off, and pictures of it, in `target/pictures`.

use std::path::Path;

use serde_json::Value;

use crate::{Page, one_in_each_state};

/// The texts that are seen, and have less contrast to what is behind them than WCAG asks for (AA).
pub(crate) const HARD_TO_READ: &str = r"
    const channels = (colour) => (/rgba?\(([^)]*)\)/.exec(colour) ?? ['', '0 0 0'])[1].split(/[ ,/]+/).map(Number);
    const luminance = (colour) => channels(colour).slice(0, 3)
        .map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    const opaque = (colour) => (channels(colour)[3] ?? 1) === 1;
    const ground = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (opaque(colour)) return colour;
        }
        return 'rgb(255 255 255)';
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    let looked = 0;
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (walker.currentNode.data.trim() === '' || element.closest('.hidden-text, title, noscript, .skip')) continue;
        if (!element.checkVisibility()) continue;
        const style = getComputedStyle(element);
        const ink = element instanceof SVGElement ? style.fill : style.color;
        const [a, b] = [luminance(ink), luminance(ground(element))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        looked += 1;
        if (contrast < 4.5) found.push(`${walker.currentNode.data.trim()}: ${contrast.toFixed(2)}`);
    }
    return { looked, found };
";

impl Page {
    /// Keeps a picture of what is seen, to be looked at.
    pub(crate) async fn take_picture(&self, name: &str) {
        let picture = self.0.picture().await;
        assert!(picture.starts_with(b"\x89PNG"), "{name} is no picture");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/pictures");
        std::fs::create_dir_all(&folder).expect("make a directory");
        std::fs::write(folder.join(format!("{name}.png")), picture).expect("write a picture");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_of_it_can_be_read_in_dark_and_light_and_on_a_phone() {
    let (bed, _clients) = one_in_each_state().await;
    let Some(page) = Page::open(bed.weir.admin_address()).await else { return };
    page.sends("1", "1", "1").await;
    page.toggle("1 Control planes").await;
    page.toggle("2 clusters").await;
    page.toggle("3 everything").await;
    page.toggle("3 backend").await;
    page.has_row("4 web-3", "behind").await;
    for (name, address, words) in [
        ("all", "", "Latest rejections"),
        ("client", "client/2", "What it rejected"),
        ("resource", "resource/cds/backend?param=env%3Dprod", "And why not another"),
    ] {
        page.0.run(&format!("location.hash = '#/{address}'")).await;
        page.assert_shows("#panel", words).await;
        for (screen, width, height, dark) in [
            ("light", 1280, 800, false),
            ("dark", 1280, 800, true),
            ("phone-light", 390, 844, false),
            ("phone-dark", 390, 844, true),
        ] {
            page.0.screen(width, height, dark).await;
            let read = page.0.run(HARD_TO_READ).await;
            assert!(read["looked"].as_u64().is_some_and(|texts| texts > 40), "{read}");
            assert_eq!(read["found"], Value::Array(Vec::new()), "{name} in {screen}");
            let wide = page.0.run("return document.documentElement.scrollWidth - innerWidth").await;
            assert!(wide.as_i64().is_some_and(|pixels| pixels <= 0), "{name} in {screen}: {wide} too wide");
            page.take_picture(&format!("{name}-{screen}")).await;
        }
    }
    page.expect_no_complaints().await;
}
