//! Finding and downloading what two others have.

use rcgen::generate_simple_self_signed;

use super::{GETTING, Stage};
use crate::machines::{World, stop};
use crate::program::assert_same;

#[test]
fn examples_of_finding_and_downloading() {
    let Some(world) = World::new() else { return };
    let mut stage = Stage::new(&world, &GETTING);
    let song = stage.there.has("Music/song.flac", 300_000);
    stage.there.has("Music/gnutella protocol.ogg", 20_000);
    stage.there.has("Music/waltz.ogg", 5_000);
    stage.there.has("Songs/song.flac", 300_000);
    stage.there.has("Private/diary.txt", 1_000);
    for name in ["Films/film.mkv", "pub/image.iso", "b.iso", "c.iso", "d.iso", "e.iso"] {
        stage.there.has(name, 200_000);
    }
    let here = "servent share pub --lan";
    stage.here.has("pub/mine.ogg", 1_000);
    let here = stage.here.starts(here, "hashed");
    let nine = "servent share Films Songs --listen 10.0.0.9:6346 --lab off --state nine";
    let nine = stage.there.starts(nine, "hashed");
    let slow = "servent share b.iso c.iso d.iso e.iso --listen 10.0.0.9:80 --lab off --state slow \
                --limit-rate 2k";
    let slow = stage.there.starts(slow, "hashed");
    let seven = "servent share Music --listen 10.0.0.7:6346 --lab off --lan --peer 10.0.0.1:6346";
    let seven = stage.there.starts(seven, "hashed");
    stage.there.does("until servent status | grep -q 'neighbours 1'; do sleep 0.1; done");
    searched(&mut stage);
    got(&mut stage, &song);
    managed(&mut stage);
    stop(seven);
    private(&mut stage);
    [nine, slow, here].into_iter().for_each(stop);
    stage.examples.end();
}

fn searched(stage: &mut Stage) {
    let lines = [
        "servent search gnutella protocol",
        "servent search gnutella protocol --peer 10.0.0.7:6346",
        "servent search ogg --sort sources",
        "servent search ogg --lan",
        "servent search ogg --peer 10.0.0.7:6346 --json --wait 30",
        "servent search --browse 10.0.0.7:6346",
    ];
    // All at the same time; the longest does not wait quite as long. A search in
    // the local network asks again after 1, 2, 4, 8 and 16 seconds, and on a busy
    // machine the first answers may be lost: that one may wait for the last of them. It
    // ends as early as the others once it has an answer.
    let lines = lines.map(|line| stage.says(line).replace("--wait 30", "--wait 5"));
    let lines = lines.map(|line| line.replace("ogg --lan", "ogg --lan --wait 45"));
    let searches = lines.map(|line| (stage.here.begins(&mut stage.here.shell(&line)), line));
    for (search, line) in searches {
        let hits = stage.here.ends(&line, search);
        assert!(hits.contains("protocol.ogg"), "{line}: {hits}");
    }
}

/// What the examples abbreviate or leave open.
fn filled_in(stage: &mut Stage, line: &str) -> String {
    let found = stage.here.does("servent search --browse 10.0.0.7:6346 --json");
    let found = found.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let song = found.into_iter().find(|hit| hit["name"] == "Music/song.flac").unwrap();
    let sha1 = song["sha1"].as_str().unwrap().trim_start_matches("urn:sha1:");
    let servent = song["servent"].as_str().unwrap();
    let index = format!("6346/{}/", song["index"]);
    let line = stage.says(line).replace("PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB", sha1);
    line.replace("PLST…", sha1).replace("SERVENT", servent).replace("6346/1/", &index)
}

fn got(stage: &mut Stage, song: &[u8]) {
    for line in [
        "servent get http://10.0.0.7:6346/Music/song.flac",
        "servent get http://10.0.0.7:6346/Music/song.flac urn:sha1:PLST… --mirror http://10.0.0.9:6346/Songs/song.flac",
        "servent get push://SERVENT@10.0.0.7:6346/1/song.flac",
        "servent get urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB 10.0.0.7:6346",
        "servent get urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB --peer 10.0.0.7:6346",
        "servent get 'magnet:?xt=urn:sha1:PLST…&xs=http://10.0.0.7:6346/uri-res/N2R?urn:sha1:PLST…'",
    ] {
        let line = filled_in(stage, line);
        stage.here.does(&line);
        let name = std::fs::read_dir(stage.here.file(".")).unwrap().map(|it| it.unwrap().path());
        let is_file = |path: &std::path::PathBuf| path.is_file();
        let file = name.into_iter().find(is_file).unwrap_or_else(|| panic!("{line}"));
        assert_same(&file, song);
        std::fs::remove_file(file).unwrap();
    }
    let hits = stage.here.does("servent search --browse 10.0.0.7:6346");
    let third = hits.lines().nth(2).unwrap();
    let names = ["gnutella protocol.ogg", "song.flac", "waltz.ogg"];
    let name = names.into_iter().find(|name| third.contains(&format!("/{name}  "))).unwrap();
    stage.does("servent get 3");
    std::fs::remove_file(stage.here.file(name)).unwrap();
    stage.does("servent get http://10.0.0.7:6346/Music/song.flac -o - | mpv -");
    assert_same(&stage.here.file("played"), song);
    stage.does("servent get http://10.0.0.7:6346/Music/song.flac http://10.0.0.9:6346/Films/film.mkv -o music/");
    assert!(stage.here.file("music/film.mkv").exists());
    stage.does("servent get http://10.0.0.7:6346/Music/");
    assert_same(&stage.here.file("Music/song.flac"), song);
    let list = "http://10.0.0.7:6346/Music/song.flac\nhttp://10.0.0.9:6346/Films/film.mkv\n";
    std::fs::write(stage.here.file("list.txt"), list).unwrap();
    std::fs::remove_dir_all(stage.here.file("music")).unwrap();
    stage.does("servent get -i list.txt -o music/ --parallel 3");
    assert_same(&stage.here.file("music/song.flac"), song);

    met(stage, song);

    let signed = generate_simple_self_signed(vec!["example.org".to_owned()]).unwrap();
    std::fs::write(stage.there.file("cert.pem"), signed.cert.pem()).unwrap();
    std::fs::write(stage.there.file("key.pem"), signed.signing_key.serialize_pem()).unwrap();
    std::fs::write(stage.here.file("company.pem"), signed.cert.pem()).unwrap();
    let web =
        "servent share pub --listen 10.0.0.7:443 --lab off --state web --tls cert.pem key.pem";
    let web = stage.there.starts(web, "hashed");
    stage.does("servent get https://example.org/pub/image.iso --ca-file company.pem");
    stop(web);
}

/// From a servent that is found through a meeting place.
fn met(stage: &mut Stage, song: &[u8]) {
    let place = stage.there.starts("servent meet 2>&1", "meeting place");
    let share = "servent share Music --meet place.example.org --listen 10.0.0.9:7000 --lab off \
                 --state met";
    let (mut sharing, link) = stage.there.starts(share, "meet://");
    sharing.line(|line| line.contains("hashed"));
    let code = link.split("meet://").nth(1).and_then(|link| link.split('@').next()).unwrap();
    let line = stage.says("servent get meet://CODE@place.example.org/").replace("CODE", code);
    stage.here.does(&format!("{line} -o met/"));
    assert_same(&stage.here.file("met/Music/song.flac"), song);
    stop((sharing, link));
    stop(place);
}

/// Downloads of the servent that runs here; three of them take long.
fn managed(stage: &mut Stage) {
    stage.does("servent downloads add http://10.0.0.7:6346/Music/song.flac http://10.0.0.9/b.iso");
    let list = ["c", "d", "e"].map(|name| format!("http://10.0.0.9/{name}.iso\n")).concat();
    std::fs::write(stage.here.file("list.txt"), list).unwrap();
    stage.does("servent downloads add -i list.txt");
    let told = stage.does("servent downloads");
    assert!(
        ["song.flac", "b.iso", "c.iso", "d.iso", "e.iso"].iter().all(|it| told.contains(it)),
        "{told}"
    );
    stage.does("servent downloads list --json");
    let paused = || "servent downloads list --json | jq '.downloads[].download.state'".to_owned();
    stage.does("servent downloads pause 3");
    assert!(stage.does(&paused()).contains("paused"));
    stage.does("servent downloads resume 3");
    assert!(!stage.here.does(&paused()).contains("paused"));
    stage.does("servent downloads pause 3 4");
    stage.does("servent downloads remove 3");
    stage.does("servent downloads add http://10.0.0.7:6346/Music/song.flac");
    let told = stage.does("servent downloads add http://10.0.0.7:6346/Music/");
    assert!(told.lines().count() == 1, "one line for a folder: {told}");
    let line = filled_in(
        stage,
        "servent downloads add urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB 10.0.0.7:6346",
    );
    stage.here.does(&line);
    stage.here.does("until servent downloads | grep -q done; do sleep 0.1; done");
    stage.does("servent downloads remove --done");
}

fn private(stage: &mut Stage) {
    std::fs::write(stage.there.file("password"), "nobody knows\n").unwrap();
    let private = "servent share Private --listen 10.0.0.7:6346 --lab off --user ann \
                   --password-file password";
    let private = stage.there.starts(private, "hashed");
    for line in [
        "servent get http://10.0.0.7:6346/Private/ --user ann",
        "servent downloads add http://10.0.0.7:6346/Private/ --user ann",
    ] {
        let line = stage.says(line);
        let (mut terminal, getting) = stage.here.sits(&line);
        terminal.shows("assword");
        terminal.types("nobody knows\n");
        assert_eq!(getting.end().code(), Some(0), "{line}");
    }
    assert!(stage.here.file("Private/diary.txt").exists());
    stage.here.does("until servent downloads | grep diary.txt | grep -q done; do sleep 0.1; done");
    stop(private);
}
