//! Finds the address of a name at which the other side answers. Some addresses of a
//! name may be dead, IPv6 where it leads nowhere most of all: they are tried one
//! shortly after the other, and the first that answers is taken (RFC 8305).

use std::net::{Ipv6Addr, SocketAddr};
use std::path::Path;

use servent::driver::host_and_port;
use servent::transfer::knock;
use servent::unicast::{Endpoint, EndpointOptions};
use servent::{any_address, first_to_answer, resolve_host, without_brackets};

use crate::cli::carry::unicast::{PORT, bind};
use crate::exit::{Exit, Failure, error_text};

/// The longest name that a host can have (RFC 1035 §2.3.4).
const LONGEST_NAME: usize = 253;

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

/// An error for what names no host, whatever the network is like: an address of a page,
/// a path, or nothing. `what` stands for the host in the sentence.
pub(crate) fn check_host(name: &str, what: &str) -> Result<(), Failure> {
    check_port(name)?;
    let (host, _) = match name.parse::<Ipv6Addr>() {
        Ok(_) => (name, PORT),
        Err(_) => host_and_port(name, PORT),
    };
    let bare = without_brackets(host);
    let (address, _zone) = bare.split_once('%').unwrap_or((bare, ""));
    let colons = bare.contains(':') && address.parse::<Ipv6Addr>().is_err();
    let foreign = |c: char| c.is_whitespace() || c.is_control() || "/\\@?#[]".contains(c);
    if bare.is_empty() || bare.len() > LONGEST_NAME || colons || bare.contains(foreign) {
        let shown: String = name.chars().take(LONGEST_NAME).collect();
        return Err(Failure::usage(format!("`{}` is no {what}", shown.escape_debug())).next(
            "give a host, and a port if it is not the usual one: place.example.org, \
             192.0.2.1:7000 or [2001:db8::1]:7000",
        ));
    }
    Ok(())
}

/// A hint when a file stands where the receiver should: a person has left the receiver out.
pub(crate) fn check_receiver(host: &str) -> Result<(), Failure> {
    if !Path::new(host).is_file() {
        return Ok(());
    }
    Err(Failure::usage(format!("{host} is a file, and no receiver is named")).next(format!(
        "name it first: servent send HOST {host}; without --open it may be left out"
    )))
}

/// The address to talk to: the only one of a name, or the first that answers. If
/// none does, the first: what is wrong with it shows when it is used.
pub(crate) async fn resolve(to: &str, options: &EndpointOptions) -> Result<SocketAddr, Failure> {
    check_host(to, "receiver")?;
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

    #[test]
    fn what_names_no_host_is_told_before_it_is_looked_for() {
        let right = ["h", "place.example.org:6349", "192.0.2.1", "::1", "[::1]", "[::1]:6349"];
        for right in right.into_iter().chain(["fe80::1%eth0", "[fe80::1%25eth0]:7", "bücher.de"]) {
            assert!(check_host(right, "place").is_ok(), "{right}");
        }
        let wrong = ["", " ", "http://place", "place/room", "me@place", "[::1", "a:b:c", "h:x"];
        for wrong in wrong.into_iter().chain(["h:", ":6349", "h:0", "h:99999", "a b", "h\n"]) {
            let failure = check_host(wrong, "place").unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{wrong}");
        }
    }
}
