//! Ending a program with everything that it has started.

use std::collections::BTreeMap;
use std::fs;

use crate::run::Tool;

/// Ends the process and all that descend from it, at once. A browser is in a
/// group of its own, so the group would not be enough.
pub(crate) fn end(id: u32) {
    let mut ids = vec![id];
    let children = children();
    let mut at = 0;
    while let Some(id) = ids.get(at) {
        ids.extend(children.get(id).into_iter().flatten());
        at += 1;
    }
    let kill = ids.iter().fold(Tool::new("kill").arg("-KILL"), |kill, id| kill.arg(id.to_string()));
    kill.works();
}

/// The processes that are there, by who has started them; none where the system
/// does not tell.
fn children() -> BTreeMap<u32, Vec<u32>> {
    let mut by_parent = BTreeMap::<u32, Vec<u32>>::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name is between brackets and may hold anything.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split(' ').nth(2));
        let id = entry.file_name().to_string_lossy().parse().ok();
        if let (Some(id), Some(parent)) = (id, parent.and_then(|parent| parent.parse().ok())) {
            by_parent.entry(parent).or_default().push(id);
        }
    }
    by_parent
}
