//! A variant: one content of a name, with the constraints that state for whom it is.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use crate::{Constraints, Form, Lease, Name};

/// The identity of a variant (TP2: "these constraints are considered part of the unique identifier").
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariantKey {
    /// The resource's name.
    pub name: Name,
    /// Which dynamic parameters the variant is for.
    pub constraints: Constraints,
}

impl VariantKey {
    /// The variant of `name` for whoever matches `constraints`.
    pub fn new(name: impl Into<Name>, constraints: Constraints) -> Self {
        Self { name: name.into(), constraints }
    }
}

impl fmt::Debug for VariantKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.name, self.constraints)
    }
}

/// A hash of what is sent, equal on every replica and after every restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Version(pub u64);

impl Version {
    /// The version that a client states to have of a whole type, if any. One that Weir cannot have given is
    /// different from all, but states that the client has something.
    pub fn stated(text: &str) -> Option<Self> {
        let foreign = || Self(xxh3_64_with_seed(text.as_bytes(), 0));
        (!text.is_empty()).then(|| Self::parse(text).unwrap_or_else(foreign))
    }

    /// The version that reads as `text`, if Weir could have given it.
    pub fn parse(text: &str) -> Option<Self> {
        let version = Self(u64::from_str_radix(text, 16).ok()?);
        (text.len() == 16).then_some(version)
    }

    /// The version of all of `variants` together, in whatever order.
    pub fn of_all<'a>(variants: impl Iterator<Item = (&'a Variant, Form)>) -> Self {
        Self(variants.map(|(variant, form)| variant.summand(form)).fold(0, u64::wrapping_add))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The content of a variant, as upstream sent it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The encoded `google.protobuf.Any`, byte for byte; none in a heartbeat, and in the answer that a resource
    /// does not exist ([`Variant::missing`]).
    pub body: Option<Bytes>,
    /// Other names that the resource answers to.
    pub aliases: Arc<[Name]>,
    /// How long the resource lives without being refreshed.
    pub ttl: Option<Duration>,
    /// Encoded fields of the `Resource` message that are passed on as they are, byte for byte.
    pub extra: Bytes,
    /// Whether it is only for those who are subscribed when it comes (`cache_control.do_not_cache`; sent to
    /// clients by `extra`): never to be stored, nor to be served to anyone later.
    pub do_not_cache: bool,
    /// The version that upstream gave it: for upstream and for operators, not for clients.
    pub upstream_version: Arc<str>,
    /// For a Cluster with EDS: the name of the ClusterLoadAssignment that it waits for.
    pub eds_name: Option<Name>,
    /// For a ClusterLoadAssignment: whether it has endpoints.
    pub has_endpoints: Option<bool>,
}

impl Content {
    /// The hash of everything that a client gets to see of this content. Of a time to live, only whether there
    /// is one: what is left of it changes by itself, and a heartbeat that changes it is not an update.
    fn version(&self) -> Version {
        let mut hash = Xxh3::new();
        let mut part = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(&[u8::from(self.body.is_some())]);
        part(self.body.as_deref().unwrap_or_default());
        part(&[if self.ttl.is_some() { 0 } else { 0xff }; 16]);
        part(&self.extra);
        for alias in &*self.aliases {
            part(alias.as_bytes());
        }
        Version(hash.digest())
    }
}

/// One content of a name, with the constraints that state for whom it is.
#[derive(Clone, Debug)]
pub struct Variant {
    key: VariantKey,
    content: Content,
    /// Of the content alone, then of the content with its constraints.
    versions: [Version; 2],
    lease: Option<Lease>,
}

impl Variant {
    /// The variant `key` with `content`.
    pub fn new(key: VariantKey, content: Content) -> Self {
        let plain = content.version();
        let located = if key.constraints.is_unconstrained() {
            plain
        } else {
            Version(xxh3_64_with_seed(&key.constraints.stable_hash().to_le_bytes(), plain.0))
        };
        Self { key, content, versions: [plain, located], lease: None }
    }

    /// The resource without a body that answers a VHDS subscription to `name`, which does not exist: Envoy's request
    /// waits until a response names the alias that it subscribed to.
    pub fn missing(name: &Name) -> Self {
        let content = Content { aliases: Arc::from([name.clone()]), ..Content::default() };
        Self::new(VariantKey::new(name.clone(), Constraints::unconstrained()), content)
    }

    /// The same, received at `at`: its time to live counts from then, if it has one.
    #[must_use]
    pub fn leased(mut self, at: Instant) -> Self {
        self.lease = self.content.ttl.and_then(|ttl| Lease::new(at, ttl));
        self
    }

    /// The same, with so much left of its time to live.
    #[must_use]
    pub fn with_lease(self, lease: Lease) -> Self {
        Self { lease: Some(lease), ..self }
    }

    /// The same after a heartbeat at `at`: it lives for `ttl` from then.
    #[must_use]
    pub fn refreshed(&self, at: Instant, ttl: Duration) -> Self {
        let mut refreshed = self.clone();
        refreshed.content.ttl = Some(ttl);
        if self.content.ttl.is_none() {
            refreshed = Self::new(refreshed.key, refreshed.content);
        }
        refreshed.leased(at)
    }

    /// For how long it lives; none if it does so until further notice.
    pub fn lease(&self) -> Option<Lease> {
        self.lease
    }

    /// What is left at `now` of its time to live, if it has one: all of it while it does not count.
    pub fn remaining(&self, now: Instant) -> Option<Duration> {
        let ttl = self.content.ttl?;
        Some(self.lease.map_or(ttl, |lease| lease.remaining(now).min(ttl)))
    }

    /// Which variant this is.
    pub fn key(&self) -> &VariantKey {
        &self.key
    }

    /// The resource's name.
    pub fn name(&self) -> &Name {
        &self.key.name
    }

    /// What it holds.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Holds the bytes of `other` instead of its own if a client would see no difference between them, and
    /// states whether it does.
    pub fn share_bytes(&mut self, other: &Self) -> bool {
        let theirs = &other.content;
        let own = &mut self.content;
        // Versions are hashes: they find an equal content, and the bytes confirm it.
        let shares = self.versions[0] == other.versions[0]
            && (&own.body, &own.extra, &own.aliases) == (&theirs.body, &theirs.extra, &theirs.aliases);
        if shares {
            own.body.clone_from(&theirs.body);
            own.extra.clone_from(&theirs.extra);
            own.aliases.clone_from(&theirs.aliases);
        }
        shares
    }

    /// The version that a client which asked in `form` is sent.
    pub fn version(&self, form: Form) -> Version {
        match form {
            Form::Plain => self.versions[0],
            Form::Located => self.versions[1],
        }
    }

    /// What it adds to the version of a set, for a client that asked in `form`.
    pub fn summand(&self, form: Form) -> u64 {
        xxh3_64_with_seed(self.key.name.as_bytes(), self.version(form).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::Expr;

    fn variant(content: Content) -> Variant {
        Variant::new(VariantKey::new("x", Constraints::unconstrained()), content)
    }

    #[test]
    fn i07_the_version_is_a_hash_of_what_is_sent() {
        let base = Content { body: Some(Bytes::from_static(b"body")), ..Content::default() };
        let version = |content: Content| variant(content).version(Form::Plain);
        let same = Content { upstream_version: "42".into(), ..base.clone() };
        assert_eq!(version(base.clone()), version(same), "the upstream's own version is not part of it");
        for different in [
            Content { body: None, ..base.clone() },
            Content { body: Some(Bytes::from_static(b"other")), ..base.clone() },
            Content { ttl: Some(Duration::from_secs(1)), ..base.clone() },
            Content { extra: Bytes::from_static(b"x"), ..base.clone() },
            Content { aliases: Arc::from(["alias".into()]), ..base.clone() },
        ] {
            assert_ne!(version(base.clone()), version(different));
        }
        assert_eq!(version(base).to_string(), "bc07a2a1db5c7c10", "stable over releases");
    }

    #[test]
    fn s07_the_version_of_a_set_is_stable_over_releases() {
        let named = |name: &str, constraints| {
            let aliases = ["alias".into(), "xdstp://auth/T/alias?a=1&b=2".into()];
            let body = Some(Bytes::from_static(b"body"));
            let content = Content { body, aliases: Arc::from(aliases), ..Content::default() };
            Variant::new(VariantKey::new(name, constraints), content)
        };
        let prod = Constraints::new(Expr::value("env", "prod"));
        let set = [
            named("backend", Constraints::unconstrained()),
            named("xdstp://auth/T/a?a=1&b=2", Constraints::unconstrained()),
            named("xdstp://auth/T/*", prod),
        ];
        let of_all = |form| Version::of_all(set.iter().map(|variant| (variant, form))).to_string();
        assert_eq!(of_all(Form::Plain), "4d2c3a56bb8e4ec7");
        assert_eq!(of_all(Form::Located), "f70684aaf1743a1f");
        assert_eq!(set[0].version(Form::Plain).to_string(), "98e3ccbc085f399f");
        assert_eq!(set[2].version(Form::Located).to_string(), "8cd85ad4c8b28188");
    }

    #[test]
    fn equal_contents_share_bytes_and_nothing_else() {
        let content = |body: &str, upstream_version: &str| Content {
            body: Some(Bytes::copy_from_slice(body.as_bytes())),
            upstream_version: upstream_version.into(),
            ..Content::default()
        };
        let place = |variant: &Variant| variant.content().body.as_ref().map(|body| body.as_ptr());
        let held = variant(content("body", "1"));
        let prod = VariantKey::new("x", Constraints::new(Expr::value("env", "prod")));
        let mut equal = Variant::new(prod, content("body", "2"));
        assert!(equal.share_bytes(&held) && place(&equal) == place(&held));
        assert_eq!(&*equal.content().upstream_version, "2");
        assert_ne!(equal.version(Form::Located), held.version(Form::Located));
        let mut other = variant(content("other", "1"));
        assert!(!other.share_bytes(&held) && place(&other) != place(&held));
    }

    #[test]
    fn t02_the_version_says_whether_there_is_a_time_to_live_not_how_long_it_is() {
        let base = Content { body: Some(Bytes::from_static(b"body")), ..Content::default() };
        let of = |ttl| variant(Content { ttl, ..base.clone() }).version(Form::Plain);
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(2));
        assert_eq!(of(Some(short)), of(Some(long)));
        assert_ne!(of(Some(short)), of(None));
        let received = Instant::now();
        for before in [Some(short), None] {
            let leased = variant(Content { ttl: before, ..base.clone() }).leased(received);
            let refreshed = leased.refreshed(received + short, long);
            assert_eq!(refreshed.version(Form::Plain), of(Some(long)));
            assert_eq!(refreshed.lease().map(|lease| lease.until()), Some(received + short + long));
        }
        assert_eq!(variant(base).leased(received).lease(), None);
    }

    #[test]
    fn t03_what_is_left_is_said_and_never_more_than_there_was() {
        let half = Duration::from_millis(500);
        let ttl = |ttl| Content { ttl: Some(ttl), ..Content::default() };
        let received = Instant::now();
        let long = variant(ttl(Duration::from_secs(60))).leased(received);
        assert_eq!(long.remaining(received + Duration::from_millis(10_001)), Some(Duration::from_secs(50)));
        assert_eq!(variant(ttl(half)).leased(received).remaining(received), Some(half));
        let still = variant(ttl(half));
        assert_eq!(still.remaining(received + Duration::from_secs(9)), Some(half), "it does not count");
        assert_eq!(variant(Content::default()).leased(received).remaining(received), None);
    }

    #[test]
    fn a_foreign_version_shows_that_there_is_something() {
        assert_eq!(Version::stated(""), None);
        assert_eq!(Version::stated(&Version(7).to_string()), Some(Version(7)));
        assert!(Version::stated("7").is_some_and(|version| version != Version(7)));
    }

    #[test]
    fn i07_constraints_count_where_they_are_sent() {
        let content = Content { body: Some(Bytes::from_static(b"body")), ..Content::default() };
        let prod = Constraints::new(Expr::value("env", "prod"));
        let constrained = Variant::new(VariantKey::new("x", prod), content.clone());
        let free = variant(content);
        assert_eq!(constrained.version(Form::Plain), free.version(Form::Plain));
        assert_ne!(constrained.version(Form::Located), free.version(Form::Located));
        assert_eq!(free.version(Form::Located), free.version(Form::Plain));
    }
}
