//! What a node is given, read from a tape.

use alloc::vec::Vec;

use super::io::{Command, FileInfo, HostRow, Input, Message, Restored};
use crate::fetch::{DialError, Get, PartRow, Source, StoreError, Ticket};
use crate::id::ConnId;
use crate::json::{Fill, FromJson, Json, Wrong, enum_from_json, struct_from_json};
use crate::unicast::{Order, Payload, Side};

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
    "datagrams" => Datagrams { from, segment, data },
    "command" => Command(command),
    "flush" => Flush,
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
    "send_messages" => SendMessages { to, messages },
    "taken_messages" => TakenMessages { from, messages, bytes },
    "close_messages" => CloseMessages { to },
    "forget_messages" => ForgetMessages { peer, side },
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
struct_from_json!(Message, blank, Whole, { order, data });
struct_from_json!(FileInfo, blank, Whole, { index, name, size, sha1, key });
struct_from_json!(Restored, default, Lenient, { servent, listen, queue, fetches, shared, hosts });
struct_from_json!(HostRow, blank, Whole, { at, heard });
struct_from_json!(PartRow, blank, Whole, { fetch, get, size, have, tickets });
struct_from_json!(Ticket, blank, Whole, { at, ticket, told, not_before, deadline });
struct_from_json!(Get, blank, Whole, { name, sha1, sources });
struct_from_json!(Source, blank, Whole, { at, target, host });

enum_from_json!(Order, Self::InOrder, { "in_order" => InOrder, "at_once" => AtOnce });
enum_from_json!(Side, Self::Sender, { "sender" => Sender, "receiver" => Receiver });

impl Fill for Payload {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        let mut bytes = Vec::<u8>::new();
        bytes.fill(from)?;
        *self = bytes.into();
        Ok(())
    }
}
impl FromJson for Payload {
    fn blank() -> Self {
        Self::new()
    }
}
