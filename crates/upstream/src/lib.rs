//! Sources of resources: control planes over gRPC, and files.

pub mod files;
