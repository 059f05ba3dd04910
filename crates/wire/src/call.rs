//! Calls that nobody waits for in vain.
//!
//! Never connects, and never looks at the content.

use std::task::{Context, Poll};

use tonic::codegen::http::{Request, Response};
use tonic::codegen::{BoxFuture, Service, StdError};

/// A connection for a single call, which it lets go of as soon as the call is made.
///
/// A request that is handed to a connection while that ends may be left behind in its queue (what is sent into a
/// channel of tokio's while its receiver is dropped stays there until the last sender is), and whoever holds on to
/// the connection then waits for the response for ever. With the connection, its queue is dropped, and the call fails.
#[derive(Clone, Debug)]
pub struct SingleCall<T>(Option<T>);

/// A second call was made.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the connection was for a single call, which was made")]
struct Spent;

impl<T> SingleCall<T> {
    /// A call over `connection`.
    pub fn over(connection: T) -> Self {
        Self(Some(connection))
    }
}

impl<T, Q, R> Service<Request<Q>> for SingleCall<T>
where
    T: Service<Request<Q>, Response = Response<R>>,
    T::Error: Into<StdError>,
    T::Future: Send + 'static,
    R: 'static,
{
    type Response = Response<R>;
    type Error = StdError;
    type Future = BoxFuture<Response<R>, StdError>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        match &mut self.0 {
            Some(connection) => connection.poll_ready(cx).map_err(Into::into),
            None => Poll::Ready(Err(Spent.into())),
        }
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let response = self.0.take().map(|mut connection| connection.call(request));
        Box::pin(async {
            match response {
                Some(response) => response.await.map_err(Into::into),
                None => Err(Spent.into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    /// A connection that has left a request behind.
    struct Queue(Option<oneshot::Sender<Infallible>>);

    impl Service<Request<()>> for Queue {
        type Response = Response<()>;
        type Error = oneshot::error::RecvError;
        type Future = BoxFuture<Response<()>, Self::Error>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            let (held, gone) = oneshot::channel::<Infallible>();
            self.0 = Some(held);
            Box::pin(async { gone.await.map(|never| match never {}) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn u03_a_request_that_a_connection_has_left_behind_fails() {
        let mut call = SingleCall::over(Queue(None));
        let answer = timeout(Duration::from_secs(60), call.call(Request::new(()))).await;
        let error = answer.expect("nobody waits for ever").unwrap_err();
        assert!(error.is::<oneshot::error::RecvError>(), "{error}");
        let second = call.call(Request::new(())).await.unwrap_err();
        assert_eq!(second.to_string(), Spent.to_string());
    }
}
