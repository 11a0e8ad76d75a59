//! Where a share is reached: addresses that others can use, and a QR code of
//! the first one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use if_addrs::get_if_addrs;
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

use crate::cli::search::from_here;

/// The addresses at which a servent that listens at `listen` is reached: those
/// of the local network, or only this machine if there are no others.
pub(crate) fn addresses(listen: &[SocketAddr]) -> Vec<SocketAddr> {
    // If the system does not list its addresses, the loopback remains.
    let interfaces = get_if_addrs().unwrap_or_default();
    let ours: Vec<IpAddr> = interfaces.iter().map(|interface| interface.ip()).collect();
    reached(listen, &ours)
}

/// What others have to type to reach a socket that listens at `at`, which for
/// IPv6 takes IPv4 too; without the port if that is the `usual` one.
pub(crate) fn place(at: SocketAddr, usual: u16) -> String {
    let both = [SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), at.port()), at];
    let listen = if at.ip() == Ipv6Addr::UNSPECIFIED { &both[..] } else { &both[1..] };
    match addresses(listen).first().copied().unwrap_or(at) {
        SocketAddr::V4(v4) if v4.port() == usual => v4.ip().to_string(),
        other => other.to_string(),
    }
}

/// Host and port as a URL has them: what is reached by one link alone names the
/// interface to it (RFC 6874).
pub(crate) fn in_url(at: SocketAddr) -> String {
    let interfaces = get_if_addrs().unwrap_or_default();
    let name = |index| interfaces.iter().find(|it| it.index == Some(index)).map(|it| &it.name);
    match at {
        SocketAddr::V6(v6) if v6.scope_id() > 0 => match name(v6.scope_id()) {
            Some(name) => format!("[{}%25{name}]:{}", v6.ip(), v6.port()),
            None => format!("[{}%25{}]:{}", v6.ip(), v6.scope_id(), v6.port()),
        },
        at => at.to_string(),
    }
}

fn reached(listen: &[SocketAddr], ours: &[IpAddr]) -> Vec<SocketAddr> {
    let mut reached: Vec<SocketAddr> = Vec::new();
    for at in listen {
        if !at.ip().is_unspecified() {
            reached.push(*at);
            continue;
        }
        // One of all IPv6 addresses takes IPv4 too, unless another socket does.
        let of_ipv4 = |other: &SocketAddr| other.is_ipv4() && other.port() == at.port();
        let both = at.is_ipv6() && !listen.iter().any(of_ipv4);
        let taken = |ip: &IpAddr| both || ip.is_ipv4() == at.is_ipv4();
        let others = ours.iter().filter(|ip| taken(ip) && is_of_use(**ip));
        reached.extend(others.map(|ip| SocketAddr::new(*ip, at.port())));
    }
    if reached.is_empty() {
        reached.extend(listen.first().map(|at| from_here(*at)));
    }
    reached
}

/// True for addresses that work in another machine's address bar.
fn is_of_use(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local(),
    }
}

/// An address as a QR code for a dark terminal; `None` if a telephone cannot
/// reach it.
pub(crate) fn picture(at: SocketAddr, url: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(url, EcLevel::L).ok();
    let code = code.filter(|_| !at.ip().is_loopback())?;
    let mut picture = code.render::<Dense1x2>();
    // Printed characters are the light modules.
    Some(picture.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_link_names_the_interface() {
        let at =
            |scope| SocketAddr::V6(std::net::SocketAddrV6::new(Ipv6Addr::LOCALHOST, 7, 0, scope));
        let interfaces = get_if_addrs().unwrap();
        let one = interfaces.iter().find(|it| it.index.is_some()).unwrap();
        assert_eq!(in_url(at(one.index.unwrap())), format!("[::1%25{}]:7", one.name));
        assert_eq!(in_url(at(0)), "[::1]:7");
        assert_eq!(in_url(([10, 0, 0, 1], 80).into()), "10.0.0.1:80");
    }

    fn addrs(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|at| at.parse().unwrap()).collect()
    }

    #[test]
    fn every_address_stands_for_those_of_the_network() {
        let ours: Vec<IpAddr> = ["127.0.0.1", "::1", "192.168.1.7", "fe80::1", "2001:db8::7"]
            .map(|ip| ip.parse().unwrap())
            .to_vec();
        let every = addrs(&["0.0.0.0:6346", "[::]:6346"]);
        assert_eq!(reached(&every, &ours), addrs(&["192.168.1.7:6346", "[2001:db8::7]:6346"]));
        assert_eq!(reached(&every[1..], &ours), reached(&every, &ours), "IPv6 takes both");
        assert_eq!(reached(&every[..1], &ours), addrs(&["192.168.1.7:6346"]));
        assert_eq!(reached(&every, &ours[..2]), addrs(&["127.0.0.1:6346"]));
        let one = addrs(&["127.0.0.1:7"]);
        assert_eq!(reached(&one, &ours), one);
    }

    #[test]
    fn only_what_a_telephone_can_reach_is_a_picture() {
        let [here, there] = addrs(&["127.0.0.1:7", "192.168.1.7:7"])[..] else { panic!() };
        assert_eq!(picture(here, "http://127.0.0.1:7/"), None);
        let picture = picture(there, "http://192.168.1.7:7/").unwrap();
        // 25 modules and a margin of 4 on each side, two per line.
        let widths: Vec<usize> = picture.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths, [33; 17]);
    }
}
