//! The examples run to their end: their own assertions say what they show.

#[path = "../examples/messages_over_udp.rs"]
mod messages_over_udp;
#[path = "../examples/queue_alone.rs"]
mod queue_alone;
#[allow(dead_code)] // Its `main` looks at arguments, which are the test's here.
#[path = "../examples/replay_a_tape.rs"]
mod replay_a_tape;
#[path = "../examples/search_in_an_overlay.rs"]
mod search_in_an_overlay;

#[test]
fn messages_arrive_over_two_sockets() {
    messages_over_udp::main().unwrap();
}

#[test]
fn a_search_finds_its_way_back() {
    search_in_an_overlay::main();
}

#[test]
fn the_queue_alone_calls_every_client_in_turn() {
    queue_alone::main();
}

#[test]
fn a_tape_is_run_again_and_a_changed_one_is_found_out() {
    replay_a_tape::demonstrate().unwrap();
}
