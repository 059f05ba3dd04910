//! The rules between the values of an upstream, and its defaults that depend on other values.

mod acknowledge;
mod node;
mod prefetch;
mod tls;
pub(crate) mod upstream;
