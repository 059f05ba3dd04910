//! Resource names: one spelling, whatever the order of the parameters.

use weir_types::Name;
use weir_types::xdstp::{authority, canonical, collections_of, glob_of, is_glob};

pub(crate) fn run(data: &[u8]) {
    let Ok(name) = str::from_utf8(data) else { return };
    authority(name);
    let Ok(spelling) = canonical(name) else { return };
    assert_eq!(canonical(&spelling).as_deref(), Ok(&*spelling), "{name}");
    assert_eq!(authority(&spelling).is_empty(), authority(name).is_empty(), "{name}");
    let named = Name::from(name);
    assert_eq!(*named, *spelling);
    if let Some(glob) = glob_of(&named) {
        assert!(is_glob(&glob), "{glob}");
        assert!(!is_glob(&spelling), "{spelling}");
        assert_eq!(canonical(&glob).as_deref(), Ok(&*glob));
        assert!(collections_of(&named).any(|collection| collection == glob));
    }
    if let Some((path, parameters)) = name.split_once('?').filter(|_| !name.contains('#')) {
        let mut turned: Vec<&str> = parameters.split('&').collect();
        turned.reverse();
        let turned = format!("{path}?{}", turned.join("&"));
        if name.starts_with("xdstp:") {
            assert_eq!(canonical(&turned).as_deref(), Ok(&*spelling), "{turned}");
        }
    }
}
