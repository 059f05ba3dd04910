//! Load reports of clients, from the downstream to the upstream side.

use bytes::Bytes;
use futures_util::stream::BoxStream;
use tonic::Status;
use weir_downstream::LoadReporting;
use weir_types::ClientParameters;
use weir_upstream::LoadRelay;

/// Passes them on.
pub(crate) struct LoadReports(pub(crate) LoadRelay);

impl LoadReporting for LoadReports {
    fn is_on(&self) -> bool {
        self.0.is_on()
    }

    fn open(
        &self,
        parameters: &ClientParameters,
        reports: BoxStream<'static, Bytes>,
    ) -> BoxStream<'static, Result<Bytes, Status>> {
        self.0.open(parameters, reports)
    }
}
