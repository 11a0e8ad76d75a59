//! Heads of HTTP requests and responses, and the file-sharing headers that are
//! not about queueing.
//!
//! Deployed peers fold headers, repeat them, and leave blanks in request lines;
//! servers also end lines with a bare LF. All of that is accepted, but a
//! request that two parsers could understand differently is refused (RFC 9112);
//! what we write is plain HTTP/1.1.

mod accept;
mod alts;
mod body;
mod chunks;
mod date;
mod head;
mod headers;
mod range;
mod target;
mod writer;

pub(crate) use self::accept::weight;
pub use self::head::{HeadError, HeadLimits, HttpMethod, HttpVersion, RequestHead, ResponseHead};
pub(in crate::wire) use self::head::{decimal, split_head};
pub use self::headers::Headers;
pub use self::range::RangeSpec;
pub use self::writer::HeadWriter;

pub use self::alts::Alts;
#[doc(hidden)]
pub use self::body::{BodyEncoding, body_encoding, disposed_name};
#[doc(hidden)]
pub use self::chunks::{Chunks, NotChunked, chunks};
#[doc(hidden)]
pub use self::date::HttpDate;
#[doc(hidden)]
pub use self::range::{AvailableRanges, ContentRange};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::target::Target;
pub(crate) use self::target::authority;
