//! Calls that report the fate of something sent earlier.

use std::io;

/// Makes a call that may report what an ICMP message said of something sent earlier, and has
/// then sent nothing: once more, for anyone can forge that message, and the report is taken
/// by now. What is refused again is refused for itself. Also true when nothing is said to
/// listen there.
pub(super) fn twice<T>(mut call: impl FnMut() -> io::Result<T>) -> (io::Result<T>, bool) {
    let first = call();
    let Err(why) = &first else { return (first, false) };
    let unheard = why.kind() == io::ErrorKind::ConnectionRefused;
    if unheard || quinn_udp::is_msg_size_err(why) { (call(), unheard) } else { (first, false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")] // The number of the error.
    #[test]
    fn only_what_is_refused_twice_is_refused() {
        let too_large = || io::Error::from_raw_os_error(90); // EMSGSIZE
        let mut forged = vec![Ok(1), Err(too_large())];
        assert!(matches!(twice(|| forged.pop().unwrap()), (Ok(1), false)));
        let mut real = vec![Ok(1), Err(too_large()), Err(too_large())];
        assert!(matches!(twice(|| real.pop().unwrap()), (Err(_), false)));
        let mut other = vec![Ok(1), Err(io::ErrorKind::WouldBlock.into())];
        assert!(matches!(twice(|| other.pop().unwrap()), (Err(_), false)));
        let mut unheard = vec![Ok(1), Err(io::ErrorKind::ConnectionRefused.into())];
        assert!(matches!(twice(|| unheard.pop().unwrap()), (Ok(1), true)));
    }
}
