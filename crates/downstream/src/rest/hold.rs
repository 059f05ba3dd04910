//! How long an answer may be held back.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

/// What Envoy sends with every request to a cluster: how long it waits.
const ENVOY_TIMEOUT: HeaderName = HeaderName::from_static("x-envoy-expected-rq-timeout-ms");

/// What gRPC clients send.
const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// What is there for it in HTTP (RFC 7240): `Prefer: wait=10`, in seconds.
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// How long an answer is held back while there is nothing new: at most `longest`, and not so long that the
/// client gives up.
pub(super) fn until(headers: &HeaderMap, longest: Duration) -> Duration {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let envoy = text(&ENVOY_TIMEOUT).and_then(|millis| Some(Duration::from_millis(millis.parse().ok()?)));
    let grpc = text(&GRPC_TIMEOUT).and_then(grpc_timeout);
    // A quarter is left for both ways. No time at all stands for no limit.
    let patience = [envoy, grpc].into_iter().flatten().filter(|time| !time.is_zero());
    let patience = patience.map(|time| time.mul_f64(0.75));
    let wait = text(&PREFER).and_then(preferred_wait);
    patience.chain(wait).fold(longest, Duration::min)
}

fn preferred_wait(preferences: &str) -> Option<Duration> {
    let wait = preferences.split(',').find_map(|one| one.trim().strip_prefix("wait="))?;
    Some(Duration::from_secs(wait.trim().parse().ok()?))
}

/// At most eight digits and a unit.
fn grpc_timeout(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok().filter(|_| number.len() <= 8)?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r01_a_client_is_answered_before_it_gives_up() {
        for (headers, millis) in [
            (&[][..], 30_000),
            (&[("x-envoy-expected-rq-timeout-ms", "1000")], 750),
            (&[("x-envoy-expected-rq-timeout-ms", "0")], 30_000),
            (&[("x-envoy-expected-rq-timeout-ms", "99999999999")], 30_000),
            (&[("x-envoy-expected-rq-timeout-ms", "99999999999999999999999")], 30_000),
            (&[("x-envoy-expected-rq-timeout-ms", "é")], 30_000),
            (&[("grpc-timeout", "4S")], 3_000),
            (&[("grpc-timeout", "2000m"), ("x-envoy-expected-rq-timeout-ms", "1000")], 750),
            (&[("grpc-timeout", "99999999H")], 30_000),
            (&[("grpc-timeout", "999999999S")], 30_000),
            (&[("grpc-timeout", "S")], 30_000),
            (&[("grpc-timeout", "")], 30_000),
            (&[("grpc-timeout", "é")], 30_000),
            (&[("prefer", "respond-async, wait=2")], 2_000),
            (&[("prefer", "wait=0")], 0),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let hold = until(&map, Duration::from_secs(30));
            assert_eq!(hold, Duration::from_millis(millis), "{headers:?}");
        }
    }
}
