//! Asking the router for a port: by PCP or NAT-PMP, which cost a datagram, and where
//! it knows neither by UPnP.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::num::NonZeroU16;
use std::time::Duration;

use crab_nat::{
    InternetProtocol, PortMapping, PortMappingOptions, PortMappingType, TimeoutConfig, natpmp,
};
use igd_next::aio::Gateway;
use igd_next::aio::tokio::{Tokio, search_gateway};
use igd_next::{AddPortError, PortMappingProtocol, SearchOptions};
use servent::any_address;
use servent::sys::gateway;

use super::{PortProtocol, PortWish};

/// How long a router of this network may take to answer by PCP, at first; then
/// twice more, each time with twice that.
const DATAGRAM: Duration = Duration::from_millis(300);
/// How long the search for a router that speaks UPnP takes.
const SEARCH: Duration = Duration::from_secs(3);
/// What the table of the router says a port is for.
const PURPOSE: &str = "servent";

/// A port that the router forwards to us.
pub(super) struct RouterPort {
    /// Where it is from outside.
    pub(super) outside: SocketAddr,
    by: AskedBy,
}

/// How it was asked for, and is renewed.
enum AskedBy {
    Datagram(Box<PortMapping>),
    Upnp { router: Box<Gateway<Tokio>>, inside: SocketAddr },
}

impl RouterPort {
    /// Asks for it. The error is a sentence's second half.
    pub(super) async fn ask(wish: PortWish) -> Result<Self, String> {
        if let Some(router) = gateway() {
            match Self::by_datagram(router, wish).await {
                Ok(port) => return Ok(port),
                Err(why) => tracing::debug!(%router, why, "no port by PCP or NAT-PMP"),
            }
        }
        Self::by_upnp(wish).await
    }

    async fn by_datagram(router: IpAddr, wish: PortWish) -> Result<Self, String> {
        let inside = our_side(router).ok_or("this machine has no address there")?;
        let port = NonZeroU16::new(wish.port).ok_or("there is no port 0")?;
        let timeout_config = Some(TimeoutConfig {
            initial_timeout: DATAGRAM,
            max_retries: 2,
            max_retry_timeout: None,
        });
        let options = PortMappingOptions {
            external_port: Some(port),
            lifetime_seconds: Some(wish.seconds()),
            timeout_config,
        };
        let protocol = match wish.protocol {
            PortProtocol::Tcp => InternetProtocol::Tcp,
            PortProtocol::Udp => InternetProtocol::Udp,
        };
        let given = PortMapping::new(router.into(), inside, protocol, port, options).await;
        let given = given.map_err(|why| why.to_string())?;
        let outside = match given.mapping_type() {
            PortMappingType::Pcp { external_ip, .. } => external_ip,
            PortMappingType::NatPmp => {
                let ip = natpmp::external_address(router.into(), timeout_config).await;
                ip.map_err(|why| why.to_string())?.into()
            }
        };
        let outside = SocketAddr::new(outside.to_canonical(), given.external_port().get());
        Ok(Self { outside, by: AskedBy::Datagram(Box::new(given)) })
    }

    async fn by_upnp(wish: PortWish) -> Result<Self, String> {
        let mut options = SearchOptions::default();
        (options.timeout, options.single_search_timeout) = (Some(SEARCH), Some(SEARCH));
        let router = search_gateway(options).await;
        let router = router.map_err(|_| "no router answers PCP, NAT-PMP or UPnP".to_owned())?;
        let inside = our_side(router.addr.ip()).ok_or("this machine has no address there")?;
        let inside = SocketAddr::new(inside, wish.port);
        let refused = |why: &dyn std::fmt::Display| format!("the router refuses: {why}");
        let outside = router.get_external_ip().await.map_err(|why| refused(&why))?;
        let protocol = wish.protocol.of_upnp();
        let asked = router.add_port(protocol, wish.port, inside, wish.seconds(), PURPOSE).await;
        let port = match asked {
            Ok(()) => wish.port,
            Err(AddPortError::PortInUse) => {
                let any = router.add_any_port(protocol, inside, wish.seconds(), PURPOSE).await;
                any.map_err(|why| refused(&why))?
            }
            // It ends with us, or when the router is started again.
            Err(AddPortError::OnlyPermanentLeasesSupported) => {
                let asked = router.add_port(protocol, wish.port, inside, 0, PURPOSE).await;
                asked.map_err(|why| refused(&why)).map(|()| wish.port)?
            }
            Err(why) => return Err(refused(&why)),
        };
        let (outside, router) = (SocketAddr::new(outside, port), Box::new(router));
        Ok(Self { outside, by: AskedBy::Upnp { router, inside } })
    }

    /// By which protocol it was asked for.
    pub(super) fn protocol(&self) -> &'static str {
        match &self.by {
            AskedBy::Upnp { .. } => "UPnP",
            AskedBy::Datagram(port) => match port.mapping_type() {
                PortMappingType::NatPmp => "NAT-PMP",
                PortMappingType::Pcp { .. } => "PCP",
            },
        }
    }

    /// Asks for it again, before its time is over.
    pub(super) async fn renew(&mut self, wish: PortWish) -> Result<(), String> {
        match &mut self.by {
            AskedBy::Datagram(port) => {
                port.renew().await.map_err(|why| why.to_string())?;
                match port.external_port().get() == self.outside.port() {
                    true => Ok(()),
                    false => Err("the router gives another port now".to_owned()),
                }
            }
            AskedBy::Upnp { router, inside } => {
                let (protocol, port) = (wish.protocol.of_upnp(), self.outside.port());
                let asked = router.add_port(protocol, port, *inside, wish.seconds(), PURPOSE);
                match asked.await {
                    Ok(()) | Err(AddPortError::OnlyPermanentLeasesSupported) => Ok(()),
                    Err(why) => Err(why.to_string()),
                }
            }
        }
    }

    /// Gives it back.
    pub(super) async fn give_back(self, wish: PortWish) -> Result<(), String> {
        match self.by {
            AskedBy::Datagram(port) => port.try_drop().await.map_err(|(why, _)| why.to_string()),
            AskedBy::Upnp { router, .. } => {
                let removed = router.remove_port(wish.protocol.of_upnp(), self.outside.port());
                removed.await.map_err(|why| why.to_string())
            }
        }
    }
}

impl PortProtocol {
    const fn of_upnp(self) -> PortMappingProtocol {
        match self {
            Self::Tcp => PortMappingProtocol::TCP,
            Self::Udp => PortMappingProtocol::UDP,
        }
    }
}

/// The address of this machine on the way to another; nothing is sent.
fn our_side(of: IpAddr) -> Option<IpAddr> {
    let there = SocketAddr::new(of, 9);
    let socket = UdpSocket::bind(any_address(there)).ok()?;
    socket.connect(there).ok()?;
    Some(socket.local_addr().ok()?.ip())
}
