//! Between the client machine and the messages of either dialect.

use bytes::Bytes;
use weir_protocol::client::{Rejected, Reported, Request, Response};
use weir_types::{Code, ConstraintError, Constraints, Form, TypeUrl, VariantKey};
use weir_wire::discovery::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse, ResourceError,
    ResourceName, Status,
};
use weir_wire::json::discovery::{JsonError, JsonResponse};
use weir_wire::{locator, resource};

/// `google.rpc.Code`.
const INVALID_ARGUMENT: i32 = 3;

/// How requests of a stream are written.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    /// By plain names or by locators.
    pub(crate) form: Form,
    /// Goes with the first request of the stream.
    pub(crate) node: Bytes,
    /// Whether it goes with the others too.
    pub(crate) node_always: bool,
}

// === impl Writer ===

impl Writer {
    fn node(&self, request: &Request) -> Option<Bytes> {
        (request.first || self.node_always).then(|| self.node.clone())
    }

    pub(crate) fn sotw(&self, request: Request) -> DiscoveryRequest {
        let mut message = DiscoveryRequest {
            version_info: request.version.to_string(),
            node: self.node(&request),
            type_url: request.type_url.to_string(),
            response_nonce: request.nonce.to_string(),
            error_detail: request.nack.map(rejection),
            ..DiscoveryRequest::default()
        };
        match self.form {
            Form::Plain => message.resource_names = names(&request.subscribe),
            Form::Located => {
                message.resource_locators = request.subscribe.iter().map(locator::encode).collect()
            }
        }
        message
    }

    pub(crate) fn delta(&self, request: Request) -> DeltaDiscoveryRequest {
        let versions = request.initial_versions.iter();
        let mut message = DeltaDiscoveryRequest {
            node: self.node(&request),
            type_url: request.type_url.to_string(),
            initial_resource_versions: versions.map(|(name, v)| (name.to_string(), v.to_string())).collect(),
            response_nonce: request.nonce.to_string(),
            error_detail: request.nack.map(rejection),
            ..DeltaDiscoveryRequest::default()
        };
        let (subscribe, unsubscribe) = (&request.subscribe, &request.unsubscribe);
        match self.form {
            Form::Plain => {
                message.resource_names_subscribe = names(subscribe);
                message.resource_names_unsubscribe = names(unsubscribe);
            }
            Form::Located => {
                message.resource_locators_subscribe = subscribe.iter().map(locator::encode).collect();
                message.resource_locators_unsubscribe = unsubscribe.iter().map(locator::encode).collect();
            }
        }
        message
    }
}

fn names(locators: &[weir_types::ResourceLocator]) -> Vec<String> {
    locators.iter().map(|locator| locator.name.to_string()).collect()
}

fn rejection(message: String) -> Status {
    Status { code: INVALID_ARGUMENT, message }
}

/// What the machine takes in of a response in state of the world.
pub fn read_sotw(message: DiscoveryResponse) -> Response {
    let type_url = TypeUrl::new(message.type_url);
    let version = message.version_info;
    let mut bodies = resource::Bodies::default();
    let read =
        |any: &Bytes| resource::decode_any_among(&mut bodies, any, &type_url, &version).map_err(rejected);
    let mut response = Response {
        resources: message.resources.iter().map(read).collect(),
        removed: Vec::new(),
        errors: Vec::new(),
        version: version.as_str().into(),
        nonce: message.nonce.into(),
        type_url,
    };
    read_errors(&mut response, message.resource_errors);
    response
}

/// A response of a poll of `type_url`.
pub(crate) fn read_json(JsonResponse { response, resources }: JsonResponse, type_url: &TypeUrl) -> Response {
    let version = response.version_info;
    let read = |resource: Result<Bytes, (Option<String>, JsonError)>| match resource {
        Ok(any) => resource::decode_any(&any, type_url, &version).map_err(rejected),
        Err((name, error)) => Err(unreadable(name, &error)),
    };
    let mut message = Response {
        resources: resources.into_iter().map(read).collect(),
        removed: Vec::new(),
        errors: Vec::new(),
        version: version.as_str().into(),
        nonce: response.nonce.into(),
        type_url: type_url.clone(),
    };
    read_errors(&mut message, response.resource_errors);
    message
}

fn unreadable(name: Option<String>, error: &JsonError) -> Rejected {
    let message = match &name {
        Some(name) => format!("{name}: {error}"),
        None => format!("resource without a usable name: {error}"),
    };
    Rejected { name: name.map(Into::into), message }
}

/// What the machine takes in of an incremental response.
pub fn read_delta(message: DeltaDiscoveryResponse) -> Response {
    let type_url = TypeUrl::new(message.type_url);
    let mut bodies = resource::Bodies::default();
    let read =
        |resource: &Bytes| resource::decode_among(&mut bodies, resource, &type_url, "").map_err(rejected);
    let bare = message.removed_resources.into_iter();
    let mut response = Response {
        resources: message.resources.iter().map(read).collect(),
        removed: bare.map(|name| VariantKey::new(name, Constraints::unconstrained())).collect(),
        errors: Vec::new(),
        version: message.system_version_info.into(),
        nonce: message.nonce.into(),
        type_url,
    };
    for name in message.removed_resource_names {
        read_removed(&mut response, &name);
    }
    read_errors(&mut response, message.resource_errors);
    response
}

fn read_removed(response: &mut Response, name: &ResourceName) {
    match locator::decode_name(name) {
        Ok(key) => response.removed.push(key),
        Err(error) => response.resources.push(Err(unreadable_name(name, &error))),
    }
}

fn read_errors(response: &mut Response, errors: Vec<ResourceError>) {
    for ResourceError { resource_name, error_detail } in errors {
        let (Some(name), Some(error)) = (resource_name, error_detail) else { continue };
        let (code, message) = (Code(error.code), error.message.into());
        match locator::decode_name(&name) {
            Ok(key) => response.errors.push(Reported { key, code, message }),
            Err(error) => response.resources.push(Err(unreadable_name(&name, &error))),
        }
    }
}

fn rejected(rejected: resource::Rejected) -> Rejected {
    Rejected { message: rejected.to_string(), name: rejected.name }
}

fn unreadable_name(name: &ResourceName, error: &ConstraintError) -> Rejected {
    Rejected { name: Some(name.name.as_str().into()), message: format!("{}: {error}", name.name) }
}

#[cfg(test)]
mod tests {
    use weir_types::ResourceLocator;
    use weir_wire::discovery::DynamicParameterConstraints;
    use weir_wire::discovery::dynamic_parameter_constraints::Type;

    use super::*;

    fn request(first: bool) -> Request {
        let locator = |name: &str| ResourceLocator::new(name, [("env", "prod")].into_iter().collect());
        Request {
            type_url: TypeUrl::new("t"),
            first,
            version: "v".into(),
            nonce: "n".into(),
            nack: Some("bad".into()),
            subscribe: vec![locator("a")],
            unsubscribe: vec![locator("b")],
            initial_versions: vec![("c".into(), "1".into())],
        }
    }

    #[test]
    fn u08_the_node_goes_with_every_request_where_it_is_asked_for() {
        let writer = Writer { form: Form::Plain, node: Bytes::from_static(b"node"), node_always: true };
        for first in [true, false] {
            assert!(
                writer.sotw(request(first)).node.is_some() && writer.delta(request(first)).node.is_some()
            );
        }
    }

    #[test]
    fn u08_the_node_goes_with_the_first_request_only() {
        let writer = Writer { form: Form::Plain, node: Bytes::from_static(b"node"), node_always: false };
        for first in [true, false] {
            assert_eq!(writer.sotw(request(first)).node.is_some(), first);
            assert_eq!(writer.delta(request(first)).node.is_some(), first);
        }
    }

    #[test]
    fn p14_locators_or_names_never_both() {
        let plain = Writer { form: Form::Plain, node: Bytes::new(), node_always: false };
        let located = Writer { form: Form::Located, node: Bytes::new(), node_always: false };
        let message = plain.delta(request(false));
        assert_eq!(
            (message.resource_names_subscribe, message.resource_names_unsubscribe),
            (vec!["a".into()], vec!["b".into()])
        );
        assert!(
            message.resource_locators_subscribe.is_empty()
                && message.resource_locators_unsubscribe.is_empty()
        );
        let message = located.delta(request(false));
        assert!(message.resource_names_subscribe.is_empty() && message.resource_names_unsubscribe.is_empty());
        assert_eq!(message.resource_locators_subscribe[0].dynamic_parameters["env"], "prod");
        assert_eq!(message.initial_resource_versions["c"], "1");
        let message = located.sotw(request(false));
        assert_eq!((message.resource_names.len(), &*message.resource_locators[0].name), (0, "a"));
        assert_eq!(message.error_detail, Some(rejection("bad".into())));
    }

    #[test]
    fn p09_what_is_removed_is_told_with_its_constraints() {
        let plain = |name: &str| ResourceName { name: name.into(), dynamic_parameter_constraints: None };
        let nothing = DynamicParameterConstraints::default();
        let untyped = Some(DynamicParameterConstraints {
            r#type: Some(Type::NotConstraints(Box::new(nothing.clone()))),
        });
        let response = read_delta(DeltaDiscoveryResponse {
            removed_resources: vec!["a".into()],
            removed_resource_names: vec![
                plain("b"),
                ResourceName { dynamic_parameter_constraints: untyped, ..plain("x") },
                ResourceName { dynamic_parameter_constraints: Some(nothing), ..plain("c") },
            ],
            ..DeltaDiscoveryResponse::default()
        });
        let removed: Vec<_> = response.removed.iter().map(|key| &*key.name).collect();
        assert_eq!(removed, ["a", "b", "c"]);
        assert!(response.removed.iter().all(|key| key.constraints.is_unconstrained()));
        let rejected = response.resources[0].as_ref().unwrap_err();
        assert_eq!(rejected.message, "x: dynamic_parameter_constraints without a type at not");
    }

    #[test]
    fn w07_whatever_is_removed_may_be_spelled_in_any_way() {
        let (canonical, spelling) = ("xdstp://auth/T/a?a=2&b=1", "xdstp://auth/T/a?b=1&a=2");
        let name = ResourceName { name: spelling.into(), dynamic_parameter_constraints: None };
        let error = ResourceError {
            resource_name: Some(name.clone()),
            error_detail: Some(Status { code: 5, message: String::new() }),
        };
        let response = read_delta(DeltaDiscoveryResponse {
            removed_resources: vec![spelling.into()],
            removed_resource_names: vec![name],
            resource_errors: vec![error],
            ..DeltaDiscoveryResponse::default()
        });
        let errors = response.errors.iter().map(|error| &*error.key.name);
        let names: Vec<&str> = response.removed.iter().map(|key| &*key.name).chain(errors).collect();
        assert_eq!(names, [canonical; 3]);
    }

    #[test]
    fn e01_errors_are_read_alike_in_both_dialects() {
        let named = |name: &str, constraints| {
            let detail = Some(Status { code: 14, message: "try later".into() });
            let dynamic_parameter_constraints = constraints;
            let resource_name = Some(ResourceName { name: name.into(), dynamic_parameter_constraints });
            ResourceError { resource_name, error_detail: detail }
        };
        let nothing = Box::new(DynamicParameterConstraints::default());
        let untyped = Some(DynamicParameterConstraints { r#type: Some(Type::NotConstraints(nothing)) });
        let errors = vec![ResourceError::default(), named("a", None), named("x", untyped)];
        for response in [
            read_sotw(DiscoveryResponse { resource_errors: errors.clone(), ..Default::default() }),
            read_delta(DeltaDiscoveryResponse { resource_errors: errors.clone(), ..Default::default() }),
        ] {
            let key = VariantKey::new("a", Constraints::unconstrained());
            let error = Reported { key, code: Code::UNAVAILABLE, message: "try later".into() };
            assert_eq!((response.errors, response.removed), (vec![error], vec![]));
            assert_eq!(response.resources.len(), 1, "what cannot be read is rejected");
        }
    }
}
