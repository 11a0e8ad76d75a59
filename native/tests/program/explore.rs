//! `servent sim --explore`, and what becomes of a run that breaks a rule.

use serde_json::Value;

use crate::program::{Place, complains};

/// EX-2: the counts do not depend on the number of cores.
#[test]
fn ex_2_every_order_is_walked_on_one_core_and_on_two_with_the_same_counts() {
    let place = Place::new();
    let explored = |name: &str, cores: &str| -> Value {
        let output = place.run(&["sim", name, "--explore", "--json", "--cores", cores]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    for name in ["all-of-two-messages", "all-of-a-search", "all-of-two-pieces"] {
        let [one, two] = ["1", "2"].map(|cores| explored(name, cores));
        assert_eq!(one["ended"], "complete", "{name}");
        for key in ["states", "transitions", "depth", "ends"] {
            assert_eq!(one[key], two[key], "{name}: {key}");
        }
    }
    let limited = place.run(&["sim", "all-of-two-messages", "--explore", "--states", "50"]);
    let told = String::from_utf8(limited.stdout).unwrap();
    assert!(told.contains("not complete: `--states` ended it"), "{told}");
}

/// EX-2: a broken rule is a story, and a file in which it happens by itself.
#[test]
fn ex_2_the_shortest_failing_story_is_told_and_kept_as_a_scenario() {
    let place = Place::new();
    let shown = place.run(&["sim", "all-of-two-messages", "--show"]);
    let mut scenario: Value = serde_json::from_slice(&shown.stdout).unwrap();
    // So little time that a lost message is not sent again before the end.
    scenario["horizon"] = 300_000.into();
    std::fs::write(place.path("short.json"), scenario.to_string()).unwrap();
    let output = place.run(&["sim", "short.json", "--explore", "--json"]);
    complains(&output, 5, "servent sim all-of-two-messages-story.json --settle");
    // What failed follows as an event of its own.
    let told = String::from_utf8(output.stdout).unwrap();
    let found: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    assert_eq!(found["violation"]["key"], "check.lost_silently");
    assert!(found["steps"].as_array().is_some_and(|steps| steps.len() <= 12), "{found}");
    assert!(found["link"].as_str().is_some_and(|link| link.len() <= 2_000), "{found}");
    complains(&place.run(&["sim", "all-of-two-messages-story.json", "--settle"]), 5, "");
}

/// EX-5: what is printed of a failing run leads to the smallest that fails so.
#[test]
fn ex_5_a_run_that_breaks_a_rule_is_shrunk_to_one_that_breaks_the_same() {
    let place = Place::new();
    let output = place.run(&["sim", "deadlock", "--settle"]);
    complains(&output, 5, "the smallest that breaks the same rule");
    let small = std::fs::read_to_string(place.path("deadlock-small.json")).unwrap();
    let small: Value = serde_json::from_str(&small).unwrap();
    let clients = small["clients"].as_array().unwrap().iter();
    let count: u64 = clients.filter_map(|group| group["count"].as_u64()).sum();
    assert!(count < 16, "{small}");
    complains(&place.run(&["sim", "deadlock-small.json", "--settle"]), 5, "seed 1");
}
