//! Requests that programs of other makes were seen to send.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::net::SocketAddr;

/// What gtk-gnutella says it is.
pub(crate) const GTK: &str =
    "User-Agent: gtk-gnutella/1.2.3 (2024-03-03; Topless; Linux x86_64)\r\n";

/// gtk-gnutella asks for a file, with these further lines.
pub(crate) fn gtk_get(urn: &str, server: SocketAddr, lines: &str) -> String {
    format!(
        "GET /uri-res/N2R?{urn} HTTP/1.1\r\n\
         {GTK}\
         Host: {server}\r\n\
         X-Features: tls/1.0, fwalt/0.1, queue/1.1\r\n\
         X-Token: ZnqaHCOFi0Tlz59QVYl9uLsBZeJy/P3OUbtT; +a4=\r\n\
         Accept-Encoding: deflate\r\n\
         Upgrade: TLS/1.0\r\n\
         Connection: Upgrade\r\n\
         X-Queue: 1.1\r\n\
         {lines}\
         X-Downloaded: 0\r\n\r\n"
    )
}
