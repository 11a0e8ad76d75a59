//! Credit: how many more pieces a client may take, in integers.

use super::config::Config;

/// What an address has uploaded and downloaded, as far as both sides confirmed
/// it (SW-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CreditAccount {
    /// Pieces uploaded.
    pub uploads: u64,
    /// Pieces downloaded and charged.
    pub downloads: u64,
    /// Pieces granted without having been earned.
    pub grants: u64,
    /// It has a free piece, used or reserved (SW-7).
    pub free: bool,
    /// Pieces in transfer to it that will be charged.
    pub in_flight: u32,
}

/// `F·R/R0 + grants + ⌊R·uploads⌋ − downloads − in flight` (SW-10), with the
/// ratio `R` in thousandths.
#[must_use]
pub fn credit(account: &CreditAccount, ratio: u32, config: &Config) -> i64 {
    let free = if account.free {
        u64::from(config.free_pieces) * u64::from(ratio) / u64::from(config.ratio.max(1))
    } else {
        0
    };
    // A lower ratio takes no client's free piece away.
    let free = if account.free { free.max(config.free_pieces.into()) } else { free };
    let earned = (u128::from(account.uploads) * u128::from(ratio) / 1_000) as i64;
    let given = (free + account.grants) as i64 + earned;
    given - account.downloads as i64 - i64::from(account.in_flight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_downloads_for_an_upload_and_one_for_nothing() {
        let config = Config::default();
        let mut account = CreditAccount { free: true, ..CreditAccount::default() };
        let of = |account: &CreditAccount| credit(account, config.ratio, &config);
        assert_eq!(of(&account), 1);
        account.in_flight = 1;
        assert_eq!(of(&account), 0);
        (account.in_flight, account.downloads, account.uploads) = (0, 1, 1);
        assert_eq!(of(&account), 2);
        account.grants = 1;
        assert_eq!(of(&account), 3);
        assert_eq!(credit(&account, 2_500, &config), 3, "fractions are cut off");
        assert_eq!(credit(&account, 1_000, &config), 2, "the free piece stays whole");
    }
}
