//! Short forms of what upstream sends, and what is known of it afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use tempfile::TempDir;
use weir_store::{Key, Origin, Store};
use weir_types::constraints::Expr;
use weir_types::{
    Absence, Batch, Constraints, Content, DynamicParameters, Name, Provenance, ResourceLocator, TypeUrl,
    Variant, VariantKey,
};

pub(crate) fn cds() -> TypeUrl {
    TypeUrl::from_short_name("cds").expect("a type")
}

pub(crate) fn sds() -> TypeUrl {
    TypeUrl::from_short_name("sds").expect("a type")
}

/// An upstream that is asked by locators.
pub(crate) fn native() -> Arc<Origin> {
    Arc::new(Origin { authority: String::new(), keys: None, parameters: DynamicParameters::empty() })
}

/// A file that outlives the stores that are opened at it.
pub(crate) struct Place {
    directory: TempDir,
    pub(crate) settings: weir_config::Store,
    pub(crate) key: Option<Key>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = weir_config::Store::at(directory.path().join("store"));
        Self { directory, settings, key: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.settings.path
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(self.settings.clone(), self.key.clone()).expect("there is a thread")
    }

    /// Lets a process write and end, in good order.
    pub(crate) fn after(&self, live: impl FnOnce(&Store)) -> Store {
        let store = self.open();
        live(&store);
        drop(store);
        self.open()
    }

    /// What was set aside.
    pub(crate) fn aside(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.directory.path()).expect("the directory is there");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.to_string_lossy().contains(".broken-")).collect()
    }

    /// Everything in the file and beside it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let entries = std::fs::read_dir(self.directory.path()).expect("the directory is there");
        entries.flat_map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a file")).collect()
    }
}

pub(crate) fn env(env: &str) -> DynamicParameters {
    [("env", env)].into_iter().collect()
}

pub(crate) fn locator(name: &str) -> ResourceLocator {
    ResourceLocator::new(name, DynamicParameters::empty())
}

pub(crate) fn located(name: &str, parameters: DynamicParameters) -> ResourceLocator {
    ResourceLocator::new(name, parameters)
}

pub(crate) fn content(type_url: &TypeUrl, text: &str) -> Content {
    let any = prost_types::Any { type_url: type_url.as_str().to_owned(), value: text.into() };
    Content { body: Some(any.encode_to_vec().into()), upstream_version: "1".into(), ..Content::default() }
}

pub(crate) fn variant(type_url: &TypeUrl, name: &str, text: &str) -> Variant {
    Variant::new(VariantKey::new(name, Constraints::unconstrained()), content(type_url, text))
}

pub(crate) fn for_env(name: &str, of: &str, text: &str) -> Variant {
    Variant::new(VariantKey::new(name, Constraints::new(Expr::value("env", of))), content(&cds(), text))
}

pub(crate) fn with(variant: Variant, change: impl FnOnce(&mut Content)) -> Variant {
    let mut content = variant.content().clone();
    change(&mut content);
    Variant::new(variant.key().clone(), content)
}

pub(crate) fn mortal(variant: Variant, ttl: Duration) -> Variant {
    with(variant, |content| content.ttl = Some(ttl))
}

pub(crate) fn aliased(variant: Variant, aliases: &[&str]) -> Variant {
    with(variant, |content| content.aliases = aliases.iter().map(|alias| Name::from(*alias)).collect())
}

pub(crate) fn batch(provenance: Provenance, change: impl FnOnce(&mut Batch)) -> Batch {
    batch_of(&cds(), provenance, change)
}

pub(crate) fn batch_of(type_url: &TypeUrl, provenance: Provenance, change: impl FnOnce(&mut Batch)) -> Batch {
    let mut batch = Batch::new(type_url.clone(), provenance);
    change(&mut batch);
    batch
}

/// What is known: the texts of the variants by their names, and what else is known of which locator.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) texts: BTreeMap<String, String>,
    pub(crate) known: Vec<(ResourceLocator, Absence)>,
}

pub(crate) fn look_up(store: &Store, locators: impl IntoIterator<Item = ResourceLocator>) -> Known {
    look_up_of(store, &native(), &cds(), locators)
}

pub(crate) fn look_up_of(
    store: &Store,
    origin: &Arc<Origin>,
    type_url: &TypeUrl,
    locators: impl IntoIterator<Item = ResourceLocator>,
) -> Known {
    let locators = locators.into_iter().map(|locator| (type_url.clone(), locator)).collect();
    let mut known = Known::default();
    for past in store.look_up(origin, locators) {
        assert_eq!(past.type_url, *type_url);
        known
            .texts
            .extend(past.variants.iter().map(|variant| (format!("{:?}", variant.key()), text(variant))));
        known.known.extend(past.known);
    }
    known.known.sort();
    known
}

pub(crate) fn text(variant: &Variant) -> String {
    let body = variant.content().body.as_deref().expect("a body");
    let any = prost_types::Any::decode(body).expect("an Any");
    String::from_utf8(any.value).expect("a text")
}

pub(crate) fn texts<const N: usize>(texts: [(&str, &str); N]) -> BTreeMap<String, String> {
    texts.into_iter().map(|(name, text)| (format!("{name}[anyone]"), text.to_owned())).collect()
}
