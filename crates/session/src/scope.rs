//! What a stream may carry: everything, or the resources of one service.

use weir_types::TypeUrl;
use weir_wire::services::Service;

use crate::error::StreamError;
use crate::stream::Mode;

/// What a stream of a service may carry.
#[derive(Debug)]
pub(crate) struct Scope {
    service: &'static Service,
    /// The type of requests that name none; none where every request has to name its own.
    implied: Option<String>,
}

impl Scope {
    pub(crate) fn new(service: &'static Service) -> Self {
        let own = service.kind.and_then(|kind| TypeUrl::of_version(kind, service.version));
        Self { service, implied: own.map(|own| own.to_string()) }
    }

    /// Whether types share the stream.
    pub(crate) fn mode(&self) -> Mode {
        if self.service.kind.is_none() { Mode::Aggregated } else { Mode::SingleType }
    }

    /// Checks the type of a request, and fills it in where the service implies it. The type of the same kind
    /// in the other generation of the API is no foreign one: transport and resources have versions of their own.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a type that is carried by another service.
    pub(crate) fn admit(&mut self, type_url: &mut String) -> Result<(), StreamError> {
        let (Some(kind), Some(implied)) = (self.service.kind, &mut self.implied) else { return Ok(()) };
        if type_url.is_empty() {
            type_url.clone_from(implied);
            return Ok(());
        }
        if TypeUrl::new(type_url.as_str()).kind() != kind {
            return Err(StreamError::invalid_argument(format!(
                "{} carries {implied}, not {type_url}: use the service of that type, or the aggregated one",
                self.service.name
            )));
        }
        implied.clone_from(type_url);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use weir_types::{ApiVersion, Code, Kind};

    use super::*;

    fn admitted(scope: &mut Scope, type_url: &str) -> Result<String, Code> {
        let mut type_url = type_url.to_owned();
        scope.admit(&mut type_url).map(|()| type_url).map_err(|status| status.code)
    }

    #[test]
    fn d01_a_service_fills_in_its_own_type_and_refuses_others() {
        let service = Service::of(ApiVersion::V3, Some(Kind::Cluster)).unwrap();
        let own = TypeUrl::of_kind(Kind::Cluster).unwrap().to_string();
        let v2 = TypeUrl::of_version(Kind::Cluster, ApiVersion::V2).unwrap().to_string();
        let mut scope = Scope::new(service);
        assert_eq!(admitted(&mut scope, ""), Ok(own.clone()));
        assert_eq!(admitted(&mut scope, &v2), Ok(v2.clone()));
        assert_eq!(admitted(&mut scope, ""), Ok(v2), "the stream goes on with what it was opened for");
        assert_eq!(admitted(&mut scope, &own), Ok(own));
        for foreign in ["type.googleapis.com/acme.Widget", "type.googleapis.com/envoy.api.v2.Listener"] {
            assert_eq!(admitted(&mut scope, foreign), Err(Code::INVALID_ARGUMENT));
        }
    }

    #[test]
    fn d02_the_aggregated_service_carries_everything() {
        let mut scope = Scope::new(Service::of(ApiVersion::V2, None).unwrap());
        for any in ["", "type.googleapis.com/acme.Widget"] {
            assert_eq!(admitted(&mut scope, any), Ok(any.to_owned()));
        }
    }
}
