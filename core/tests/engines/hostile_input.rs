//! Whatever strangers send, the node does not panic, keeps its limits, and
//! no other client loses a place.

use crate::hostile;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn strangers_never_harm_the_node_or_an_honest_client(
        data in proptest::collection::vec(any::<u8>(), 0..2_000)
    ) {
        hostile::run(&data);
    }
}

#[test]
fn a_flood_of_requests_from_everywhere_is_survived() {
    // Connect, ask in every way there is, wait a little, again and again.
    let mut data = Vec::new();
    for n in 0..200_u8 {
        data.extend([0, n, 2, n, n, 2, n, n / 2, 5, n, 4, 10]);
    }
    hostile::run(&data);
}
