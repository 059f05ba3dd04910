//! Incremental requests, decoded but for what a reconnecting client states that it holds.
//!
//! That is most of what a herd of clients sends, a thousand names each, and usually the same from all of
//! them. So it is not collected into a map before anyone knows that the map is needed: the entries are hashed
//! where they stand, and read only if the same statement was not met before.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

use bytes::Bytes;
use prost::Message;
use weir_types::{KnownVersions, Name};

use crate::discovery::DeltaDiscoveryRequest;
use crate::scan::{ScanError, fields};

/// The number of the field that holds what the client knows.
const INITIAL_RESOURCE_VERSIONS: u32 = 5;

static KEYED: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Why bytes are not a request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RequestError {
    /// Its fields cannot be distinguished.
    #[error(transparent)]
    Malformed(#[from] ScanError),
    /// One of its fields cannot be decoded.
    #[error(transparent)]
    Decode(#[from] prost::DecodeError),
}

/// A `DeltaDiscoveryRequest`.
#[derive(Clone, Debug, Default)]
pub struct DeltaRequest {
    /// Everything but `initial_resource_versions`, which is empty here.
    pub message: DeltaDiscoveryRequest,
    /// `initial_resource_versions`.
    pub known: Statement,
}

impl DeltaRequest {
    /// The request in `bytes`, which it shares as long as it lives.
    ///
    /// # Errors
    /// When `bytes` are malformed. What is wrong with the entries of `initial_resource_versions` is found by
    /// [`Statement::read`] only.
    pub fn decode(bytes: Bytes) -> Result<Self, RequestError> {
        let mut request = Self::default();
        // Decoding the pieces of a message one after the other is decoding the message.
        let (mut piece, mut end) = (0, 0);
        for field in fields(&bytes) {
            let field = field?;
            let start = end;
            end += field.raw.len();
            if field.number == INITIAL_RESOURCE_VERSIONS {
                request.message.merge(bytes.slice(piece..start))?;
                piece = end;
                request.known.add(field.bytes()?);
            }
        }
        request.message.merge(bytes.slice(piece..))?;
        if !request.known.is_empty() {
            request.known.message = bytes;
        }
        Ok(request)
    }
}

/// What a client states that it holds, not read yet.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    message: Bytes,
    entries: usize,
    sum: u64,
}

/// Equal for statements of the same entries in whatever order, within a process. Statements with equal
/// fingerprints are taken for equal, unless they name something twice; the hash is keyed, so that no client
/// can aim for a collision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatementFingerprint(usize, u64);

impl Statement {
    fn add(&mut self, entry: &[u8]) {
        let mut hash = KEYED.build_hasher();
        hash.write(entry);
        self.sum = self.sum.wrapping_add(hash.finish());
        self.entries += 1;
    }

    /// Whether nothing is stated.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// How many entries there are; a name that is stated twice counts twice.
    pub fn len(&self) -> usize {
        self.entries
    }

    /// The identity of the statement.
    pub fn fingerprint(&self) -> StatementFingerprint {
        StatementFingerprint(self.entries, self.sum)
    }

    /// The names and versions. Of a name that is stated twice, the last version counts.
    ///
    /// # Errors
    /// When an entry is malformed.
    pub fn read(&self) -> Result<KnownVersions, ScanError> {
        let entries = fields(&self.message).filter(|field| match field {
            Ok(field) => field.number == INITIAL_RESOURCE_VERSIONS,
            Err(_) => true,
        });
        entries.map(|field| entry(field?.bytes()?)).collect()
    }
}

/// A name and a version; what is missing is empty.
fn entry(bytes: &[u8]) -> Result<(Name, &str), ScanError> {
    let (mut name, mut version) = ("", "");
    for field in fields(bytes) {
        let field = field?;
        match field.number {
            1 => name = field.text()?,
            2 => version = field.text()?,
            _ => {}
        }
    }
    Ok((name.into(), version))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use weir_types::Version;

    use super::*;
    use crate::discovery::{ResourceLocator, Status};

    fn any_request() -> impl Strategy<Value = DeltaDiscoveryRequest> {
        let names = || prop::collection::vec("[a-z]{0,9}", 0..4);
        let held = prop::collection::hash_map("[a-z]{0,3}", "[0-9a-f]{16}|[a-z]{0,3}", 0..6);
        let node = prop::option::of(prop::collection::vec(any::<u8>(), 0..200));
        let status = prop::option::of("[a-z]{0,9}".prop_map(|message| Status { code: 3, message }));
        (node, names(), names(), names(), held, "[0-9]{0,3}", status).prop_map(
            |(node, subscribe, unsubscribe, located, held, nonce, error_detail)| DeltaDiscoveryRequest {
                node: node.map(Bytes::from),
                type_url: "type.googleapis.com/acme.Widget".into(),
                resource_names_subscribe: subscribe,
                resource_names_unsubscribe: unsubscribe,
                resource_locators_subscribe: located
                    .into_iter()
                    .map(|name| ResourceLocator { name, dynamic_parameters: HashMap::new() })
                    .collect(),
                initial_resource_versions: held,
                response_nonce: nonce,
                error_detail,
                ..DeltaDiscoveryRequest::default()
            },
        )
    }

    /// What a plain decoder makes of the same bytes, and what the scanner does.
    fn both(bytes: &[u8]) -> [Option<(DeltaDiscoveryRequest, u64)>; 2] {
        let plain = DeltaDiscoveryRequest::decode(bytes).ok().map(|mut message| {
            let held = std::mem::take(&mut message.initial_resource_versions);
            (message, held.into_iter().collect::<KnownVersions>().fingerprint())
        });
        let scanned = DeltaRequest::decode(Bytes::copy_from_slice(bytes)).ok();
        let scanned = scanned.and_then(|request| {
            let known = request.known.read().ok()?;
            Some((request.message, known.fingerprint()))
        });
        [plain, scanned]
    }

    /// An entry as it is on the wire.
    fn stated(name: &str, version: &str) -> Vec<u8> {
        let held = [(name.to_owned(), version.to_owned())].into();
        DeltaDiscoveryRequest { initial_resource_versions: held, ..Default::default() }.encode_to_vec()
    }

    fn fingerprint(entries: &[Vec<u8>]) -> StatementFingerprint {
        DeltaRequest::decode(entries.concat().into()).unwrap().known.fingerprint()
    }

    proptest! {
        #[test]
        fn a_scanned_request_is_what_a_plain_decoder_makes_of_it(
            requests in prop::collection::vec(any_request(), 1..3),
        ) {
            // More than one after another are one message, in which the entries do not stand together.
            let mut requests = requests;
            let mut taken = std::collections::HashSet::new();
            for request in &mut requests {
                request.initial_resource_versions.retain(|name, _| taken.insert(name.clone()));
            }
            let bytes: Vec<u8> = requests.iter().flat_map(Message::encode_to_vec).collect();
            let [plain, scanned] = both(&bytes);
            prop_assert!(plain.is_some());
            prop_assert_eq!(plain, scanned);
        }

        #[test]
        fn e05_what_a_plain_decoder_refuses_is_refused(
            request in any_request(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut bytes = request.encode_to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let [plain, scanned] = both(&bytes);
            // Groups, which no message of the protocol has, are refused here and skipped there.
            if scanned.is_some() {
                prop_assert_eq!(plain, scanned);
            }
        }
    }

    #[test]
    fn i05_statements_are_equal_in_any_order() {
        let [a, b] = [stated("a", "1"), stated("b", "2")];
        assert_eq!(fingerprint(&[a.clone(), b.clone()]), fingerprint(&[b.clone(), a.clone()]));
        for other in [vec![a.clone()], vec![a.clone(), stated("b", "3")], vec![a.clone(), a, b]] {
            assert_ne!(fingerprint(&other), fingerprint(&[stated("a", "1"), stated("b", "2")]));
        }
    }

    #[test]
    fn i05_the_last_version_of_a_name_counts() {
        let bytes = [stated("a", &Version(1).to_string()), stated("a", &Version(2).to_string())].concat();
        let known = DeltaRequest::decode(bytes.into()).unwrap().known;
        assert_eq!(known.len(), 2);
        let read = known.read().unwrap();
        assert!(read.is_current(&"a".into(), Version(2)) && read.len() == 1);
    }

    #[test]
    fn e05_a_malformed_entry_is_an_error() {
        let known = DeltaRequest::decode(Bytes::from_static(&[0x2a, 3, 0x0a, 1, 0xff])).unwrap().known;
        assert_eq!(known.read().unwrap_err(), ScanError::Utf8(1));
        let known = DeltaRequest::decode(Bytes::from_static(&[0x2a, 1, 0x0a])).unwrap().known;
        assert_eq!(known.read().unwrap_err(), ScanError::Truncated);
        let error = DeltaRequest::decode(Bytes::from_static(&[0x28, 1])).unwrap_err();
        assert_eq!(error, RequestError::Malformed(ScanError::Mistyped(5)));
    }

    #[test]
    fn d03_nothing_is_copied_of_the_node() {
        let node = Bytes::from(vec![7; 61_000]);
        let request = DeltaDiscoveryRequest { node: Some(node), ..Default::default() };
        let bytes = Bytes::from(request.encode_to_vec());
        let read = DeltaRequest::decode(bytes.clone()).unwrap().message.node.unwrap();
        assert!(bytes.as_ptr_range().contains(&read.as_ptr()) && read.len() == 61_000);
    }
}
