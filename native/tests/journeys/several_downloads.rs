//! `servent get A B`: two files, not a mixture of them.

use crate::program::terminal::Terminal;
use crate::program::{Place, assert_same, complains, noise};

/// Two files of one length: nothing in the replies tells them apart.
#[test]
fn two_addresses_are_two_files() {
    let place = Place::new();
    let (folder, first) = place.share("first", 700_000);
    let second: Vec<u8> = noise(700_000).iter().map(|byte| byte ^ 0x5a).collect();
    std::fs::write(folder.join("second"), &second).unwrap();
    let running = place.sharing(&[]);
    let url = |n: u32, name: &str| format!("http://{}/get/{n}/{name}", running.at);
    std::fs::create_dir(place.path("here")).unwrap();

    let both = [url(0, "first"), url(1, "second")];
    let get = ["get", &both[0], &both[1], "-o", "here", "--state", "get"];
    let output = place.run(&get);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("here/first"), &first);
    assert_same(&place.path("here/second"), &second);

    // What is there is left alone, what is missing comes.
    std::fs::remove_file(place.path("here/second")).unwrap();
    let output = place.run(&get);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("here/second"), &second);
}

#[test]
fn one_that_fails_does_not_stop_the_other() {
    let place = Place::new();
    let (_, bytes) = place.share("file", 50_000);
    let running = place.sharing(&[]);
    std::fs::create_dir(place.path("here")).unwrap();
    let missing = format!("http://{}/get/77/missing", running.at);
    let there = format!("http://{}/get/0/file", running.at);
    let output = place.run(&["get", &missing, &there, "-o", "here", "--state", "get"]);
    complains(&output, 10, "1 of 2 downloads failed");
    assert!(String::from_utf8_lossy(&output.stderr).contains("missing: "));
    assert_same(&place.path("here/file"), &bytes);
}

#[test]
fn two_of_one_name_are_numbered_the_same_way_each_time() {
    let place = Place::new();
    let files = [("shared/a/file", noise(70_000)), ("shared/b/file", noise(70_001))];
    for (name, bytes) in &files {
        std::fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        std::fs::write(place.path(name), bytes).unwrap();
    }
    let running = place.sharing(&[]);
    let list = files.iter().map(|(name, _)| format!("http://{}/{name}\n", running.at));
    std::fs::write(place.path("list"), list.collect::<String>()).unwrap();
    let get = ["get", "-i", "list", "-o", "here/", "--state", "get"];
    for _ in 0..2 {
        let output = place.run(&get);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_same(&place.path("here/file"), &files[0].1);
        assert_same(&place.path("here/file (2)"), &files[1].1);
        std::fs::remove_file(place.path("here/file (2)")).unwrap();
    }
}

#[test]
fn what_would_mix_or_overwrite_is_refused() {
    let place = Place::new();
    let urls = ["http://127.0.0.1:1/get/1/file", "http://127.0.0.1:2/get/1/file"];
    let refused = |more: &[&str], why: &str| {
        complains(&place.run(&[&["get", "--state", "get"], more].concat()), 2, why);
    };
    refused(&[urls[0], urls[1], "-o", "one"], "is no folder");
    refused(&[urls[0], "http://127.0.0.1:1/get/2/b", "--mirror", urls[1]], "--mirror is for one");
}

/// Results and lines of progress do not overwrite each other.
#[test]
fn a_terminal_shows_each_result_once_and_no_stale_bar() {
    let place = Place::new();
    let (folder, _) = place.share("file-0", 3_000_000);
    for n in 1..6 {
        std::fs::write(folder.join(format!("file-{n}")), noise(3_000_000 + n)).unwrap();
    }
    let running = place.sharing(&["--set", "upload_rate=9000000"]);
    std::fs::create_dir(place.path("here")).unwrap();
    let urls = (0..6).map(|n| format!("http://{}/get/{n}/file-{n}", running.at));
    let missing = format!("http://{}/get/77/missing", running.at);
    let urls: Vec<String> = urls.chain([missing]).collect();
    let mut get = vec!["get", "-o", "here", "--state", "get", "--parallel", "3"];
    get.extend(urls.iter().map(String::as_str));
    let (lines, status) = Terminal::run(&place.servent(&get), (40, 110));
    let screen = lines.join("\n");
    assert_eq!(status.code(), Some(10), "{screen}");
    for n in 0..6 {
        // The path of the file is long: it may take two rows.
        let name = format!("here/file-{n}");
        assert_eq!(screen.matches(&name).count(), 1, "{name} in:\n{screen}");
    }
    assert!(screen.contains("6 files, 17.2 MiB at ") && screen.contains("1 failed"), "{screen}");
    let bars = lines.iter().filter(|line| line.contains(" % ") || line.contains(" left"));
    assert_eq!(bars.collect::<Vec<_>>(), Vec::<&String>::new(), "{screen}");
}

/// Both behind firewalls: that is said in seconds, and why.
#[test]
fn two_that_cannot_be_reached_are_told_so_soon() {
    let place = Place::new();
    place.share("file", 1_000);
    let running = place.sharing(&["--set", "overlay.enabled=true"]);
    // A servent that this one knows nothing of.
    let push = format!("push://6a074979f3201edbf323b6425fef4a53@{}/1/file", running.at);
    let clock = servent::Clock::new();
    let begun = clock.now();
    let output = place.run(&["get", &push, "-o", "file2", "--state", "get"]);
    complains(&output, 3, "was asked to connect to us, and did not within");
    let took = clock.now().since(begun).as_secs();
    assert!(took < 30, "{took} s");
}
