//! Bytes as a sequence of choices. What is not there any more is zero.

use weir_testkit::constraints::{all, not, value};
use weir_testkit::resource::{Published, type_url};
use weir_wire::discovery::{DynamicParameterConstraints, ResourceError, Status};

/// The types in play.
pub(crate) const TYPES: [&str; 5] = ["cds", "eds", "lds", "rds", "acme"];

/// The names in play: some that differ only in their spelling, and collections.
pub(crate) const NAMES: [&str; 9] = [
    "a",
    "b",
    "c",
    "d",
    "*",
    "xdstp://x/acme.Widget/d/1?k=v&l=w",
    "xdstp://x/acme.Widget/d/1?l=w&k=v",
    "xdstp://x/acme.Widget/d/*",
    "xdstp://x/acme.Widget/d/2",
];

/// More happenings than are needed to get anywhere.
pub(crate) const LONGEST: usize = 200;

/// What is left of an input.
pub(crate) struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    /// So many bytes as the value of the next one.
    pub(crate) fn block(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (block, rest) = self.0.split_at(length);
        self.0 = rest;
        block
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }

    /// One of the types in play.
    pub(crate) fn type_url(&mut self) -> &'static str {
        type_url(self.pick(&TYPES))
    }

    /// The names that a mask of bits stands for.
    pub(crate) fn names(&mut self) -> Vec<String> {
        let mask = self.byte();
        let picked = NAMES.iter().enumerate().filter(|(bit, _)| mask >> (bit % 8) & 1 == 1);
        picked.map(|(_, name)| (*name).to_owned()).collect()
    }

    /// For whom a variant is.
    pub(crate) fn constraints(&mut self) -> Option<DynamicParameterConstraints> {
        let (prod, v1) = (|| value("env", "prod"), || value("version", "v1"));
        match self.byte() % 8 {
            0..3 => None,
            3 => Some(prod()),
            4 => Some(not(prod())),
            5 => Some(all([prod(), v1()])),
            6 => Some(all([])),
            _ => Some(DynamicParameterConstraints::default()),
        }
    }

    /// A resource of a type, of any kind.
    pub(crate) fn published(&mut self, of: &str) -> Published {
        let name = self.pick(&NAMES);
        let text = self.byte() % 4;
        let constraints = self.constraints();
        let mut published = Published::text(of, name, &text.to_string()).constrained(constraints);
        match self.byte() % 16 {
            0 => published = published.without_body(),
            1 => published = published.alias(self.pick(&NAMES)),
            2 => published = published.alias("d").without_body(),
            3 => published = published.ttl(std::time::Duration::from_secs(self.byte().into())),
            4 => published = published.ttl(std::time::Duration::from_secs(9)).without_body(),
            5 => published = published.do_not_cache(),
            6 => published = published.version(self.pick(&["", "1", "2"])),
            7 => published.body = Some(self.block().to_vec().into()),
            _ => {}
        }
        published
    }

    /// That something cannot be delivered.
    pub(crate) fn error(&mut self) -> ResourceError {
        let code = self.pick(&[5, 14, 7, 0, -1]);
        let name = weir_testkit::constraints::variant(self.pick(&NAMES), self.constraints());
        ResourceError {
            resource_name: Some(name),
            error_detail: Some(Status { code, message: "no".to_owned() }),
        }
    }
}
