//! One scenario twice: in the simulator, and by the driver on loopback TCP.
//! What every node's protocol says of itself must agree.

use crate::common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{PATIENCE, fetched, get, shared, sharing, start, until};
use servent::driver::ServentOptions;
use servent_core::fetch;
use servent_core::id::Guid;
use servent_core::queue::Event as Q;
use servent_core::time::{self, Instant};
use servent_core::trace::{Event, NodeId, Record};
use servent_sim::queue::{ClientGroup, QueueWorld, Scenario, ScenarioServer};

/// Chosen so that the course of events does not hang on moments: it is the
/// same when everything hesitates for as long as [`HESITATION`].
const SIZE: u64 = 485_000;
const RATE: u64 = 173_913;
const CLIENTS: u32 = 3;
const SCALE: u32 = 25;
const SPACING_MS: u64 = 800;
const HESITATION: time::Duration = time::Duration::from_millis(400);

/// What the server's queue did, with places named by their order of arrival
/// and without instants.
fn of_server<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<String> {
    let mut names: BTreeMap<Guid, usize> = BTreeMap::new();
    let mut name = |ticket: &Guid| {
        let next = names.len() + 1;
        *names.entry(*ticket).or_insert(next)
    };
    let line = |record: &Record| {
        let Event::Queue(event) = &record.event else { return None };
        Some(match event {
            Q::Arrived { ticket, dialect, position, length, .. } => {
                format!("{} arrives, {dialect:?}, {position}/{length}", name(ticket))
            }
            Q::Asked { ticket, position, .. } => format!("{} asks at {position}", name(ticket)),
            Q::Told { ticket, position, length, keep, .. } => {
                format!("{} is told {position}/{length}, kept {keep}", name(ticket))
            }
            Q::Started { ticket, free, .. } => format!("{} starts, {free} free", name(ticket)),
            Q::Finished { ticket, free } => format!("{} ends, {free} free", name(ticket)),
            Q::Entitled { ticket } => format!("{} is entitled", name(ticket)),
            Q::Lapsed { ticket } => format!("{} let it lapse", name(ticket)),
            Q::Lost { ticket, why, .. } => format!("{} is lost: {why:?}", name(ticket)),
            other => format!("unexpected: {other:?}"),
        })
    };
    records.into_iter().filter_map(line).collect()
}

/// What a client's download did.
fn of_client<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<String> {
    let line = |record: &Record| {
        let Event::Fetch(event) = &record.event else { return None };
        Some(match event {
            fetch::Event::Asked { start, end, .. } => format!("asks {start}..{end}"),
            fetch::Event::Queued { dialect, position, length, .. } => {
                format!("queued {dialect:?} {position:?}/{length:?}")
            }
            fetch::Event::Receiving { start, end, .. } => format!("receives {start}..{end}"),
            fetch::Event::Done { bytes, .. } => format!("has {bytes}"),
            fetch::Event::Failed { why, .. } => format!("failed: {why:?}"),
            _ => return None, // Progress comes in steps that the host chooses.
        })
    };
    records.into_iter().filter_map(line).collect()
}

/// The run where clients arrive up to `late` later than they should and are
/// up to half of it away.
fn simulated(seed: u64, late: time::Duration) -> Vec<Vec<String>> {
    let mut server = ScenarioServer { up: RATE, ..ScenarioServer::default() };
    server.queue.slots = 1;
    server.queue.time_scale = SCALE;
    server.latency = time::Duration::from_micros(50);
    let client = ClientGroup {
        count: CLIENTS,
        size: SIZE,
        down: 1 << 30,
        latency: time::Duration::from_micros(50) + late.ratio(seed % 3, 4),
        jitter: late,
        spacing: time::Duration::from_millis(SPACING_MS),
        ..ClientGroup::default()
    };
    let scenario =
        Scenario { seed, servers: vec![server], clients: vec![client], ..Scenario::default() };
    let mut world: QueueWorld = QueueWorld::new(&scenario);
    let mut records = Vec::new();
    world.run_until(Instant::from_secs(60), &mut records);
    let of = |n| records.iter().filter(move |r| r.node == NodeId(n));
    std::iter::once(of_server(of(0))).chain((1..=CLIENTS).map(|n| of_client(of(n)))).collect()
}

async fn real() -> Vec<Vec<String>> {
    let (files, _) = shared("file.bin", SIZE as usize);
    let state = tempfile::tempdir().unwrap();
    let mut options = sharing(state.path(), files.path(), 1, 1);
    options.node.queue.time_scale = SCALE;
    options.upload_rate = Some(RATE);
    options.tape = true;
    let server = start(options).await;
    let mut queue = server.records().unwrap();
    let mut running = Vec::new();
    for _ in 0..CLIENTS {
        let dir = tempfile::tempdir().unwrap();
        let mut options = ServentOptions::under(dir.path());
        options.tape = true;
        let client = start(options).await;
        let (answers, records) = (client.answers(), client.records().unwrap());
        running.push((dir, client, answers, records));
    }
    let mut arrivals = tokio::time::interval(Duration::from_millis(SPACING_MS)); // The scenario's own.
    for (_, client, ..) in &running {
        arrivals.tick().await;
        let command = get("copy.bin", server.addr().unwrap(), "/get/0/file.bin");
        client.command(command).await.unwrap();
    }
    let mut all = Vec::new();
    for (_dir, client, answers, records) in &mut running {
        let ended = tokio::time::timeout(PATIENCE, fetched(client, answers)).await.unwrap();
        assert!(ended.is_ok(), "{ended:?}");
        client.stop().await.unwrap();
        all.push(of_client(drain(records).iter().map(AsRef::as_ref)));
    }
    // The server hears of the last byte a moment after the client has it.
    let served = async || server.counters()["uploads_finished"] == u64::from(CLIENTS);
    until("the last transfer has ended", served).await;
    server.stop().await.unwrap();
    all.insert(0, of_server(drain(&mut queue).iter().map(AsRef::as_ref)));
    all
}

fn drain(
    records: &mut tokio::sync::broadcast::Receiver<std::sync::Arc<Record>>,
) -> Vec<std::sync::Arc<Record>> {
    std::iter::from_fn(|| records.try_recv().ok()).collect()
}

#[test]
fn a_machine_that_hesitates_does_not_change_the_course_of_events() {
    let calm = simulated(0, time::Duration::ZERO);
    for seed in 0..12 {
        assert_eq!(simulated(seed, HESITATION)[0], calm[0], "seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_simulator_and_real_tcp_agree() {
    let (simulated, real) = (simulated(0, time::Duration::ZERO), real().await);
    assert!(simulated[0].iter().any(|line| line.contains("told 2/2")), "{simulated:#?}");
    for (n, (simulated, real)) in simulated.iter().zip(&real).enumerate() {
        assert_eq!(simulated, real, "node {n}: simulated left, real right");
    }
}
