//! Counters of the node's events, for display only: no decision depends on
//! them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use servent_core::fetch;
use servent_core::node::{ConnEvent, NodeLimit};
use servent_core::queue::{self, QueueRefusal};
use servent_core::trace::Event;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Totals since the start.
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $($(#[$doc])* pub(crate) $name: AtomicU64,)* }

        impl Counters {
            /// All of them, by name.
            pub(crate) fn snapshot(&self) -> BTreeMap<&'static str, u64> {
                BTreeMap::from([$((stringify!($name), self.$name.load(Ordering::Relaxed)),)*])
            }
        }
    };
}

counters! {
    connections_accepted, connections_closed, dials, dials_failed,
    requests, replies_2xx, replies_4xx, replies_5xx, replies_other,
    replies_200, replies_206, replies_404, replies_416, replies_429, replies_503,
    limit_connections, limit_connections_per_ip, limit_head_bytes, limit_head_lines,
    limit_request_deadline, limit_idle_deadline, limit_reader_rate, limit_pipeline, limit_inbox,
    limit_backlog, limit_other,
    refused_queue_full, refused_per_address, refused_hammering,
    queue_arrived, queue_lost, queue_calls,
    uploads_started, uploads_finished, uploads_broken, bytes_sent, files_received, bytes_received,
    downloads_done, downloads_failed, bytes_stored,
    /// Turns of the node's task.
    turns,
    /// Inputs and timeouts handled by the node.
    inputs,
    /// Transactions of the store.
    commits,
    /// Changes in them.
    changes,
    /// Microseconds they took.
    commit_micros,
    /// How often the database of the site went away.
    store_outages,
    /// Lines left out of the trace file.
    trace_lines_dropped,
}

pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

impl Counters {
    /// Counts an event.
    pub(crate) fn count(&self, event: &Event) {
        match event {
            Event::Conn(event) => self.conn(event),
            Event::Queue(event) => self.queue(event),
            Event::Fetch(event) => self.fetch(event),
            _ => {}
        }
    }

    fn conn(&self, event: &ConnEvent) {
        match event {
            ConnEvent::Accepted { .. } => add(&self.connections_accepted, 1),
            ConnEvent::Closed { .. } => add(&self.connections_closed, 1),
            ConnEvent::Dialing { .. } => add(&self.dials, 1),
            ConnEvent::DialFailed { .. } => add(&self.dials_failed, 1),
            ConnEvent::Request { .. } => add(&self.requests, 1),
            ConnEvent::Reply { status, .. } => self.reply(*status),
            ConnEvent::Sent { bytes, .. } => add(&self.bytes_sent, *bytes),
            ConnEvent::Committed { bytes, .. } => {
                add(&self.files_received, 1);
                add(&self.bytes_received, *bytes);
            }
            ConnEvent::Limit { limit, .. } => add(self.limit(*limit), 1),
            _ => {}
        }
    }

    fn reply(&self, status: u16) {
        let class = match status {
            200..300 => &self.replies_2xx,
            400..500 => &self.replies_4xx,
            500..600 => &self.replies_5xx,
            _ => &self.replies_other,
        };
        add(class, 1);
        let one = match status {
            200 => &self.replies_200,
            206 => &self.replies_206,
            404 => &self.replies_404,
            416 => &self.replies_416,
            429 => &self.replies_429,
            503 => &self.replies_503,
            _ => return,
        };
        add(one, 1);
    }

    const fn limit(&self, limit: NodeLimit) -> &AtomicU64 {
        match limit {
            NodeLimit::Connections => &self.limit_connections,
            NodeLimit::ConnectionsPerIp => &self.limit_connections_per_ip,
            NodeLimit::HeadBytes => &self.limit_head_bytes,
            NodeLimit::HeadLines => &self.limit_head_lines,
            NodeLimit::RequestDeadline => &self.limit_request_deadline,
            NodeLimit::IdleDeadline => &self.limit_idle_deadline,
            NodeLimit::ReaderRate => &self.limit_reader_rate,
            NodeLimit::Pipeline => &self.limit_pipeline,
            NodeLimit::Backlog => &self.limit_backlog,
            NodeLimit::InboxFile
            | NodeLimit::InboxBytes
            | NodeLimit::InboxFiles
            | NodeLimit::InboxName
            | NodeLimit::InboxUploads
            | NodeLimit::InboxRate => &self.limit_inbox,
            NodeLimit::Garbage | NodeLimit::StrangerDials => &self.limit_other,
        }
    }

    fn queue(&self, event: &queue::Event) {
        match event {
            queue::Event::Arrived { .. } => add(&self.queue_arrived, 1),
            queue::Event::Lost { .. } => add(&self.queue_lost, 1),
            queue::Event::Called { .. } => add(&self.queue_calls, 1),
            queue::Event::Started { .. } => add(&self.uploads_started, 1),
            queue::Event::Finished { .. } => add(&self.uploads_finished, 1),
            queue::Event::Reserved { .. } => add(&self.uploads_broken, 1),
            queue::Event::Refused { why, .. } => match why {
                QueueRefusal::QueueFull => add(&self.refused_queue_full, 1),
                QueueRefusal::PerAddress => add(&self.refused_per_address, 1),
                QueueRefusal::Hammering => add(&self.refused_hammering, 1),
            },
            _ => {}
        }
    }

    fn fetch(&self, event: &fetch::Event) {
        match event {
            fetch::Event::Done { .. } => add(&self.downloads_done, 1),
            fetch::Event::Failed { .. } => add(&self.downloads_failed, 1),
            fetch::Event::Stored { start, end, .. } => add(&self.bytes_stored, end - start),
            _ => {}
        }
    }
}
