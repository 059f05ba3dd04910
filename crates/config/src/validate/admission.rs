//! How new streams are let in.

use crate::file;
use crate::findings::Findings;
use crate::settings::Admission;

pub(super) fn check(file: &file::Admission, findings: &mut Findings) {
    for (key, value) in [
        ("admission.new_streams_per_second", file.new_streams_per_second),
        ("admission.new_streams_burst", file.new_streams_burst),
        ("admission.max_first_responses", Some(file.max_first_responses)),
    ] {
        findings.add_zero(key, value.unwrap_or(1));
    }
    if file.new_streams_burst.is_some() && file.new_streams_per_second.is_none() {
        findings.add("admission.new_streams_burst", "it applies only with new_streams_per_second");
    }
}

/// The burst is that of a second, where none is given.
pub(super) fn settings(file: &file::Admission) -> Admission {
    Admission {
        new_streams_per_second: file.new_streams_per_second,
        new_streams_burst: file.new_streams_burst.or(file.new_streams_per_second).unwrap_or(1),
        max_first_responses: file.max_first_responses,
        retry_after: file.retry_after.0.0,
    }
}
