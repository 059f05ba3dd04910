//! What the pieces of a response weigh, for whoever keeps responses under a limit.

use weir_types::{Constraints, Form, Variant};

use crate::frame::{Failing, Item, Response, Wrapper, field, not_found, resource_error, resource_name};

/// What a nonce may grow by from part to part of a response, in bytes.
const NONCE_GROWTH: usize = 8;

impl Response<'_> {
    /// What it takes beside its resources and what is gone, in bytes.
    pub fn base_weight(&self) -> usize {
        let version = self.version.to_string();
        field(version.len())
            + field(self.type_url.as_str().len())
            + field(self.nonce.len() + NONCE_GROWTH)
            + field(field(self.control_plane.len()))
    }

    /// What a resource adds to a `DeltaDiscoveryResponse`, in bytes.
    pub fn delta_weight(&self, variant: &Variant, form: Form) -> usize {
        field(Item::Wrapper(Wrapper::new(variant, form, self.at)).length())
    }

    /// What a heartbeat adds to a `DeltaDiscoveryResponse`, in bytes.
    pub fn heartbeat_weight(&self, variant: &Variant, form: Form) -> usize {
        field(Item::Wrapper(Wrapper::heartbeat(variant, form, self.at)).length())
    }

    /// What a resource adds to a `DiscoveryResponse`, in bytes.
    pub fn sotw_weight(&self, variant: &Variant, form: Form) -> usize {
        field(self.any(variant, form).length())
    }

    /// What an error adds, in bytes.
    pub fn error_weight(&self, failing: &Failing<'_>) -> usize {
        field(resource_error(failing).len())
    }

    /// What something that is gone adds to a response of either dialect at most, in bytes.
    pub fn removal_weight(&self, name: &str, constraints: Option<&Constraints>) -> usize {
        let error = not_found(name, constraints).len();
        field(error.max(resource_name(name, constraints).len()).max(name.len()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use weir_types::constraints::Expr;
    use weir_types::{Content, TypeUrl, VariantKey, Version};

    use super::*;

    #[test]
    fn i08_a_response_takes_no_more_than_its_pieces_weigh() {
        let type_url = TypeUrl::new("type.googleapis.com/acme.Widget");
        let prod = Constraints::new(Expr::value("env", "prod"));
        let content = Content {
            body: Some(Bytes::from(vec![7; 1000])),
            aliases: ["other".into()].into(),
            ttl: Some(std::time::Duration::from_secs(5)),
            ..Content::default()
        };
        let variant = Arc::new(Variant::new(VariantKey::new("a", prod.clone()), content));
        for (wrapped, form) in [(false, Form::Plain), (true, Form::Plain), (true, Form::Located)] {
            let response = Response {
                type_url: &type_url,
                nonce: "2a-0",
                version: Version(7),
                control_plane: "weir-1",
                resources: &[(Arc::clone(&variant), form)],
                heartbeats: &[],
                removed: &["gone"],
                removed_variants: &[("lost", Some(&prod)), ("name", None)],
                errors: &[],
                wrapped,
                at: Some(std::time::Instant::now()),
            };
            let gone = response.removal_weight("gone", None)
                + response.removal_weight("lost", Some(&prod))
                + response.removal_weight("name", None);
            for (frame, resource) in [
                (response.delta(), response.delta_weight(&variant, form)),
                (response.sotw(), response.sotw_weight(&variant, form)),
            ] {
                let (message, weight) = (frame.len() - 5, response.base_weight() + resource + gone);
                assert!(message <= weight && weight < message + 300, "{message} {weight}");
            }
        }
    }
}
