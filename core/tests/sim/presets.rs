//! The presets with the real node.

use servent_core::sim::check::Oracles;
use servent_core::sim::{Role, Scenario, World, presets};
use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};

fn run(s: &Scenario) -> (World, Vec<Record>) {
    let mut world = World::new(s);
    let mut records = Vec::new();
    world.run_until(Instant::ZERO + s.horizon, &mut records);
    (world, records)
}

/// A tale of a run, for when a test fails.
fn tale(world: &World, records: &[Record]) -> String {
    let mut out = String::new();
    for r in records {
        let name = &world.profiles()[r.node.0 as usize].name;
        if r.node.0 > 0 || r.seq > 1800 { continue; }
        out += &format!("{:>5} {:?} {name}: {:?} <- {:?}\n", r.seq, r.at, r.event, r.cause);
    }
    out
}

#[test]
fn every_client_of_every_preset_has_its_file_in_the_end() {
    for s in presets::all() {
        let (world, records) = run(&s);
        println!(
            "{}: {} records, {} calendar events, digest {:016x}",
            s.id,
            world.records(),
            world.events(),
            world.digest()
        );
        if std::env::var_os("TALE").is_some_and(|t| t == *s.id) {
            println!("{}", tale(&world, &records));
        }
        let mut oracles = Oracles::new(&s);
        records.iter().for_each(|r| oracles.see(r));
        oracles.finish(records.last().expect("something happened"));
        let text = format!("{:#?}", oracles.violations());
        println!(
            "{} violations: {}",
            oracles.violations().len(),
            text.chars().take(1500).collect::<String>()
        );
        let left: Vec<&str> = world
            .profiles()
            .iter()
            .enumerate()
            .filter(|(i, p)| p.role == Role::Client && world.outcome(NodeId(*i as u32)) != (1, 0))
            .map(|(_, p)| p.name.as_str())
            .collect();
        println!("   left: {left:?}");
    }
}
