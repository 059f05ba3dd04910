//! One resource with its transport fields, measured before it is written.

use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use weir_types::{Constraints, Content, Form, Name, Variant};

use super::{Out, field};
use crate::constraints;
use crate::discovery::ResourceName;

/// A `Resource` message.
pub(crate) struct Wrapper<'a> {
    version: String,
    body: Option<&'a [u8]>,
    aliases: &'a [Name],
    extra: &'a [u8],
    name: &'a str,
    /// Encoded, for clients that asked by locator.
    resource_name: Option<Vec<u8>>,
    ttl: Option<Vec<u8>>,
    pub(crate) length: usize,
}

impl<'a> Wrapper<'a> {
    /// The resource, as it is sent at `at` (if its time to live is).
    pub(crate) fn new(variant: &'a Variant, form: Form, at: Option<Instant>) -> Self {
        let Content { body, aliases, extra, .. } = variant.content();
        Self { body: body.as_deref(), aliases, extra, ..Self::heartbeat(variant, form, at) }.measured()
    }

    /// What it takes to state that a resource lives on.
    pub(crate) fn heartbeat(variant: &'a Variant, form: Form, at: Option<Instant>) -> Self {
        let key = variant.key();
        let resource_name = (form == Form::Located).then(|| resource_name(&key.name, Some(&key.constraints)));
        let wrapper = Self {
            version: variant.version(form).to_string(),
            body: None,
            aliases: &[],
            extra: &[],
            name: &key.name,
            resource_name,
            ttl: at.and_then(|at| variant.remaining(at)).map(duration),
            length: 0,
        };
        wrapper.measured()
    }

    /// The resource as upstream has sent it: in the version that upstream has given it, with all of its time to
    /// live.
    fn as_received(variant: &'a Variant) -> Self {
        let content = variant.content();
        let form = if variant.key().constraints.is_unconstrained() { Form::Plain } else { Form::Located };
        let wrapper = Self::new(variant, form, None);
        let version = content.upstream_version.to_string();
        Self { version, ttl: content.ttl.map(duration), ..wrapper }.measured()
    }

    fn measured(mut self) -> Self {
        self.length = field(self.version.len())
            + self.body.map_or(0, |body| field(body.len()))
            + field(self.resource_name.as_ref().map_or(self.name.len(), Vec::len))
            + self.aliases.iter().map(|alias| field(alias.len())).sum::<usize>()
            + self.ttl.as_ref().map_or(0, |ttl| field(ttl.len()))
            + self.extra.len();
        self
    }

    pub(super) fn write(&self, out: &mut Out) {
        out.bytes(1, self.version.as_bytes());
        if let Some(body) = self.body {
            out.bytes(2, body);
        }
        match &self.resource_name {
            Some(name) => out.bytes(8, name),
            None => out.bytes(3, self.name.as_bytes()),
        }
        self.aliases.iter().for_each(|alias| out.bytes(4, alias.as_bytes()));
        if let Some(ttl) = &self.ttl {
            out.bytes(6, ttl);
        }
        out.0.put_slice(self.extra);
    }
}

/// The `Resource` message in which upstream has sent a variant, or could have: [`crate::resource::decode`] makes the
/// same of it again.
pub fn as_received(variant: &Variant) -> Bytes {
    let wrapper = Wrapper::as_received(variant);
    let mut out = Out(BytesMut::with_capacity(wrapper.length));
    wrapper.write(&mut out);
    out.0.freeze()
}

pub(crate) fn resource_name(name: &str, constraints: Option<&Constraints>) -> Vec<u8> {
    let dynamic_parameter_constraints = constraints.and_then(constraints::encode);
    ResourceName { name: name.to_owned(), dynamic_parameter_constraints }.encode_to_vec()
}

fn duration(ttl: Duration) -> Vec<u8> {
    let seconds = i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX);
    prost_types::Duration { seconds, nanos: ttl.subsec_nanos() as i32 }.encode_to_vec()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_types::constraints::Expr;
    use weir_types::{TypeUrl, VariantKey};

    use super::*;
    use crate::discovery::Resource;
    use crate::resource;

    #[test]
    fn u09_what_was_received_comes_back_as_it_was() {
        let type_url = TypeUrl::new("acme.Widget");
        let any = prost_types::Any { type_url: type_url.as_str().to_owned(), value: b"body".to_vec() };
        let full = Content {
            body: Some(any.encode_to_vec().into()),
            aliases: Arc::from(["b".into(), "c".into()]),
            ttl: Some(Duration::from_millis(1500)),
            extra: Bytes::from_static(&[0x7a, 1, b'x']),
            upstream_version: "v7".into(),
            ..Content::default()
        };
        let prod = Constraints::new(Expr::value("env", "prod"));
        for content in [full.clone(), Content { body: None, ..full }, Content::default()] {
            for constraints in [Constraints::unconstrained(), prod.clone()] {
                let variant = Variant::new(VariantKey::new("a", constraints), content.clone());
                let back = resource::decode(&as_received(&variant), &type_url, "").unwrap();
                assert_eq!((back.key(), back.content()), (variant.key(), &content));
            }
        }
    }

    #[test]
    fn t03_what_is_left_is_said() {
        let content = Content { ttl: Some(Duration::from_secs(60)), ..Content::default() };
        let received = Instant::now();
        let variant =
            Variant::new(VariantKey::new("a", Constraints::unconstrained()), content).leased(received);
        let written = |at| {
            let wrapper = Wrapper::heartbeat(&variant, Form::Plain, at);
            let mut out = Out::new(wrapper.length);
            wrapper.write(&mut out);
            Resource::decode(&out.finish()[super::super::HEADER..]).unwrap().ttl.map(|ttl| ttl.seconds)
        };
        assert_eq!(written(Some(received)), Some(60));
        assert_eq!(written(Some(received + Duration::from_secs(45))), Some(15));
        assert_eq!(written(None), None);
    }
}
