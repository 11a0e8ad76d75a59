//! Finds the address of a name at which the other side answers. Some addresses of a
//! name may be dead, IPv6 where it leads nowhere most of all: they are tried one
//! shortly after the other, and the first that answers is taken (RFC 8305).

use std::net::{Ipv6Addr, SocketAddr};

use servent::driver::host_and_port;
use servent::transfer::knock;
use servent::unicast::{Endpoint, EndpointOptions};
use servent::{any_address, first_to_answer, resolve_host};

use crate::cli::carry::unicast::{PORT, bind};
use crate::exit::{Exit, Failure, error_text};

/// An error when what follows a host is a number and no port.
pub(crate) fn check_port(host: &str) -> Result<(), Failure> {
    let Some((name, port)) = host.rsplit_once(':') else { return Ok(()) };
    // An IPv6 address without brackets has no port.
    let named = !name.contains(':') || name.ends_with(']');
    let number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if named && number && !matches!(port.parse::<u16>(), Ok(1..)) {
        return Err(Failure::usage(format!("{host}: a port is a number from 1 to 65535")));
    }
    Ok(())
}

/// The address to talk to: the only one of a name, or the first that answers. If
/// none does, the first: what is wrong with it shows when it is used.
pub(crate) async fn resolve(to: &str, options: &EndpointOptions) -> Result<SocketAddr, Failure> {
    check_port(to)?;
    let (host, port) = match to.parse::<Ipv6Addr>() {
        Ok(_) => (to, PORT),
        Err(_) => host_and_port(to, PORT),
    };
    let found = resolve_host(host, port).await.map_err(|e| {
        Failure::new(Exit::Network, format!("cannot find {to}: {}", error_text(&e)))
            .next("check the name and the network")
    })?;
    if let [only] = found[..] {
        return Ok(only);
    }
    let answering = first_to_answer(&found, |at| answers(at, options)).await;
    Ok(answering.map_or(found[0], |(at, ())| at))
}

/// Ends well if a peer answers there.
async fn answers(at: SocketAddr, options: &EndpointOptions) -> Result<(), ()> {
    let options = EndpointOptions {
        only: Some(at),
        config: options.config.clone(),
        ..EndpointOptions::default()
    };
    let endpoint = Endpoint::bind(any_address(at), options).await.map_err(drop)?;
    let connection = endpoint.connect(at).map_err(drop)?;
    knock(&connection).await.map_err(drop)?;
    tokio::spawn(async move {
        let _ = connection.close().await; // It was only a knock.
        drop(endpoint);
    });
    Ok(())
}

/// Binds for this peer alone.
pub(crate) async fn bind_for(
    peer: SocketAddr,
    from: Option<SocketAddr>,
    options: EndpointOptions,
) -> Result<Endpoint, Failure> {
    bind(from.unwrap_or_else(|| any_address(peer)), EndpointOptions { only: Some(peer), ..options })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_port_is_told_and_an_address_has_none() {
        for right in ["h", "h:1", "h:65535", "[::1]:6348", "fe80::1", "::1", "h:x", "h:"] {
            assert!(check_port(right).is_ok(), "{right}");
        }
        for wrong in ["h:0", "h:65536", "10.0.0.7:99999", "[::1]:0"] {
            assert_eq!(check_port(wrong).unwrap_err().exit, Exit::Usage, "{wrong}");
        }
    }
}
