//! What runs beside the tests, in processes of its own. The tests are in `tests/`, beside this.

pub mod client;
