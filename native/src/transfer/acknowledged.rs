//! How much of a file the receiver has acknowledged, for those who look on.

use crate::unicast::SendProgress;

/// How much the receiver has acknowledged of the file of which something was sent last:
/// what is on its way may be megabytes, and may never arrive.
#[derive(Debug, Default)]
pub(super) struct AcknowledgedPart(Option<LatestFile>);

#[derive(Debug)]
struct LatestFile {
    entry: usize,
    /// Bytes that were sent of it, and that are acknowledged for certain.
    sent: u64,
    so_far: u64,
    /// Bytes of the connection that were acknowledged when that was reckoned.
    acknowledged: Option<u64>,
}

impl AcknowledgedPart {
    /// So many bytes of this file were sent.
    pub(super) fn sent(&mut self, entry: usize, sent: u64) {
        match &mut self.0 {
            Some(latest) if latest.entry == entry => latest.sent = sent,
            latest => *latest = Some(LatestFile { entry, sent, so_far: 0, acknowledged: None }),
        }
    }

    /// Nothing more is to be told of this file.
    pub(super) fn forget(&mut self, entry: usize) {
        self.0.take_if(|latest| latest.entry == entry);
    }

    /// The file, and how much of it is acknowledged. That moves only when the receiver
    /// acknowledges more: what is on its way is more than the bytes of files, so that each
    /// message that is sent seems to take some back.
    pub(super) fn now(&mut self, progress: SendProgress) -> Option<(usize, u64)> {
        let latest = self.0.as_mut()?;
        let SendProgress { accepted, acknowledged } = progress;
        if latest.acknowledged.is_none_or(|before| acknowledged > before) {
            let so_far = latest.sent.saturating_sub(accepted.saturating_sub(acknowledged));
            latest.so_far = latest.so_far.max(so_far);
            latest.acknowledged = Some(acknowledged);
        }
        Some((latest.entry, latest.so_far))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a message takes on the connection besides its bytes of a file.
    const AROUND: u64 = 17;

    /// A line that goes dark while a sender goes on at its own pace.
    #[test]
    fn only_what_the_receiver_acknowledges_moves_it() {
        let (mut part, mut accepted, mut acknowledged) = (AcknowledgedPart::default(), 0, 0);
        let mut told = Vec::new();
        for n in 1..=40 {
            accepted += 1_000 + AROUND;
            if n <= 10 {
                acknowledged = accepted - 1_000 - AROUND;
            }
            part.sent(3, n * 1_000);
            told.push(part.now(SendProgress { accepted, acknowledged }).unwrap());
        }
        assert_eq!(told[9], (3, 9_000 - AROUND));
        assert!(told[10..].iter().all(|now| *now == told[9]), "{told:?}");
        let whole = SendProgress { accepted, acknowledged: accepted };
        assert_eq!(part.now(whole), Some((3, 40_000)));
    }

    #[test]
    fn each_file_begins_anew_and_one_that_is_there_is_told_no_more() {
        let (mut part, all) = (AcknowledgedPart::default(), SendProgress::default());
        part.sent(0, 500);
        assert_eq!(part.now(all), Some((0, 500)));
        part.sent(1, 20);
        part.forget(0);
        assert_eq!(part.now(all), Some((1, 20)));
        part.forget(1);
        assert_eq!(part.now(all), None);
    }
}
