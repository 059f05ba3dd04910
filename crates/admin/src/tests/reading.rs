//! What is shown can be read by the types that it was shown by, and nothing is lost.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fake::Fake;
use super::get;
use crate::{
    Client, Configuration, DeliveryProgress, Draining, Given, LogLevel, Propagated, Resource, Store, Upstream,
};

/// Panics unless `shown` is the same after it was read and shown again.
fn read_again<T: Serialize + DeserializeOwned>(shown: &Value) {
    let read: T = serde_json::from_value(shown.clone()).unwrap_or_else(|error| panic!("{error}: {shown}"));
    assert_eq!(serde_json::to_value(read).unwrap(), *shown);
}

#[tokio::test]
async fn what_is_shown_can_be_read_by_the_same_types() {
    let fake = Fake::new(3);
    let _stream = fake.ask_for_barred();
    read_again::<Client>(&get(&fake, "/clients/1").await.json());
    read_again::<DeliveryProgress>(&get(&fake, "/resources/lds/open/delivery").await.json());
    read_again::<Store>(&get(&fake, "/store").await.json());
    read_again::<Draining>(&get(&fake, "/drain").await.json());
    read_again::<LogLevel>(&get(&fake, "/log-level").await.json());
    read_again::<Configuration>(&get(&fake, "/config").await.json());
    for (path, read) in [
        ("/clients", read_again::<Client> as fn(&Value)),
        ("/clients/1/resources", read_again::<Given>),
        ("/upstreams", read_again::<Upstream>),
        ("/resources", read_again::<Resource>),
        ("/propagation", read_again::<Propagated>),
    ] {
        let page = get(&fake, path).await.json();
        let items = page["items"].as_array().unwrap();
        assert!(!items.is_empty(), "{path}");
        items.iter().for_each(read);
    }
}
