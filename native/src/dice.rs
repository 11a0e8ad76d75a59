//! What cannot be guessed: secrets, tickets, seeds.

use std::io;

use crate::sys;

/// Draws bytes of the system's.
///
/// # Errors
/// It has none. What is drawn protects users, so there is no fallback.
pub fn draw<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    sys::draw(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_drawn_twice() {
        assert_ne!(draw::<16>().unwrap(), draw::<16>().unwrap());
    }
}
