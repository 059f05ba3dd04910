//! Single values: types that can hold nothing wrong, and how a file has them.

mod address;
mod choices;
mod export_file;
pub(crate) mod names;
mod quantities;
mod regex;
pub(crate) mod text;
mod units;

pub use self::address::CollectorEndpoint;
pub use self::choices::{
    ClientCertificate, ColdStart, CollectorProtocol, Csds, DataError, Level, LoadReports, LogFormat,
    NackUpstream, Protocol, ReadyWhen, Transport, VirtualHosts,
};
pub use self::export_file::ExportFile;
pub use self::quantities::{ByteSize, Count, NonEmptyString, Percent, PositiveDuration, Ratio};
pub use self::regex::Regex;
pub(crate) use self::units::Bytes;
