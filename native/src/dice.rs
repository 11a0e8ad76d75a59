//! What cannot be guessed: secrets, tickets, seeds.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Draws bytes of the system's.
///
/// # Errors
/// It has none. What is drawn protects users, so there is no fallback.
pub fn draw<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    whole(N, getrandom(&mut bytes, GetRandomFlags::empty()))?;
    Ok(bytes)
}

/// Fewer than were asked for are none.
fn whole(wanted: usize, drawn: rustix::io::Result<usize>) -> io::Result<()> {
    if drawn? < wanted {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn nothing_is_drawn_twice_and_a_part_is_nothing() {
        assert_ne!(draw::<16>().unwrap(), draw::<16>().unwrap());
        for none in [Ok(0), Ok(7), Err(Errno::NOSYS)] {
            assert!(whole(8, none).is_err());
        }
        whole(8, Ok(8)).unwrap();
    }
}
