//! JSON of an Any: what can be read can be shown, and shown it reads as the same.

use weir_wire::json::{any_from, any_to_json, exact_any_to_json};

pub(crate) fn run(data: &[u8]) {
    // Anything that was received is shown to people.
    any_to_json(data);
    let mut deserializer = serde_json::Deserializer::from_slice(data);
    let Ok(any) = any_from(&mut deserializer) else { return };
    let Ok(shown) = exact_any_to_json(&any) else { return };
    let again = any_from(&shown);
    assert_eq!(again.ok().as_ref(), Some(&any), "{shown}");
}
