//! Sending full packets.
//!
//! The system hands a file to the socket sixteen pages at a time. On a path
//! whose packets carry slightly less than that, such as loopback, each batch
//! would leave as one full packet and one tiny one: twice the packets and a
//! third of the throughput.

use std::os::fd::AsFd;

use rustix::net::sockopt::set_tcp_cork;

/// While this exists a socket sends full packets only. When it is dropped, the
/// rest is sent at once.
pub(crate) struct Cork<S: AsFd>(S);

impl<S: AsFd> Cork<S> {
    /// Holds back partial packets. If the system cannot do that, only speed is
    /// lost.
    pub(crate) fn new(stream: S) -> Self {
        let _ = set_tcp_cork(&stream, true);
        Self(stream)
    }
}

impl<S: AsFd> Drop for Cork<S> {
    fn drop(&mut self) {
        let _ = set_tcp_cork(&self.0, false);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use rustix::net::sockopt::tcp_cork;

    use super::*;

    #[test]
    fn packets_are_held_back_as_long_as_it_lives() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let cork = Cork::new(&stream);
        assert!(tcp_cork(&stream).unwrap());
        drop(cork);
        assert!(!tcp_cork(&stream).unwrap());
    }
}
