//! Names with several addresses, of which some may be dead: attempts overlap, and
//! the first that succeeds is used (Happy Eyeballs, RFC 8305). A name whose IPv6
//! leads nowhere then costs a quarter of a second, and not a timeout.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::net::{TcpStream, lookup_host};

/// How long an attempt is alone before the next one begins (RFC 8305 §5).
const DELAY: Duration = Duration::from_millis(250);
/// The most addresses of one name that are tried.
const TRIED: usize = 16;

/// A host without the brackets that an IPv6 address may stand in.
#[must_use]
pub fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// The addresses of a host, in the order in which to try them. The host is a name
/// or an address, in brackets or not; that of a link may name its interface, as in
/// `fe80::1%eth0`, or in a URL `[fe80::1%25eth0]`.
///
/// # Errors
/// The host cannot be resolved, or has no address.
pub async fn resolve_host(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let bare = without_brackets(host);
    let bare = bare.replacen("%25", "%", 1);
    let found: Vec<SocketAddr> = lookup_host((bare, port)).await?.collect();
    if found.is_empty() {
        return Err(io::Error::other("it has no address"));
    }
    Ok(interleaved(found))
}

/// The families alternate, beginning with that of the first (RFC 8305 §4).
fn interleaved(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let six = found.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = found.into_iter().partition(|at| at.is_ipv6() == six);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut all = Vec::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] {
            break;
        }
        all.extend(pair.into_iter().flatten().filter(|at| !all.contains(at)).collect::<Vec<_>>());
    }
    all.truncate(TRIED);
    all
}

/// Makes an attempt for each address, the next one a quarter of a second after the
/// last or as soon as all have failed, until one succeeds; the others are dropped.
///
/// # Errors
/// All have failed: the error of the last one. `None` when there is no address.
pub async fn first_to_answer<T, E, F>(
    found: &[SocketAddr],
    attempt: impl Fn(SocketAddr) -> F,
) -> Result<(SocketAddr, T), Option<E>>
where
    F: Future<Output = Result<T, E>>,
{
    let mut waiting = found.iter().copied();
    let mut running = FuturesUnordered::new();
    let begin = |at: SocketAddr| {
        let attempt = attempt(at);
        async move { attempt.await.map(|made| (at, made)) }
    };
    running.extend(waiting.next().map(&begin));
    let mut failed = None;
    loop {
        let ended = match waiting.len() {
            0 => Ok(running.next().await),
            _ => tokio::time::timeout(DELAY, running.next()).await,
        };
        match ended {
            Ok(Some(Ok(made))) => return Ok(made),
            Ok(Some(Err(why))) => failed = Some(why),
            Ok(None) if waiting.len() == 0 => return Err(failed),
            Ok(None) | Err(_) => {}
        }
        running.extend(waiting.next().map(&begin));
    }
}

/// Connects to the first address that accepts.
///
/// # Errors
/// None does: the error of the last one.
pub async fn connect_first(found: &[SocketAddr]) -> io::Result<(SocketAddr, TcpStream)> {
    let none = || io::Error::other("it has no address");
    first_to_answer(found, TcpStream::connect).await.map_err(|why| why.unwrap_or_else(none))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_families_take_turns() {
        let found = ["[2001:db8::1]:1", "[2001:db8::2]:1", "10.0.0.1:1", "10.0.0.1:1"].map(at);
        let wanted = ["[2001:db8::1]:1", "10.0.0.1:1", "[2001:db8::2]:1"].map(at);
        assert_eq!(interleaved(found.to_vec()), wanted);
    }

    #[tokio::test]
    async fn a_dead_address_costs_a_quarter_of_a_second() {
        let found = ["[2001:db8::1]:1", "10.0.0.1:1"].map(at);
        let begun = tokio::time::Instant::now();
        let made = first_to_answer(&found, |at| async move {
            if at.is_ipv6() {
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            Ok::<_, ()>(at)
        });
        assert_eq!(made.await, Ok((found[1], found[1])));
        assert!((DELAY..DELAY * 8).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn one_that_refuses_costs_nothing_and_a_slow_one_may_still_win() {
        let found = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"].map(at);
        let begun = tokio::time::Instant::now();
        let made = first_to_answer(&found, |at| async move {
            match at.to_string().as_str() {
                "10.0.0.1:1" => Err("refused"),
                "10.0.0.2:1" => {
                    tokio::time::sleep(DELAY * 2).await;
                    Ok(2)
                }
                _ => {
                    tokio::time::sleep(DELAY * 9).await;
                    Ok(3)
                }
            }
        });
        assert_eq!(made.await, Ok((found[1], 2)));
        assert!((DELAY * 2..DELAY * 8).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        let none = first_to_answer(&found, |_| async { Err::<(), _>("refused") });
        assert_eq!(none.await, Err(Some("refused")));
    }

    #[tokio::test]
    async fn an_address_of_a_link_names_its_interface() {
        for host in ["[fe80::1%25lo]", "[fe80::1%lo]", "fe80::1%lo"] {
            let found = resolve_host(host, 7).await.unwrap();
            let SocketAddr::V6(v6) = found[0] else { panic!("{found:?}") };
            assert!(v6.scope_id() > 0 && v6.port() == 7, "{host}: {v6}");
        }
    }
}
