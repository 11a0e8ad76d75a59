//! `send` to a `receive` whose reader takes a break.

use std::io::Read as _;
use std::process::Stdio;
use std::time::Duration;

use crate::program::{Place, finish, free_port, noise, pause};

/// More than both windows and all buffers between them hold.
const SIZE: usize = 24 << 20;

#[test]
fn a_pipe_whose_reader_sleeps_for_long_loses_nothing() {
    // Every interval is a twentieth: a break of ten seconds is one of two
    // hundred, and a connection would expire after six.
    sleeps(Duration::from_secs(10), &["--set", "unicast.time_scale=20", "-q"]);
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes 200 s"]
fn a_pipe_whose_reader_really_sleeps_for_two_hundred_seconds_loses_nothing() {
    sleeps(Duration::from_secs(200), &["-q"]);
}

fn sleeps(length: Duration, options: &[&str]) {
    let place = Place::new();
    let bytes = noise(SIZE);
    std::fs::write(place.path("film"), &bytes).unwrap();
    let at = format!("127.0.0.1:{}", free_port());
    let mut receive =
        place.servent(&[&["receive", "--open", "--yes", "--listen", &at][..], options].concat());
    let mut receiver = receive.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = receiver.stdout.take().unwrap();
    let mut send = place.servent(&[&["send", "--open", &at, "film"][..], options].concat());
    let sender = send.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();

    let mut arrived = vec![0; 1 << 20];
    pipe.read_exact(&mut arrived).unwrap();
    pause(length);
    pipe.read_to_end(&mut arrived).unwrap();

    assert!(arrived == bytes, "{} of {SIZE} bytes", arrived.len());
    let output = finish(sender);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(receiver.wait().unwrap().success());
}
