//! A client that reports load.

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Status, Streaming};
use weir_wire::call::SingleCall;

use super::Connection;
use crate::raw::Raw;
use crate::wait::within;

/// A stream of load reports. It is reset when dropped.
pub struct LoadClient {
    reports: Option<mpsc::UnboundedSender<Bytes>>,
    opening: Option<JoinHandle<Result<Streaming<Bytes>, Status>>>,
    responses: Option<Result<Streaming<Bytes>, Status>>,
}

impl Connection {
    /// Opens a stream of load reports, by the name of v3.
    pub fn report_load(&self) -> LoadClient {
        self.report_load_at("/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats")
    }

    /// Opens a stream of load reports by calling the method at `path`.
    pub fn report_load_at(&self, path: &'static str) -> LoadClient {
        let (reports, outgoing) = mpsc::unbounded_channel();
        let mut grpc = Grpc::new(SingleCall::over(self.0.clone()));
        let opening = tokio::spawn(async move {
            grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            let reports = Request::new(UnboundedReceiverStream::new(outgoing));
            let response = grpc.streaming(reports, PathAndQuery::from_static(path), Raw).await;
            response.map(tonic::Response::into_inner)
        });
        LoadClient { reports: Some(reports), opening: Some(opening), responses: None }
    }
}

impl LoadClient {
    /// Sends a message. After the end of the stream it is lost, as it would be on the wire.
    pub fn send(&self, report: impl Into<Bytes>) {
        let reports = self.reports.as_ref().expect("it has sent its last message");
        _ = reports.send(report.into());
    }

    /// Has sent its last message.
    pub fn half_close(&mut self) {
        self.reports = None;
    }

    /// The next message, or none at the end.
    ///
    /// # Errors
    /// The status that the stream ends with, unless that is OK.
    pub async fn receive(&mut self) -> Result<Option<Bytes>, Status> {
        if let Some(opening) = &mut self.opening {
            let opened = within("an answer to load reports", opening).await;
            self.responses = Some(opened.expect("the call does not panic"));
            self.opening = None;
        }
        match self.responses.as_mut().expect("it was opened") {
            Ok(responses) => within("a message to who reports load", responses.message()).await,
            Err(status) => Err(status.clone()),
        }
    }

    /// The status that the stream ends with. Panics if a message comes instead.
    pub async fn closed(&mut self) -> Status {
        match self.receive().await {
            Ok(None) => Status::ok(""),
            Ok(Some(message)) => panic!("a message in place of the end: {message:?}"),
            Err(status) => status,
        }
    }
}

impl Drop for LoadClient {
    fn drop(&mut self) {
        if let Some(opening) = &self.opening {
            opening.abort();
        }
    }
}
