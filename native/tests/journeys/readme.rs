//! Every command of the README, executed as it stands there: on the reader's
//! machine, which has 10.0.0.7 for a neighbour.

use std::path::Path;

use rcgen::generate_simple_self_signed;

use crate::machines::{Machine, World, code_in, sends, stop};
use crate::program::terminal::INTERRUPT;
use crate::program::{assert_same, noise};

/// What stands in the README for the hash of something that others have.
const SOMETHING: &str = "PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";
/// How lines begin that `native/tests/site` and `xtask` execute.
const ELSEWHERE: [&str; 3] =
    ["cargo xtask", "dist/servent share /srv/archive", "dist/servent site status"];

/// The lines of the README that are executed, from the first to the last.
struct Readme {
    lines: std::vec::IntoIter<String>,
}

impl Readme {
    fn open() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
        let text = std::fs::read_to_string(file).unwrap();
        let fenced = text.split("\n```").skip(1).step_by(2);
        let lines = fenced.flat_map(str::lines).filter(|line| {
            let is_command = line.starts_with(|c: char| c.is_alphabetic());
            is_command && !ELSEWHERE.iter().any(|other| line.starts_with(other))
        });
        let call = |line: &str| line.split("  ").next().unwrap_or_default().to_owned();
        Self { lines: lines.map(call).collect::<Vec<_>>().into_iter() }
    }

    /// The next line, which has to be this one.
    #[track_caller]
    fn says(&mut self, line: &'static str) -> &'static str {
        assert_eq!(self.lines.next().as_deref(), Some(line), "the README, and what is executed");
        line
    }
}

#[test]
fn every_command_of_the_readme_does_what_is_said_of_it() {
    let Some(world) = World::new() else { return };
    let [here, there] = [("here", 0), ("there", 1)].map(|(n, at)| world.machine(n, world.pids[at]));
    let mut readme = Readme::open();
    let song = here.has("../Music/song.ogg", 2_000_000);
    here.has("../Music/live/more.ogg", 100_000);

    // Five minutes.
    let share = here.starts(readme.says("dist/servent share ~/Music --slots 2"), "hashed 2 files");
    downloads(&here, &there, &mut readme, &song);
    several(&here, &there, &mut readme, &song);
    stop(share);
    room(&here, &mut readme);
    recording(&here, &mut readme);
    sending(&world, [&here, &there], &mut readme);
    swarm([&here, &there], &mut readme);

    for scenario in ["rush-hour --seed 7", "lose-last", "ten-thousand"] {
        let line: &'static str = format!("dist/servent sim {scenario}").leak();
        assert!(here.does(readme.says(line)).contains("oracles silent"), "{line}");
    }
    assert_eq!(readme.lines.next(), None, "the README says more");
}

fn downloads(here: &Machine, there: &Machine, readme: &mut Readme, song: &[u8]) {
    let local = "http://127.0.0.1:6346/Music/song.ogg";
    here.does(readme.says("dist/servent get http://127.0.0.1:6346/Music/song.ogg -o song.ogg"));
    assert_same(&here.file("song.ogg"), song);
    here.does(readme.says("dist/servent get http://127.0.0.1:6346/Music/"));
    assert_same(&here.file("Music/song.ogg"), song);
    assert!(here.file("Music/live/more.ogg").exists());

    let signed = generate_simple_self_signed(vec!["example.org".to_owned()]).unwrap();
    std::fs::write(here.place.path("ca.pem"), signed.cert.pem()).unwrap();
    std::fs::write(here.place.path("key.pem"), signed.signing_key.serialize_pem()).unwrap();
    let image = there.has("image.iso", 500_000);
    let secure = "dist/servent share image.iso --listen 10.0.0.7:443 --lab off --state s \
                  --tls ../../ca.pem ../../key.pem";
    let web = there.starts(secure, "hashed");
    here.does(readme.says("dist/servent get https://example.org/image.iso"));
    assert_same(&here.file("image.iso"), &image);
    stop(web);

    let secret = there.has("Private/diary.txt", 10_000);
    std::fs::write(there.file("password"), "nobody knows\n").unwrap();
    let private = "dist/servent share Private --user ann --password-file password --lab off";
    let private = there.starts(private, "hashed");
    let line = readme.says("dist/servent get http://10.0.0.7:6346/Private/ --user ann");
    let (mut terminal, getting) = here.sits(line);
    terminal.shows("assword");
    terminal.types("nobody knows\n");
    assert_eq!(getting.end().code(), Some(0));
    assert_same(&here.file("Private/diary.txt"), &secret);
    stop(private);

    // What is only there is found there.
    let etude = there.has("Music/etude song.ogg", 300_000);
    let lan = "dist/servent share Music --lan --peer 10.0.0.1:6346 --lab off";
    let other = there.starts(lan, "hashed");
    there.does("until dist/servent status | grep -q 'neighbours 1'; do sleep 0.1; done");
    let searches = [
        (readme.says("dist/servent search song"), vec!["song.ogg", "10.0.0.7"]),
        (readme.says("dist/servent search song --lan"), vec!["10.0.0.7"]),
    ];
    let found = searches.map(|(line, wanted)| (line, wanted, here.begins(&mut here.shell(line))));
    let line = readme.says("dist/servent search --browse 10.0.0.7:6346");
    assert!(here.does(line).contains("etude"), "{line}");
    for (line, wanted, search) in found {
        let hits = here.ends(line, search);
        assert!(wanted.iter().all(|part| hits.contains(part)), "{line}: {hits}");
    }
    let line = readme.says("dist/servent get urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB");
    let hits = here.does("dist/servent search --browse 10.0.0.7:6346 --json");
    let hit: serde_json::Value = serde_json::from_str(hits.lines().next().unwrap()).unwrap();
    let urn = hit["sha1"].as_str().unwrap();
    here.does(&line.replace(&format!("urn:sha1:{SOMETHING}"), urn));
    assert_same(&here.file("etude song.ogg"), &etude);
    stop(other);

    std::fs::remove_file(here.file("song.ogg")).unwrap();
    here.does(&format!("{} -s", readme.says("curl -O http://127.0.0.1:6346/Music/song.ogg")));
    assert_same(&here.file("song.ogg"), song);
    std::fs::remove_dir_all(here.file("Music")).unwrap();
    here.does(readme.says("curl 'http://127.0.0.1:6346/Music/?tar' | tar -x"));
    assert_same(&here.file("Music/song.ogg"), song);
    std::fs::write(
        here.file("list.txt"),
        format!("# mine\n{local}\n{}\n", local.replace("song", "live/more")),
    )
    .unwrap();
}

fn several(here: &Machine, there: &Machine, readme: &mut Readme, song: &[u8]) {
    here.does(readme.says("dist/servent get -i list.txt -o music/ --parallel 3"));
    assert_same(&here.file("music/song.ogg"), song);
    assert!(here.file("music/more.ogg").exists());
    std::fs::remove_dir_all(here.file("music")).unwrap();
    let line = readme.says("dist/servent get -q -i list.txt -o music/");
    assert_eq!(here.does(line), "", "{line}");
    assert_same(&here.file("music/song.ogg"), song);
    let line = "dist/servent get http://127.0.0.1:6346/Music/song.ogg -o - | mpv -";
    here.does(readme.says(line));
    assert_same(&here.file("played"), song);

    here.has("../Films/film.mkv", 50_000);
    here.does(readme.says("dist/servent add ~/Films"));
    here.does("until curl -sf http://127.0.0.1:6346/Films/film.mkv; do sleep 0.1; done > film");
    assert_same(&here.file("film"), &noise(50_000));
    let etude = there.has("Music/song.ogg", 300_001);
    let other = there.starts("dist/servent share Music --lab off", "hashed");
    here.does(readme.says("dist/servent downloads add http://10.0.0.7:6346/Music/song.ogg"));
    let line = readme.says("dist/servent downloads");
    here.does(&format!("until {line} | grep -q done; do sleep 0.1; done"));
    let kept = here.home.join(".local/state/servent/downloads/song.ogg");
    assert_same(&kept, &etude);
    stop(other);
}

fn room(here: &Machine, readme: &mut Readme) {
    let room = here.starts(readme.says("dist/servent room ~/Music"), "hashed");
    assert!(here.does("curl -sf http://10.0.0.1:6380/").contains("<title>"));
    stop(room);
    let line = readme.says("dist/servent room ~/Music --record class.sqlog");
    stop(here.starts(line, "hashed"));
    let line = readme.says("dist/servent room replay class.sqlog --lab");
    stop(here.starts(line, "lab http://"));
}

fn recording(here: &Machine, readme: &mut Readme) {
    let line = readme.says("dist/servent share ~/Music --trace run.sqlog");
    stop(here.starts(line, "hashed"));
    let line = readme.says("dist/servent replay run.sqlog");
    assert!(here.does(line).starts_with("verified "), "{line}");
    here.does(readme.says("dist/servent trace export run.sqlog --pcapng -o run.pcapng"));
    assert!(std::fs::read(here.file("run.pcapng")).unwrap().starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    let lab = here.starts(readme.says("dist/servent lab --open"), "lab http://");
    here.does("until [ -s opened ]; do sleep 0.1; done");
    stop(lab);
}

fn sending(world: &World, [here, there]: [&Machine; 2], readme: &mut Readme) {
    let song = std::fs::read(here.file("song.ogg")).unwrap();
    let (big, photo) = (here.has("big", 3_000_000), here.has("photos/a.jpg", 100_000));
    here.has("docs/read.txt", 1_000);
    let line = readme.says("dist/servent receive -o inbox/");
    let (mut theirs, receiver) = there.sits(&format!("exec {line}"));
    theirs.shows("others send with: servent send 10.0.0.7 FILE");
    let code = code_in(&theirs.shows("give it"));
    let mut agreed = |line: &str| {
        let sender = sends(here, line, &code);
        theirs.shows("[y/N]");
        theirs.types("y\n");
        assert_eq!(sender.end().code(), Some(0), "{line}");
    };
    agreed(readme.says("dist/servent send 10.0.0.7 song.ogg photos/"));
    assert_same(&there.file("inbox/song.ogg"), &song);
    assert_same(&there.file("inbox/photos/a.jpg"), &photo);
    let piped = readme.says("tar c docs | dist/servent send 10.0.0.7");
    let to_three = readme.says("dist/servent send --to 3 film.mkv");
    let each = readme.says("dist/servent receive --from 10.0.0.7 -o inbox/");
    agreed(readme.says("dist/servent send 10.0.0.7 big --loss 5%"));
    assert_same(&there.file("inbox/big"), &big);
    std::fs::remove_file(there.file("inbox/big")).unwrap();
    agreed(readme.says("dist/servent send 10.0.0.7 big --trace t.sqlog"));
    assert!(here.does("dist/servent replay t.sqlog").starts_with("verified "));
    theirs.types(INTERRUPT);
    assert_eq!(receiver.end().code(), Some(0));

    let (mut theirs, receiver) = there.sits("dist/servent receive | tar x");
    let sender = sends(here, piped, &code_in(&theirs.shows("give it")));
    theirs.shows("[y/N]");
    theirs.types("y\n");
    assert_eq!((sender.end().code(), receiver.end().code()), (Some(0), Some(0)));
    assert_same(&there.file("docs/read.txt"), &noise(1_000));

    let film = there.has("film.mkv", 1_000_000);
    let (mut theirs, sender) = there.sits(to_three);
    theirs.shows("each runs `servent receive --from 10.0.0.7 -o inbox/`");
    let code = code_in(&theirs.shows("give it"));
    let all = ["here", "second", "third"].map(|name| world.machine(name, here.pid));
    let receiving = all.each_ref().map(|one| {
        let (mut terminal, running) = one.sits(each);
        terminal.shows("shows: ");
        terminal.types(&format!("{code}\n"));
        terminal.shows("[y/N]");
        terminal.types("y\n");
        (terminal, running)
    });
    assert_eq!(sender.end().code(), Some(0));
    for (one, (_, running)) in all.iter().zip(receiving) {
        assert_eq!(running.end().code(), Some(0));
        assert_same(&one.file("inbox/film.mkv"), &film);
    }
}

fn swarm([here, there]: [&Machine; 2], readme: &mut Readme) {
    let film = std::fs::read(there.file("film.mkv")).unwrap();
    let serving = there.starts(readme.says("dist/servent swarm serve film.mkv"), "pdtp://");
    here.does(readme.says("dist/servent swarm get pdtp://10.0.0.7/film.mkv"));
    assert_same(&here.file("film.mkv"), &film);
    std::fs::remove_file(here.file("film.mkv")).unwrap();
    let line = "dist/servent swarm get pdtp://10.0.0.7/film.mkv --passive --seed-for 10m";
    stop(here.starts(readme.says(line), "film.mkv"));
    assert_same(&here.file("film.mkv"), &film);
    stop(serving);
    let line = readme.says("dist/servent swarm serve film.mkv --metrics 127.0.0.1:9100");
    let serving = there.starts(line, "metrics at");
    for page in ["metrics", "status"] {
        let told = there.does(&format!("curl -sf http://127.0.0.1:9100/{page}"));
        assert!(told.contains("arrived"), "{told}");
    }
    stop(serving);
    let line = readme.says("dist/servent swarm serve film.mkv --lab 127.0.0.1:0");
    stop(there.starts(&format!("{line} 2>&1"), "lab http://"));
    let song = there.has("course/song.ogg", 10_000);
    let serving = there.starts(readme.says("dist/servent swarm serve course/"), "pdtp://");
    here.does(readme.says("dist/servent swarm get pdtp://10.0.0.7/course/"));
    assert_same(&here.file("course/song.ogg"), &song);
    stop(serving);
}
