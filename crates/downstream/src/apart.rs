//! Work that takes long, beside the tasks that share a thread of the runtime with it.

use tokio::runtime::{Handle, RuntimeFlavor};

/// How many names are much: subscribing to them, or answering them, takes longer than others should wait for.
const MANY: usize = 1000;

/// Does `work` with as many `names`. If that takes long, another thread takes over the tasks of this one meanwhile.
pub(crate) fn apart<T>(names: usize, work: impl FnOnce() -> T) -> T {
    let may = || Handle::try_current().is_ok_and(|of| of.runtime_flavor() == RuntimeFlavor::MultiThread);
    if names >= MANY && may() { tokio::task::block_in_place(work) } else { work() }
}
