//! What stands around the machine of an upstream stream: bursts, deferred acknowledgements, endpoints and memory.

pub(crate) mod acknowledgement;
pub(crate) mod debounce;
pub(crate) mod failover;
pub(crate) mod memory;
