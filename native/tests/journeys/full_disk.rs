//! A disk that fills is said, and shows in the exit code.

use std::process::{Command, Stdio};

use crate::program::{
    Place, Running, Wire, assert_same, complains, finish, free_port, noise, until,
};

/// Sends 2 MB; the trace of one side does not fit. How both ended, and what
/// arrived.
fn sent_with_a_trace_that_does_not_fit(place: &Place, of_sender: bool) {
    let bytes = noise(2_000_000);
    std::fs::write(place.path("film"), &bytes).unwrap();
    let at = format!("127.0.0.1:{}", free_port());
    let out = std::fs::File::create(place.path("arrived")).unwrap();
    let trace = ["--trace", "trace.sqlog", "-q"];
    let side = |traced: bool, arguments: &[&str]| {
        if traced {
            return piped(place.cramped(&[arguments, &trace].concat()));
        }
        piped(place.servent(&[arguments, &["-q"]].concat()))
    };
    let receive = ["receive", "--open", "--yes", "--listen", &at];
    // What arrives goes through a pipe: that is not what is cramped.
    let mut receiver = side(!of_sender, &receive).spawn().unwrap();
    let mut pipe = receiver.stdout.take().unwrap();
    let copying = std::thread::spawn(move || std::io::copy(&mut pipe, &mut &out).unwrap());
    let sender = side(of_sender, &["send", "--open", &at, "film"]).spawn().unwrap();
    let sent = finish(sender);
    copying.join().unwrap();
    receiver.stdout = Some(empty());
    let received = finish(receiver);
    let (full, other) = if of_sender { (&sent, &received) } else { (&received, &sent) };
    assert!(other.status.success(), "{}", String::from_utf8_lossy(&other.stderr));
    complains(full, 4, "the trace is not whole");
    assert_same(&place.path("arrived"), &bytes);
}

fn piped(mut command: Command) -> Command {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A pipe with nothing in it.
fn empty() -> std::process::ChildStdout {
    let mut nothing = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    let out = nothing.stdout.take().unwrap();
    nothing.wait().unwrap();
    out
}

#[test]
fn a_trace_that_does_not_fit_on_the_disk_is_no_success() {
    sent_with_a_trace_that_does_not_fit(&Place::new(), true);
    sent_with_a_trace_that_does_not_fit(&Place::new(), false);
}

/// A receiver whose folder is a file system of one megabyte, in a mount namespace of
/// its own; when it has ended, the folder grows and it receives `again`.
fn small_then_larger(place: &Place, at: &str, again: bool) -> Running {
    std::fs::create_dir(place.path("in")).unwrap();
    let program = place.servent(&[]).get_program().to_owned();
    let receive = "\"$0\" receive --once --open --yes --json --listen $1 -o in/";
    let larger = format!("mount -o remount,size=4m in && {receive} && cp in/* arrived");
    let then = if again { &larger[..] } else { "true" };
    let script = format!(
        "mount -t tmpfs -o size=1m none in && {{ {receive}; echo $? > code; ls in > left; {then}; }}"
    );
    let mut shell = Command::new("unshare");
    shell.args(["-rm", "sh", "-c", &script]).arg(program).arg(at);
    shell.env_clear().env("HOME", place.dir.path()).env("PATH", "/usr/bin:/bin");
    shell.current_dir(place.dir.path()).stdin(Stdio::null());
    let mut receiver = Running::start(shell);
    receiver.event("listening");
    receiver
}

#[test]
fn what_has_no_room_is_refused_at_once_on_both_sides_and_travels_once_there_is() {
    let place = Place::new();
    let bytes = noise(2_000_000);
    std::fs::write(place.path("film"), &bytes).unwrap();
    let at = format!("127.0.0.1:{}", free_port());
    let mut receiver = small_then_larger(&place, &at, true);
    let output = place.run(&["send", "--open", &at, "film", "-q"]);
    complains(&output, 4, "there is no room at");
    complains(&output, 4, "the disk is full: 1.9 MiB more are needed");
    receiver.event("listening");
    assert_eq!(std::fs::read_to_string(place.path("code")).unwrap(), "4\n");
    assert_eq!(std::fs::read_to_string(place.path("left")).unwrap(), "", "nothing was written");
    let output = place.run(&["send", "--open", &at, "film", "-q"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    receiver.event("received");
    assert!(receiver.ended().success());
    assert_same(&place.path("arrived"), &bytes);
}

/// The state and the inbox are on a disk of 6 MB, of which 2 MB stay free.
#[test]
fn uploads_leave_the_state_its_room_and_are_refused_with_a_sentence() {
    let place = Place::new();
    place.share("song", 1_000);
    std::fs::write(place.path("film"), noise(1_500_000)).unwrap();
    std::fs::create_dir(place.path("disk")).unwrap();
    let program = place.servent(&[]).get_program().to_owned();
    let share = "share shared --state disk/state --accept disk/in --lab off --json \
                 --listen 127.0.0.1:0 --set disk_reserve=2000000";
    let mut shell = Command::new("unshare");
    let script = format!("mount -t tmpfs -o size=8m none disk && exec \"$0\" {share}");
    shell.args(["-rm", "sh", "-c", &script]).arg(program);
    shell.env_clear().env("HOME", place.dir.path()).env("PATH", "/usr/bin:/bin");
    shell.current_dir(place.dir.path()).stdin(Stdio::null());
    let mut running = Running::start(shell);
    let at = running.event("listening")["at"].as_str().unwrap().to_owned();
    let (mut kept, mut refused) = (0, 0);
    // By its length, and as a stream that has none: then it fills under way.
    for length in ["", "Transfer-Encoding: chunked"] {
        for _ in 0..6 {
            let mut curl = Command::new("curl");
            curl.args(["-sS", "-m", "60", "-w", " %{http_code}", "-H", length, "-T", "film"]);
            curl.arg(format!("http://{at}/film")).current_dir(place.dir.path());
            let said = String::from_utf8(curl.output().unwrap().stdout).unwrap();
            match said.ends_with(" 201") {
                true => kept += 1,
                false => {
                    // `curl` may still be sending a stream when the connection ends.
                    let cut = !length.is_empty() && said.ends_with(" 000");
                    assert!(cut || said == "The disk is full.\n 507", "{said}");
                    refused += 1;
                }
            }
        }
    }
    assert!((1..=4).contains(&kept) && refused >= 6, "{kept} kept, {refused} refused");
    // It goes on, and what it promises can be saved.
    let at: std::net::SocketAddr = at.parse().unwrap();
    assert_eq!(Wire::connect(at).get("/get/0/song", &[]).status, 200);
    running.signal("INT");
    assert!(running.ended().success());
}

/// A stream has no length that could be asked about.
#[test]
fn a_disk_that_fills_under_way_is_said_on_both_sides() {
    let place = Place::new();
    std::fs::write(place.path("film"), noise(2_000_000)).unwrap();
    let at = format!("127.0.0.1:{}", free_port());
    let _receiver = small_then_larger(&place, &at, false);
    let mut sender = piped(place.servent(&["send", "--open", &at, "-", "-q"]));
    sender.stdin(std::fs::File::open(place.path("film")).unwrap());
    let output = finish(sender.spawn().unwrap());
    complains(&output, 4, "there is no room at");
    complains(&output, 4, "No space left");
    until("the receiver has ended", || {
        std::fs::read_to_string(place.path("code")).is_ok_and(|code| code == "4\n")
    });
}
