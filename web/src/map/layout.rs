//! Where the nodes stand in the picture: in a square from 0 to 1.

use core::f64::consts::TAU;

use servent_core::rng::Rng;
use servent_core::sim::overlay::{Net, Scenario, Shape};

/// Rounds in which a net of no shape finds one.
const ROUNDS: u32 = 300;
/// Nodes up to which that does not take long.
const SMALL: usize = 200;

/// `[x, y]` of every node.
pub(super) fn places(scenario: &Scenario, net: &Net) -> Vec<f32> {
    let nodes = scenario.nodes as usize;
    let places = match scenario.shape {
        Shape::Ring => circle(nodes, 0.0),
        Shape::Star => {
            let mut places = vec![(0.5, 0.5)];
            places.extend(circle(nodes - 1, 0.0));
            places
        }
        Shape::Mesh | Shape::SmallWorld => grid(nodes, |_| (0.0, 0.0)),
        Shape::Random | Shape::Free if nodes <= SMALL => settled(nodes, net),
        Shape::Random | Shape::Free => {
            let mut dice = Rng::new(scenario.seed).fork("places", 0);
            let mut draw = || (dice.below(1_000) as f64 / 1_000.0 - 0.5) * 0.7;
            grid(nodes, |_| (draw(), draw()))
        }
    };
    places.into_iter().flat_map(|(x, y)| [x as f32, y as f32]).collect()
}

/// The first on top, the others clockwise.
fn circle(nodes: usize, turn: f64) -> Vec<(f64, f64)> {
    let place = |node: usize| {
        let (sin, cos) = (TAU * node as f64 / nodes.max(1) as f64 + turn).sin_cos();
        (0.5 + 0.5 * sin, 0.5 - 0.5 * cos)
    };
    (0..nodes).map(place).collect()
}

fn grid(nodes: usize, mut shift: impl FnMut(usize) -> (f64, f64)) -> Vec<(f64, f64)> {
    let columns = (1..).find(|columns| columns * columns >= nodes).unwrap_or(1);
    let rows = nodes.div_ceil(columns);
    let step = 1.0 / (columns.max(rows).max(2) - 1) as f64;
    let place = |node: usize| {
        let (x, y) = shift(node);
        let (column, row) = ((node % columns) as f64, (node / columns) as f64);
        (((column + x) * step).clamp(0.0, 1.0), ((row + y) * step).clamp(0.0, 1.0))
    };
    (0..nodes).map(place).collect()
}

/// Neighbours pull, everybody pushes (Fruchterman and Reingold), from a circle
/// on, so that the same net always looks the same.
fn settled(nodes: usize, net: &Net) -> Vec<(f64, f64)> {
    let mut places = circle(nodes, 0.1);
    let wished = 0.9 / (nodes as f64).sqrt();
    for round in 0..ROUNDS {
        let mut moves = vec![(0.0, 0.0); nodes];
        for a in 0..nodes {
            for b in 0..a {
                push(&mut moves, &places, (a, b), |far| wished * wished / far);
            }
        }
        for wire in net.wires() {
            let ends = (wire.a as usize, wire.b as usize);
            push(&mut moves, &places, ends, |far| -far * far / wished);
        }
        let most = 0.12 * f64::from(ROUNDS - round) / f64::from(ROUNDS);
        for ((x, y), (dx, dy)) in places.iter_mut().zip(moves) {
            let far = dx.hypot(dy).max(1e-9);
            let step = far.min(most) / far;
            (*x, *y) = (*x + dx * step, *y + dy * step);
        }
    }
    fitted(places)
}

fn push(
    moves: &mut [(f64, f64)],
    places: &[(f64, f64)],
    (a, b): (usize, usize),
    force: impl Fn(f64) -> f64,
) {
    let (dx, dy) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
    let far = dx.hypot(dy).max(1e-6);
    let force = force(far) / far;
    moves[a] = (moves[a].0 + dx * force, moves[a].1 + dy * force);
    moves[b] = (moves[b].0 - dx * force, moves[b].1 - dy * force);
}

/// Fills the square in both directions.
fn fitted(mut places: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let (mut low, mut high) = ((1e9_f64, 1e9_f64), (-1e9_f64, -1e9_f64));
    for (x, y) in &places {
        low = (low.0.min(*x), low.1.min(*y));
        high = (high.0.max(*x), high.1.max(*y));
    }
    let span = ((high.0 - low.0).max(1e-6), (high.1 - low.1).max(1e-6));
    for (x, y) in &mut places {
        (*x, *y) = ((*x - low.0) / span.0, (*y - low.1) / span.1);
    }
    places
}
