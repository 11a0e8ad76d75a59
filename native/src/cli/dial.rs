//! Finds the address of a name at which the other side answers. Some addresses of a
//! name may be dead, IPv6 where it leads nowhere most of all: they are tried one
//! shortly after the other, and the first that answers is taken (RFC 8305).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use servent::transfer::knock;
use servent::unicast::{Endpoint, EndpointOptions};
use tokio::net::lookup_host;

use super::unicast::{PORT, bind};
use crate::exit::{Exit, Failure, error_text};

/// How long one address is tried alone (RFC 8305 §8).
const STAGGER: Duration = Duration::from_millis(250);
/// How many addresses of a name are tried.
const ADDRESSES: usize = 8;

/// The address to talk to: the only one of a name, or the first that answers.
pub(super) async fn resolve(to: &str, options: &EndpointOptions) -> Result<SocketAddr, Failure> {
    let named = match to.rsplit_once(':') {
        _ if to.parse::<Ipv6Addr>().is_ok() => format!("[{to}]:{PORT}"),
        Some((_, port)) if port.parse::<u16>().is_ok() => to.to_owned(),
        _ => format!("{to}:{PORT}"),
    };
    let why = match lookup_host(&named).await {
        Ok(found) => match &interleaved(found.collect())[..] {
            [] => String::from("it has no address"),
            [one] => return Ok(*one),
            several => return Ok(answering(several, options).await),
        },
        Err(e) => error_text(&e),
    };
    Err(Failure::new(Exit::Network, format!("cannot find {to}: {why}"))
        .next("check the name and the network"))
}

/// The addresses of both families in turn, in the order of the system (RFC 8305 §4).
fn interleaved(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first = found.first().is_some_and(SocketAddr::is_ipv6);
    let (one, other): (Vec<_>, Vec<_>) = found.into_iter().partition(|at| at.is_ipv6() == first);
    let mut all: Vec<SocketAddr> = Vec::new();
    for n in 0..one.len().max(other.len()) {
        for at in [one.get(n), other.get(n)].into_iter().flatten() {
            if !all.contains(at) {
                all.push(*at);
            }
        }
    }
    all.truncate(ADDRESSES);
    all
}

/// The first that answers. If none does, the first: what is wrong with it shows when
/// it is used.
async fn answering(several: &[SocketAddr], options: &EndpointOptions) -> SocketAddr {
    let (mut tried, mut next) = (FuturesUnordered::new(), several.iter());
    loop {
        let more = next.next();
        if let Some(at) = more {
            tried.push(answers(*at, options));
        }
        let stagger = async {
            match more {
                Some(_) => tokio::time::sleep(STAGGER).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            answer = tried.next() => match answer {
                Some(Some(at)) => return at,
                Some(None) => {}
                None => return several[0],
            },
            () = stagger => {}
        }
    }
}

/// This address, if a peer answers there.
async fn answers(at: SocketAddr, options: &EndpointOptions) -> Option<SocketAddr> {
    let options = EndpointOptions {
        only: Some(at),
        config: options.config.clone(),
        ..EndpointOptions::default()
    };
    let endpoint = Endpoint::bind(any(at), options).await.ok()?;
    let connection = endpoint.connect(at).ok()?;
    knock(&connection).await.ok()?;
    tokio::spawn(async move {
        let _ = connection.close().await; // It was only a knock.
        drop(endpoint);
    });
    Some(at)
}

/// Any address and port of the same family.
pub(super) fn any(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// Binds for this peer alone.
pub(super) async fn bind_for(
    peer: SocketAddr,
    from: Option<SocketAddr>,
    options: EndpointOptions,
) -> Result<Endpoint, Failure> {
    bind(from.unwrap_or_else(|| any(peer)), EndpointOptions { only: Some(peer), ..options }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_families_take_turns() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (a, b, c) = (at("[2001:db8::1]:1"), at("[2001:db8::2]:1"), at("192.0.2.1:1"));
        assert_eq!(interleaved(vec![a, b, a, c]), [a, c, b]);
        assert_eq!(interleaved(vec![c, a]), [c, a]);
        assert_eq!(interleaved(Vec::new()), []);
    }
}
