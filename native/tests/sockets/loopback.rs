//! The driver on real sockets: uploads, downloads, queues, restarts.

use crate::common;

use std::path::Path;

use common::{FIRST, Raw, fetched, get, header, shared, sharing, start, until};
use rustix::process::{Resource, getrlimit, setrlimit};
use servent::driver::{Datagrams, Driver, Handle, ServentOptions};
use servent::error::StartError;
use servent::unicast::{self, Endpoint};
use servent_core::fetch::FetchFailure;
use servent_core::node::{DownloadSource, FetchCommand, Get, NodeAnswer, NodeCommand};

const TARGET: &str = "/get/0/file.bin";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_raw_client_gets_a_file_and_another_waits_in_line() {
    let (files, bytes) = shared("file.bin", 300_000);
    let state = tempfile::tempdir().unwrap();
    let mut options = sharing(state.path(), files.path(), 1, 1);
    options.upload_rate = Some(400_000);
    let servent = start(options).await;
    let at = servent.addr().unwrap();
    let raw = tokio::task::spawn_blocking(move || {
        let mut first = Raw::connect(at);
        let (status, head) = first.ask(TARGET, "X-Queue: 0.1\r\nRange: bytes=0-9\r\n");
        assert_eq!(status, 206, "{head}");
        assert!(first.body(10) == bytes[..10]);
        let mut second = Raw::connect(at);
        let (status, head) = second.ask(TARGET, "X-Queue: 0.1\r\n");
        assert_eq!(status, 503, "{head}");
        assert!(header(&head, "x-queue").unwrap().contains("position=1"), "{head}");
        let (status, head) = first.ask(TARGET, "X-Queue: 0.1\r\nRange: bytes=10-\r\n");
        assert_eq!(status, 206, "{head}");
        assert_eq!(header(&head, "content-length"), Some("299990"));
        assert!(first.body(299_990) == bytes[10..]);
        let (status, head) = first.ask("/get/7/other.bin", "");
        assert_eq!(status, 404, "{head}");
    });
    raw.await.unwrap();
    assert_eq!(servent.counters()["replies_503"], 1);
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_ends_its_half_still_gets_its_reply() {
    let (files, bytes) = shared("file.bin", 100_000);
    let state = tempfile::tempdir().unwrap();
    let servent = start(sharing(state.path(), files.path(), 1, 1)).await;
    let at = servent.addr().unwrap();
    let raw = tokio::task::spawn_blocking(move || {
        let mut raw = Raw::connect(at);
        raw.send(&format!("GET {TARGET} HTTP/1.1\r\nHost: x\r\n\r\n"));
        raw.0.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(raw.head().0, 200);
        assert!(raw.body(100_000) == bytes);
        assert!(raw.is_over());
    });
    raw.await.unwrap();
    servent.stop().await.unwrap();
}

async fn transfer(listen: &str) {
    let (files, bytes) = shared("file.bin", 5_000_000);
    let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = sharing(state.path(), files.path(), 1, 1);
    options.listen = vec![listen.parse().unwrap()];
    let server = start(options).await;
    let mut options = ServentOptions::under(other.path());
    options.listen = vec![listen.parse().unwrap()];
    let client = start(options).await;
    let mut answers = client.answers();
    client.command(get("copy.bin", server.addr().unwrap(), TARGET)).await.unwrap();
    let path = fetched(&client, &mut answers).await.unwrap();
    assert_eq!(path, other.path().join("downloads/copy.bin"));
    assert!(std::fs::read(&path).unwrap() == bytes);
    assert!(!path.with_extension("bin.part").exists());
    assert_eq!(client.counters()["downloads_done"], 1);
    client.stop().await.unwrap();
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_arrives_byte_for_byte_over_ipv4() {
    transfer("127.0.0.1:0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_arrives_byte_for_byte_over_ipv6() {
    transfer("[::1]:0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_queue_and_all_of_them_finish() {
    let (files, bytes) = shared("file.bin", 400_000);
    let state = tempfile::tempdir().unwrap();
    let server = start(sharing(state.path(), files.path(), 1, 100)).await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        let dir = tempfile::tempdir().unwrap();
        let mut options = ServentOptions::under(dir.path());
        options.node.queue.time_scale = 100;
        options.node.fetch.time_scale = 100;
        options.node.fetch.place.time_scale = 100;
        let client = start(options).await;
        let answers = client.answers();
        client.command(get("copy.bin", server.addr().unwrap(), TARGET)).await.unwrap();
        clients.push((dir, client, answers));
    }
    for (_dir, client, answers) in &mut clients {
        let path = fetched(client, answers).await.unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes);
    }
    // The server hears of the last byte a moment after the client has it.
    until("five uploads are told", async || server.counters()["uploads_finished"] == 5).await;
    for (_dir, client, _) in clients {
        client.stop().await.unwrap();
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pq_12_a_place_survives_the_death_of_the_server() {
    let (files, _) = shared("file.bin", 50_000_000);
    let state = tempfile::tempdir().unwrap();
    let options = sharing(state.path(), files.path(), 1, 1);
    let servent = start(options.clone()).await;
    let at = servent.addr().unwrap();
    let ask = move || {
        let mut busy = Raw::connect(at);
        assert_eq!(busy.ask(TARGET, "X-Queue: 1.0\r\n").0, 200);
        let places: Vec<_> = (0..3)
            .map(|n| {
                let mut raw = Raw::connect(at);
                let (status, head) = raw.ask(TARGET, "X-Queue: 1.0\r\n");
                assert_eq!(status, 503, "{head}");
                let told = header(&head, "x-queued").unwrap().to_owned();
                assert!(told.contains(&format!("position={}", n + 1)), "{told}");
                let id = told.to_ascii_lowercase().split("id=").nth(1).unwrap()[..32].to_owned();
                (raw, id)
            })
            .collect();
        (busy, places)
    };
    let (busy, places) = tokio::task::spawn_blocking(ask).await.unwrap();
    servent.abort().await;
    drop(busy);

    let again = start(options).await;
    let view = again.view(1, 10).await.unwrap();
    let line: Vec<_> = view.queue.cards.iter().map(|card| card.ticket.clone()).collect();
    let told: Vec<_> = places.into_iter().map(|(_, id)| id).collect();
    assert_eq!(line, told);
    again.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_goes_on_after_the_death_of_the_client() {
    let (files, bytes) = shared("file.bin", 3_000_000);
    let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = sharing(state.path(), files.path(), 2, 100);
    options.upload_rate = Some(3_000_000);
    let server = start(options).await;
    let mut options = ServentOptions::under(other.path());
    options.node.fetch.save_bytes = 100_000;
    options.node.fetch.time_scale = 100;
    let client = start(options.clone()).await;
    client.command(get("copy.bin", server.addr().unwrap(), TARGET)).await.unwrap();
    until("some of it is there", async || {
        let view = client.view(0, 0).await.unwrap();
        view.fetches.first().is_some_and(|f| f.have > 500_000)
    })
    .await;
    client.abort().await;
    let client = start(options).await;
    let before = client.view(0, 0).await.unwrap().fetches[0].have;
    assert!(before >= 400_000, "{before}");
    let path = other.path().join("downloads/copy.bin");
    until("the rest is there", async || path.exists()).await;
    assert!(std::fs::read(&path).unwrap() == bytes);
    client.stop().await.unwrap();
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_connections_wait_and_every_one_is_answered() {
    let (files, _) = shared("file.bin", 50_000_000);
    let state = tempfile::tempdir().unwrap();
    let mut options = sharing(state.path(), files.path(), 1, 1);
    options.node.queue.per_ip = 2_000;
    options.node.queue.hammer_requests = 10_000;
    options.node.limits.connections_per_ip = 2_000;
    let servent = start(options).await;
    let at = servent.addr().unwrap();
    let all = tokio::task::spawn_blocking(move || {
        let mut busy = Raw::connect(at);
        assert_eq!(busy.ask(TARGET, "X-Queue: 0.1\r\n").0, 200);
        let mut waiting: Vec<Raw> = (0..1_000).map(|_| Raw::connect(at)).collect();
        for raw in &mut waiting {
            raw.send(&format!("GET {TARGET} HTTP/1.1\r\nHost: x\r\nX-Queue: 0.1\r\n\r\n"));
        }
        for raw in &mut waiting {
            assert_eq!(raw.head().0, 503);
        }
        (busy, waiting)
    });
    let (busy, waiting) = all.await.unwrap();
    assert_eq!(servent.view(0, 0).await.unwrap().queue.length, 1_000);
    drop(waiting);
    until("all places are gone", async || servent.view(0, 0).await.unwrap().queue.length == 0)
        .await;
    drop(busy);
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taped_is_re_executed() {
    let (files, _) = shared("file.bin", 200_000);
    let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = sharing(state.path(), files.path(), 1, 100);
    let trace = state.path().join("tape.sqlog");
    options.trace = Some(trace.clone().into());
    options.tape = true;
    let server = start(options).await;
    let client = start(ServentOptions::under(other.path())).await;
    let mut answers = client.answers();
    // As when the lid of a laptop was closed (WB-7).
    let slept = servent_core::time::Duration::from_secs(900);
    server.command(NodeCommand::Woke { slept }).await.unwrap();
    client.command(get("copy.bin", server.addr().unwrap(), TARGET)).await.unwrap();
    fetched(&client, &mut answers).await.unwrap();
    client.stop().await.unwrap();
    let joined = server.tape().unwrap();
    server.stop().await.unwrap();
    let report = servent::replay::file(&trace).unwrap();
    assert!(report.checkpoints > 0 && report.inputs > 3, "{report:?}");
    assert_eq!((report.verified, report.unverified_inputs), (report.checkpoints, 0), "{report}");
    let (lines, mut live) = joined;
    let mut rest = Vec::new();
    while let Ok(line) = live.try_recv() {
        rest.push(line);
    }
    let text = std::fs::read_to_string(&trace).unwrap();
    assert_eq!(text.matches("woke").count(), 1, "what the node was told is on the tape");
    let file: Vec<_> = text.lines().map(|l| l.trim_start_matches('\u{1e}')).collect();
    let memory: Vec<_> = lines.iter().chain(&rest).map(AsRef::as_ref).collect();
    assert_eq!(file, memory);
}

#[tokio::test]
async fn a_port_in_use_is_a_clear_error() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = start(ServentOptions::under(one.path())).await;
    let mut options = ServentOptions::under(two.path());
    options.listen = first.addrs();
    match Driver::start(options).await {
        Err(StartError::PortInUse { at }) => assert_eq!(Some(at), first.addr()),
        other => panic!("{other:?}"),
    }
    first.stop().await.unwrap();
}

#[tokio::test]
async fn both_families_on_one_port() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = ServentOptions::under(dir.path());
    options.listen = vec!["[::]:0".parse().unwrap()];
    let servent = start(options).await;
    let port = servent.addr().unwrap().port();
    let asked = tokio::task::spawn_blocking(move || {
        for at in [format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
            let (status, _) = Raw::connect(at.parse().unwrap()).ask("/", "");
            assert_eq!(status, 200, "{at}");
        }
    });
    asked.await.unwrap();
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_that_cannot_be_read_to_be_checked_ends_with_a_reason() {
    // A file without bytes is whole before anything is written.
    let (files, _) = shared("file.bin", 0);
    let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = start(sharing(state.path(), files.path(), 1, 1)).await;
    let options = ServentOptions::under(other.path());
    std::fs::write(&options.download_dir, "in the way of the folder").unwrap();
    let client = start(options).await;
    let mut answers = client.answers();
    client.command(get("copy.bin", server.addr().unwrap(), TARGET)).await.unwrap();
    let end = fetched(&client, &mut answers).await;
    assert_eq!(end, Err(NodeAnswer::Failed { fetch: FIRST, why: FetchFailure::Disk }));
    client.stop().await.unwrap();
    server.stop().await.unwrap();
}

/// The child half of the next test: a download that does not fit.
#[tokio::test]
#[ignore = "run by the tests of a full disk, under a limit of the size of files"]
async fn full_disk_child() {
    let dir = std::env::var_os("SERVENT_TEST_DIR").expect("set by the other half");
    let at = std::env::var("SERVENT_TEST_FROM").unwrap().parse().unwrap();
    let client = start(ServentOptions::under(Path::new(&dir))).await;
    let mut answers = client.answers();
    client.command(get("copy.bin", at, TARGET)).await.unwrap();
    let end = fetched(&client, &mut answers).await;
    assert_eq!(end, Err(NodeAnswer::Failed { fetch: FIRST, why: FetchFailure::Disk }));
    let before = client.view(0, 0).await.unwrap().fetches[0].have;
    assert!(before > 1_000_000, "{before} of the bytes that fit are kept");
    if std::env::var_os("SERVENT_TEST_ROOM").is_some() {
        // Room is made: the same command goes on with the same file.
        let mut limit = getrlimit(Resource::Fsize);
        limit.current = limit.maximum;
        setrlimit(Resource::Fsize, limit).unwrap();
        client.command(get("copy.bin", at, TARGET)).await.unwrap();
        let path = fetched(&client, &mut answers).await.unwrap();
        assert_eq!(path, Path::new(&dir).join("downloads/copy.bin"));
    }
    client.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_ends_a_download_with_a_reason() {
    let (files, bytes) = shared("file.bin", 12_000_000);
    let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = start(sharing(state.path(), files.path(), 1, 1)).await;
    full_disk(other.path(), &server, false).await;
    let before = server.counters()["bytes_sent"];
    // Room is made and it is started again: it goes on by itself.
    let client = start(ServentOptions::under(other.path())).await;
    let path = other.path().join("downloads/copy.bin");
    until("the rest is there", async || path.exists()).await;
    assert!(std::fs::read(&path).unwrap() == bytes);
    client.stop().await.unwrap();
    let again = server.counters()["bytes_sent"] - before;
    assert!(again < 8_000_000, "{again} bytes came a second time");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_room_is_made_the_same_command_goes_on() {
    let (files, bytes) = shared("file.bin", 12_000_000);
    let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = start(sharing(state.path(), files.path(), 1, 1)).await;
    full_disk(other.path(), &server, true).await;
    assert!(std::fs::read(other.path().join("downloads/copy.bin")).unwrap() == bytes);
    server.stop().await.unwrap();
}

/// Runs [`full_disk_child`] where files may have 8 MB: the signal of that
/// limit is ignored, so that writes fail instead. `room`: later it is lifted.
async fn full_disk(dir: &Path, server: &Handle, room: bool) {
    let script =
        "trap '' XFSZ; ulimit -S -f 16000; exec \"$0\" --ignored --exact loopback::full_disk_child";
    let mut child = std::process::Command::new("sh");
    child
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("SERVENT_TEST_DIR", dir)
        .env("SERVENT_TEST_FROM", server.addr().unwrap().to_string());
    if room {
        child.env("SERVENT_TEST_ROOM", "yes");
    }
    // The child ends by itself: it waits for nothing longer than we do.
    let child = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_download_leaves_nothing() {
    let (files, _) = shared("file.bin", 3_000_000);
    let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = sharing(state.path(), files.path(), 1, 1);
    options.upload_rate = Some(500_000);
    let server = start(options).await;
    let client = start(ServentOptions::under(other.path())).await;
    let mut answers = client.answers();
    client.command(get("copy.bin", server.addr().unwrap(), TARGET)).await.unwrap();
    let part = other.path().join("downloads/copy.bin.part");
    until("it has begun", async || part.exists()).await;
    let NodeAnswer::Fetching { fetch } = answers.recv().await.unwrap() else { panic!("no number") };
    client.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch })).await.unwrap();
    let end = fetched(&client, &mut answers).await;
    assert_eq!(end, Err(NodeAnswer::Failed { fetch, why: FetchFailure::Cancelled }));
    assert!(!part.exists());
    client.stop().await.unwrap();
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_comes_in_pieces_from_two_servers() {
    let (files, bytes) = shared("file.bin", 4_000_000);
    let (one, two, other) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = sharing(one.path(), files.path(), 1, 1);
    options.upload_rate = Some(4_000_000);
    let first = start(options.clone()).await;
    options.state_dir = Some(two.path().to_owned());
    let second = start(options).await;
    let mut options = ServentOptions::under(other.path());
    options.node.fetch.chunk = 100_000;
    options.node.fetch.time_scale = 10;
    let client = start(options).await;
    let mut answers = client.answers();
    let from = [&first, &second].map(|s| s.addr().unwrap());
    let sources = from.map(|at| DownloadSource { at, target: TARGET.into(), host: at.to_string() });
    let wanted = Get { name: "copy.bin".into(), sha1: None, sources: sources.into() };
    client.command(NodeCommand::Fetch(FetchCommand::Get(wanted))).await.unwrap();
    let path = fetched(&client, &mut answers).await.unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes);
    for server in [&first, &second] {
        assert!(server.counters()["replies_206"] > 3, "{:?}", server.counters());
        server.stop().await.unwrap();
    }
    client.stop().await.unwrap();
}

/// A file by HTTP and messages by datagrams, at the same time, from one node:
/// one recording has both, and is the same run again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_servent_shares_files_and_speaks_datagrams_and_its_tape_has_both() {
    const COUNT: u32 = 2_000;
    let (files, bytes) = shared("file.bin", 600_000);
    let state = tempfile::tempdir().unwrap();
    let tape = state.path().join("both.sqlog");
    let mut options = sharing(state.path(), files.path(), 1, 1);
    options.upload_rate = Some(600_000);
    options.trace = Some(tape.clone().into());
    let loopback = "127.0.0.1:0".parse().unwrap();
    let loss = "5%".parse().unwrap();
    options.datagrams = Some(Datagrams { loss, ..Datagrams::at(loopback) });
    let servent = start(options).await;
    let here = Endpoint::from_handle(&servent).unwrap();
    let there = Endpoint::bind(loopback, unicast::EndpointOptions::default()).await.unwrap();

    let at = servent.addr().unwrap();
    let download = tokio::task::spawn_blocking(move || {
        let mut raw = Raw::connect(at);
        assert_eq!(raw.ask(TARGET, "").0, 200);
        assert!(raw.body(600_000) == bytes);
    });
    let ask = async {
        let connection = there.connect(here.local_addr()).unwrap();
        for n in 0..COUNT {
            connection.send(n.to_be_bytes().to_vec()).await.unwrap();
        }
        for n in 0..COUNT {
            let echo = connection.recv().await.unwrap().unwrap();
            assert_eq!(echo, n.to_be_bytes().as_slice());
        }
        connection.close().await.unwrap();
    };
    let echo = async {
        let connection = here.accept().await.unwrap();
        while let Some(message) = connection.recv().await.unwrap() {
            connection.send(message).await.unwrap();
        }
    };
    let (downloaded, ..) = tokio::join!(download, ask, echo);
    downloaded.unwrap();
    assert!(here.counters().socket.lost_out + here.counters().socket.lost_in > 0);
    servent.stop().await.unwrap();
    assert!(here.accept().await.is_none(), "no peer comes any more");
    there.shutdown().await.unwrap();

    let report = servent::replay::file(&tape).unwrap();
    assert!(report.verified > 0 && report.verified == report.checkpoints, "{report}");
    assert_eq!((report.diverged_at, report.unverified_inputs, report.damaged), (None, 0, 0));
    let tape = std::fs::read_to_string(&tape).unwrap();
    assert!(tape.contains("\"conn:request\"") && tape.contains("\"unicast:opened\""));
}
