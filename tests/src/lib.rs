//! Nothing: the tests are in `tests/`, beside this.
