//! The admin server: whether Weir is alive and ready, and what it counted.
//!
//! Owns the HTTP endpoints and nothing behind them: what is ready and what was counted is asked of
//! [`Status`] on each request. Never changes anything.

mod server;

pub use server::serve;

/// What the admin server tells about the rest of the program.
pub trait Status: Send + Sync + 'static {
    /// What is still missing before clients can be served, in words for an operator; empty when ready.
    fn pending(&self) -> Vec<String>;

    /// The metrics in the text format of Prometheus, or why there are none.
    fn metrics(&self) -> Result<String, String>;
}
