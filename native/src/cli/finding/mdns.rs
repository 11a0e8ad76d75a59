//! What is announced in the local network by multicast DNS, until it is dropped.

use std::net::IpAddr;
use std::time::Duration;

use mdns_sd::{Error, ServiceDaemon, ServiceInfo};

/// How long to wait for the goodbye to be sent.
const GOODBYE: Duration = Duration::from_secs(1);

/// Looks around in the local network, and may announce a service there.
pub(crate) struct LocalNetwork {
    pub(crate) daemon: ServiceDaemon,
    /// The full name of what is announced.
    pub(crate) name: Option<String>,
}

/// What is announced.
pub(crate) struct Announcement<'a> {
    /// The kind of service, such as `_gnutella._tcp.local.`.
    pub(crate) service: &'a str,
    pub(crate) name: &'a str,
    /// The name of this machine there.
    pub(crate) host: &'a str,
    /// Where it listens; unspecified addresses mean all that this machine has.
    pub(crate) listen: &'a [IpAddr],
    pub(crate) port: u16,
}

impl LocalNetwork {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Self { daemon: ServiceDaemon::new()?, name: None })
    }

    pub(crate) fn announce(&mut self, it: &Announcement<'_>) -> Result<(), Error> {
        let everywhere = it.listen.iter().any(IpAddr::is_unspecified);
        let here: Vec<IpAddr> =
            it.listen.iter().copied().filter(|ip| !ip.is_unspecified()).collect();
        let nothing: &[(&str, &str)] = &[];
        let info = ServiceInfo::new(it.service, it.name, it.host, &here[..], it.port, nothing)?;
        let info = if everywhere { info.enable_addr_auto() } else { info };
        self.name = Some(info.get_fullname().to_owned());
        self.daemon.register(info)
    }
}

impl Drop for LocalNetwork {
    fn drop(&mut self) {
        // Then others need not wait for our record to expire.
        if let Some(gone) = self.name.as_ref().and_then(|name| self.daemon.unregister(name).ok()) {
            let _ = gone.recv_timeout(GOODBYE); // No reply is needed.
        }
        let _ = self.daemon.shutdown(); // It may have ended.
    }
}
