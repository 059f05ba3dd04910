//! The bootstraps of `docs/grpc.md`.

use std::net::SocketAddr;

use weir_testkit::process::Caller;

const PAGE: &str = include_str!("../../../docs/grpc.md");

/// The servers that the page names.
const SERVERS: [&str; 2] = ["127.0.0.1:18000", "127.0.0.1:18100"];

/// What has gRPC C-core go by A88.
const A88: (&str, &str) = ("GRPC_EXPERIMENTAL_XDS_DATA_ERROR_HANDLING", "true");

/// How a client is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// As it is without any setting.
    Usual,
    /// By A88, without a feature of the server.
    Lenient,
    /// By A88, with `fail_on_data_errors` and `resource_timer_is_transient_error`.
    Strict,
    /// With a second server.
    Fallback,
}

impl Setup {
    /// The bootstrap, with these servers in place of those of the page.
    fn bootstrap(self, servers: &[SocketAddr]) -> String {
        let place = match self {
            Self::Usual | Self::Lenient => 0,
            Self::Strict => 1,
            Self::Fallback => 2,
        };
        let mut blocks = PAGE.split("\n```json\n").skip(1);
        let block = blocks.nth(place).and_then(|block| block.split("\n```").next());
        let written = block.expect("the page has a bootstrap for it").to_owned();
        assert_eq!(SERVERS.iter().filter(|server| written.contains(**server)).count(), servers.len());
        SERVERS
            .iter()
            .zip(servers)
            .fold(written, |text, (of_page, server)| text.replace(of_page, &server.to_string()))
    }

    /// A client of the target `svc` that finds it by these servers.
    pub fn client(self, servers: &[SocketAddr]) -> Caller {
        let variables: &[_] = match self {
            Self::Usual | Self::Fallback => &[],
            Self::Lenient | Self::Strict => &[A88],
        };
        Caller::grpc_python_by(&self.bootstrap(servers), "svc", variables)
    }
}
