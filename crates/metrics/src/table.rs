//! The table.

use super::{Instrument, Kind};

/// Entries are sorted by name.
macro_rules! instruments {
    ($($entry:ident = $kind:ident $name:literal $unit:literal [$($label:literal),*] $about:literal;)*) => {
        $(
            #[doc = $about]
            pub static $entry: Instrument = Instrument {
                kind: Kind::$kind,
                name: $name,
                unit: $unit,
                labels: &[$($label),*],
                about: $about,
            };
        )*

        /// Every instrument, by name.
        pub static ALL: &[&Instrument] = &[$(&$entry),*];
    };
}

instruments! {
    PROCESS_CPU_TIME = Counter "process.cpu.time" "s" ["cpu.mode"]
        "Processor time that the process has used";
    PROCESS_MEMORY_USAGE = Gauge "process.memory.usage" "By" []
        "Memory of the process that is resident";
    PROCESS_MEMORY_VIRTUAL = Gauge "process.memory.virtual" "By" []
        "Address space of the process";
    PROCESS_UNIX_FILE_DESCRIPTOR_COUNT = Gauge "process.unix.file_descriptor.count" "{file_descriptor}" []
        "Files and sockets that the process has open";
    PROCESS_UPTIME = Gauge "process.uptime" "s" []
        "How long the process has been running";
    ADMIN_CHANGES = Counter "weir.admin.changes" "{request}" []
        "Requests to the admin server that may change something";
    ADMIN_DENIED = Counter "weir.admin.denied" "{request}" []
        "Requests to the admin server from those who may not make them";
    CONFIG_PENDING = Gauge "weir.config.pending" "{setting}" []
        "Settings that were changed in the file and wait for a restart";
    CONFIG_RELOADS = Counter "weir.config.reloads" "{reload}" ["outcome"]
        "How often the configuration file was read again";
    DATABASE_AMBIGUOUS_MATCHES = Counter "weir.database.ambiguous_matches" "{match}" []
        "Parameter sets found to match more than one variant of a name";
    DATABASE_DEMAND = Gauge "weir.database.demand" "{locator}" []
        "Locators that control planes have yet to be asked for";
    DATABASE_EXPIRED = Counter "weir.database.expired" "{resource}" []
        "Resources that upstream did not refresh within their time to live";
    DATABASE_LOCK_HOLD_TIME = Histogram "weir.database.lock_hold_time" "s" []
        "For how long the lock of a type was held, where it was 0.1 ms or longer";
    DATABASE_PARAMETER_SETS_DISPLACED = Counter "weir.database.parameter_sets_displaced" "{set}" ["authority"]
        "Idle parameter sets that gave way to new ones, which had no room or the same node id";
    DATABASE_REFUSED = Counter "weir.database.refused" "{subscription}" ["authority", "limit"]
        "Subscriptions that were refused when clients asked for them, since too much would be asked of upstream";
    DATABASE_RESOURCES = Gauge "weir.database.resources" "{resource}" ["type"]
        "Variants of resources that are held";
    DATABASE_SELECTIONS = Gauge "weir.database.selections" "{locator}" ["type"]
        "Distinct locators that are wanted from upstream";
    DATABASE_SIZE = Gauge "weir.database.size" "By" ["type"]
        "Bytes of the resources that are held; equal bytes of variants of a name count once for each";
    DATABASE_SUBSCRIPTIONS = Gauge "weir.database.subscriptions" "{subscription}" ["type"]
        "Types that clients are subscribed to, each stream for itself";
    DATABASE_TOMBSTONES = Gauge "weir.database.tombstones" "{resource}" ["type"]
        "Removed variants that some stream still has to be sent";
    DATABASE_UNCACHEABLE_REFETCHES = Counter "weir.database.uncacheable_refetches" "{locator}" []
        "Locators that were asked for upstream once more, since what came must not be cached";
    DATABASE_VIEWS = Gauge "weir.database.views" "{view}" ["type"]
        "Distinct subscriptions of streams";
    DOWNSTREAM_ACKS = Counter "weir.downstream.acks" "{response}" ["dialect", "type"]
        "Responses that clients accepted";
    DOWNSTREAM_ADMISSION_REJECTIONS = Counter "weir.downstream.admission_rejections" "{client}" ["reason"]
        "Connections and streams that there was no room for";
    DOWNSTREAM_ADMITTED = Counter "weir.downstream.admitted" "{stream}" ["dialect", "service", "transport"]
        "Streams of clients that were let in";
    DOWNSTREAM_CLOSED_UNAVAILABLE = Counter "weir.downstream.closed_unavailable" "{stream}" ["dialect"]
        "Streams and polls closed since nothing that they ask for is cached and no control plane can be reached";
    DOWNSTREAM_CONNECTIONS = UpDownCounter "weir.downstream.connections" "{connection}" []
        "Open connections of clients";
    DOWNSTREAM_DENIED = Counter "weir.downstream.denied" "{locator}" ["type"]
        "Names and wildcards that clients asked for, and may not have";
    DOWNSTREAM_FIRST_RESPONSE_TIMEOUTS = Counter "weir.downstream.first_response_timeouts" "{timeout}" ["dialect"]
        "First responses sent without names that no control plane had answered in time";
    DOWNSTREAM_HANDSHAKES = Counter "weir.downstream.handshakes" "{handshake}" ["outcome"]
        "TLS handshakes with clients";
    DOWNSTREAM_HEARTBEATS = Counter "weir.downstream.heartbeats" "{response}" ["dialect", "type"]
        "Heartbeats sent to clients: responses that only renew times to live";
    DOWNSTREAM_NACKS = Counter "weir.downstream.nacks" "{response}" ["dialect", "type"]
        "Responses that clients rejected";
    DOWNSTREAM_NODES_REFUSED = Counter "weir.downstream.nodes_refused" "{stream}" ["reason"]
        "Streams and polls refused since the node of the client cannot be forwarded";
    DOWNSTREAM_OVERSIZED_RESPONSES = Counter "weir.downstream.oversized_responses" "{response}" ["type"]
        "Responses encoded that are larger than clients take, and cannot be split";
    DOWNSTREAM_RECONNECTS_REQUESTED = Counter "weir.downstream.reconnects_requested" "{connection}" ["reason"]
        "Connections whose clients were asked to connect anew";
    DOWNSTREAM_REMOVAL_TIMEOUTS = Counter "weir.downstream.removal_timeouts" "{timeout}" ["dialect"]
        "Times that clients were sent removals of clusters or endpoints that they had not given up by name in time";
    DOWNSTREAM_REQUESTS = Counter "weir.downstream.requests" "{request}" ["dialect"]
        "Requests of clients, acknowledgements included";
    DOWNSTREAM_RESPONSES = Counter "weir.downstream.responses" "{response}" ["dialect", "type"]
        "Responses sent to clients";
    DOWNSTREAM_SENT = Counter "weir.downstream.sent" "By" ["dialect", "type"]
        "Bytes of responses sent to clients, before compression and encryption";
    DOWNSTREAM_SPLIT_RESPONSES = Counter "weir.downstream.split_responses" "{response}" ["type"]
        "Changes encoded as more than one response";
    DOWNSTREAM_STALLED = Counter "weir.downstream.stalled" "{connection}" []
        "Connections of clients that were cut off since they did not read";
    DOWNSTREAM_STREAMS = UpDownCounter "weir.downstream.streams" "{stream}" ["dialect", "service", "transport"]
        "Open streams of clients";
    DOWNSTREAM_STREAMS_REJECTED = Counter "weir.downstream.streams_rejected" "{stream}" ["dialect"]
        "Streams ended because of what the client asked for";
    DOWNSTREAM_WARMING_TIMEOUTS = Counter "weir.downstream.warming_timeouts" "{timeout}" ["dialect"]
        "Times that listeners and routes no longer waited for new clusters to warm";
    EXPORT_FAILURES = Counter "weir.export.failures" "{file}" []
        "Attempts to write a file that failed";
    EXPORT_WRITES = Counter "weir.export.writes" "{file}" []
        "Files written";
    FILES_PROBLEMS = Gauge "weir.files.problems" "{problem}" []
        "What is wrong with the resource files now";
    FILES_RELOADS = Counter "weir.files.reloads" "{reload}" []
        "How often resource files were read";
    LOAD_REPORTS_CONNECTIONS = UpDownCounter "weir.load_reports.connections" "{connection}" ["authority"]
        "Open connections to control planes that carry load reports";
    LOAD_REPORTS_ENDS = Counter "weir.load_reports.ends" "{stream}" ["code"]
        "Streams of load reports that ended, by the status that the client was sent; those that clients reset are CANCELLED";
    LOAD_REPORTS_MESSAGES = Counter "weir.load_reports.messages" "{message}" ["sender"]
        "Messages on streams of load reports that were passed on";
    LOAD_REPORTS_SIZE = Counter "weir.load_reports.size" "By" ["sender"]
        "Bytes of the messages on streams of load reports that were passed on";
    LOAD_REPORTS_STREAMS = UpDownCounter "weir.load_reports.streams" "{stream}" []
        "Open streams of load reports of clients";
    LOG_DROPPED = Counter "weir.log.dropped" "{line}" []
        "Log lines dropped because standard error was not read";
    LOG_SUPPRESSED = Counter "weir.log.suppressed" "{line}" []
        "Log lines suppressed because there were too many of one kind";
    PROPAGATION_DURATION = Histogram "weir.propagation.duration" "s" ["authority", "outcome", "type"]
        "From the receipt of a response of a control plane to the last answer of a client that it concerns";
    RESPONSE_CACHE_EVICTIONS = Counter "weir.response_cache.evictions" "{response}" ["cause"]
        "Encoded responses that are kept no longer";
    RESPONSE_CACHE_LOOKUPS = Counter "weir.response_cache.lookups" "{lookup}" ["result"]
        "Steps of streams whose bytes were there already, or had to be made";
    RESPONSE_CACHE_SIZE = Gauge "weir.response_cache.size" "By" []
        "Bytes of encoded responses that are kept for streams that have yet to be sent the same";
    STORE_FAILURES = Counter "weir.store.failures" "{failure}" ["operation"]
        "What the store could not do: open its file, write or read";
    STORE_PENDING = Gauge "weir.store.pending" "{row}" []
        "Rows of the store that are still to be written, after its last transaction";
    STORE_RECALLED = Counter "weir.store.recalled" "{resource}" ["type"]
        "Resources that were taken from the store for a warm start";
    STORE_REFUSED = Counter "weir.store.refused" "{resource}" []
        "Resources that were not stored, since the store is full";
    STORE_ROWS = Counter "weir.store.rows" "{row}" []
        "Rows that the store has written";
    STORE_SIZE = Gauge "weir.store.size" "By" []
        "How much of the store's file is in use";
    STORE_UNREADABLE = Counter "weir.store.unreadable" "{row}" []
        "Rows of the store that could not be read";
    STORE_WRITES = Counter "weir.store.writes" "{transaction}" []
        "Transactions that the store has written";
    TLS_CERTIFICATE_VALID_UNTIL = Gauge "weir.tls.certificate_valid_until" "s" ["place"]
        "When the certificate in use expires, in seconds since 1970";
    TLS_RELOADS = Counter "weir.tls.reloads" "{change}" ["outcome", "place"]
        "Changes of certificates and tokens that were taken over, or refused as bad";
    UPSTREAM_ACKNOWLEDGEMENT_HOLD_TIME = Histogram "weir.upstream.acknowledgement_hold_time" "s" ["authority", "dialect", "late", "type"]
        "How long acknowledgements waited for subscribers";
    UPSTREAM_AGE = Gauge "weir.upstream.age" "s" ["authority"]
        "For how long no stream to a control plane was connected or lost";
    UPSTREAM_CONNECTIONS = UpDownCounter "weir.upstream.connections" "{connection}" ["authority", "dialect"]
        "Connections to control planes, which upstream streams share";
    UPSTREAM_CONNECTS = Counter "weir.upstream.connects" "{stream}" ["authority", "dialect"]
        "Streams connected to control planes, each by a connection of its own or one that it shares";
    UPSTREAM_DEBOUNCED = Counter "weir.upstream.debounced" "{response}" ["authority", "dialect", "type"]
        "Responses of control planes whose changes were made one with those of another";
    UPSTREAM_DISCONNECTS = Counter "weir.upstream.disconnects" "{stream}" ["authority", "dialect"]
        "Streams to control planes that ended";
    UPSTREAM_ENDPOINTS = UpDownCounter "weir.upstream.endpoints" "{stream}" ["authority", "dialect", "endpoint"]
        "Streams to control planes by the endpoint that they are on, or were on last";
    UPSTREAM_HEARTBEATS = Counter "weir.upstream.heartbeats" "{resource}" ["authority", "dialect", "type"]
        "Resources refreshed without being sent";
    UPSTREAM_HELD_ACKNOWLEDGEMENTS = UpDownCounter "weir.upstream.held_acknowledgements" "{response}" ["authority", "dialect"]
        "Responses of control planes whose acknowledgement waits for subscribers";
    UPSTREAM_MOVES = Counter "weir.upstream.moves" "{stream}" ["authority", "dialect", "direction"]
        "Moves of streams from one endpoint of a control plane to another";
    UPSTREAM_NACKS = Counter "weir.upstream.nacks" "{response}" ["authority", "by", "dialect", "type"]
        "Responses of control planes that were rejected, for Weir's own reasons or its subscribers'";
    UPSTREAM_PREFETCH_WAITING = Gauge "weir.upstream.prefetch_waiting" "{subscription}" ["authority"]
        "Subscriptions made before any client asks (prefetch) of which something is not answered";
    UPSTREAM_REJECTED = Counter "weir.upstream.rejected" "{resource}" ["authority", "dialect", "type"]
        "Resources of control planes that were not accepted";
    UPSTREAM_RESOURCE_ERRORS = Counter "weir.upstream.resource_errors" "{error}" ["authority", "code", "dialect", "type"]
        "Errors of single resources that control planes reported";
    UPSTREAM_RESPONSES = Counter "weir.upstream.responses" "{response}" ["authority", "dialect", "type"]
        "Responses of control planes";
    UPSTREAM_SHRINKS = Counter "weir.upstream.shrinks" "{resource}" ["authority", "dialect", "loss", "outcome", "type"]
        "Removals, and assignments without endpoints, that were too many at once, and what became of them";
    UPSTREAM_STALENESS = Gauge "weir.upstream.staleness" "s" ["authority"]
        "How long the oldest stream that is not connected has been away; 0 while all are connected";
    UPSTREAM_STREAMS = Gauge "weir.upstream.streams" "{stream}" ["authority", "state"]
        "Streams to control planes, and sources of files, by how they are";
    UPSTREAM_UNCONFIRMED = UpDownCounter "weir.upstream.unconfirmed" "{resource}" ["authority", "dialect", "type"]
        "Resources that are served from the store, and not yet vouched for by their control plane";
    UPSTREAM_UNFIT = Counter "weir.upstream.unfit" "{connection}" ["authority", "dialect"]
        "Endpoints that were tried beside the one in use, in vain";
    UPSTREAM_WITHHELD_REMOVALS = Gauge "weir.upstream.withheld_removals" "{resource}" ["authority", "loss", "type"]
        "Removals, and assignments without endpoints, that wait to be confirmed, since they were too many at once";
}
