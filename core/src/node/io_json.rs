//! What a node is given, read from a tape.

use super::io::{Command, FileInfo, HostRow, Input, Restored};
use crate::fetch::{DialError, Get, PartRow, Source, StoreError, Ticket};
use crate::id::ConnId;
use crate::json::{enum_from_json, struct_from_json};

enum_from_json!(Input, Self::Closed { conn: ConnId(0) }, {
    "start" => Start(restored),
    "accepted" => Accepted { conn, peer },
    "dialed" => Dialed { conn, local },
    "dial_failed" => DialFailed { conn, why },
    "bytes" => Bytes { conn, data },
    "closed" => Closed { conn },
    "backlog" => Backlog { conn, bytes },
    "served" => Served { conn, bytes },
    "stored" => Stored { conn, bytes },
    "disk_failed" => DiskFailed { conn, why },
    "verified" => Verified { fetch, sha1 },
    "shared" => Shared(file),
    "unshared" => Unshared { index },
    "command" => Command(command),
});
enum_from_json!(Command, Self::Stop, {
    "get" => Get(get),
    "cancel" => Cancel { fetch },
    "ask_now" => AskNow { fetch },
    "sleep" => Sleep { fetch, length },
    "giv" => Giv { to, index },
    "expect_giv" => ExpectGiv { fetch, servent, index },
    "join" => Join { at },
    "nearby" => Nearby { at },
    "search" => Search { search, words },
    "end_search" => EndSearch { search },
    "ask_push" => AskPush { servent, index, via },
    "slots" => Slots { slots },
    "listening" => Listening { at },
    "stop" => Stop,
});
enum_from_json!(DialError, Self::Refused, {
    "refused" => Refused,
    "timed_out" => TimedOut,
    "unreachable" => Unreachable,
    "no_descriptor" => NoDescriptor,
});
enum_from_json!(StoreError, Self::Failed, {
    "full" => Full, "denied" => Denied, "changed" => Changed, "failed" => Failed,
});
struct_from_json!(FileInfo, blank, Whole, { index, name, size, sha1, key });
struct_from_json!(Restored, default, Lenient, { servent, listen, queue, fetches, shared, hosts });
struct_from_json!(HostRow, blank, Whole, { at, heard });
struct_from_json!(PartRow, blank, Whole, { fetch, get, size, have, tickets });
struct_from_json!(Ticket, blank, Whole, { at, ticket, told, not_before, deadline });
struct_from_json!(Get, blank, Whole, { name, sha1, sources });
struct_from_json!(Source, blank, Whole, { at, target, host });
