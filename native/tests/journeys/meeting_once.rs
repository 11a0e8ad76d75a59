//! A receiver at a meeting place and the senders that come to it: one after the other, or
//! the same one again, where only one transfer is wanted (`--once`).

use crate::meeting::network;
use crate::meeting_again::WaitingReceiver;

/// A sender that is done is not in the way of the next one: it has left its seat.
#[test]
fn pa_13_senders_take_turns_at_one_receiver() {
    let Some(network) = network(["open", "open", "open"]) else { return };
    let mut waiting = WaitingReceiver::with(&network, &[]);
    let song = waiting.song(b"words");
    for turn in 0..8 {
        for machine in [1, 3] {
            let mut sender = waiting.send_from(machine, &song, &[]);
            let ended = sender.event_of(&["sent", "failed"]);
            assert_eq!(ended["event"], "sent", "turn {turn} of machine {machine}: {ended}");
            assert_eq!(sender.end().code(), Some(0));
            waiting.receiver().event("received");
        }
    }
}
