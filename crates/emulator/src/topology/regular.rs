//! Topologies without chance: chains, trees, circles, grids and fat trees.
//!
//! Where Mininet has one (`mininet/topo.py`, `topolib.py`), switches and ports are numbered in the
//! order in which it makes them.

use super::builder::Builder;

/// A chain; each new switch links itself to the one before.
pub(super) fn linear(to: &mut Builder, switches: u32, hosts: u32) {
    let mut before = None;
    for _ in 0..switches {
        let switch = to.switch(hosts);
        if let Some(before) = before.replace(switch) {
            to.link(switch, before);
        }
    }
}

/// A tree, made from its root downwards and from the left; answers its root. A switch's links go to
/// those below it first.
pub(super) fn tree(to: &mut Builder, depth: u32, fanout: u32, hosts: u32) -> u32 {
    // The switches on the way down, with how many are below each already: a tree may be 10,000
    // deep.
    let mut way: Vec<(u32, u32)> = Vec::new();
    loop {
        let is_leaf = way.len() as u32 + 1 == depth;
        let mut done = to.switch(if is_leaf { hosts } else { 0 });
        if to.is_full() {
            return done;
        }
        if !is_leaf {
            way.push((done, 0));
            continue;
        }
        // Links it to the one above, and that one to its own when it has all.
        loop {
            let Some((above, below)) = way.last_mut() else { return done };
            *below += 1;
            let (above, is_last) = (*above, *below == fanout);
            to.link(above, done);
            if !is_last {
                break;
            }
            done = above;
            way.pop();
        }
    }
}

/// A chain whose ends are linked.
pub(super) fn ring(to: &mut Builder, switches: u32, hosts: u32) {
    linear(to, switches, hosts);
    to.link(1, switches);
}

/// A grid of x rows with y switches each, every row and column a ring.
pub(super) fn torus(to: &mut Builder, (x, y): (u32, u32), hosts: u32) {
    for _ in 0..u64::from(x) * u64::from(y) {
        to.switch(hosts);
        if to.is_full() {
            return;
        }
    }
    let number = |row: u32, column: u32| (row % x) * y + column % y + 1;
    for row in 0..x {
        for column in 0..y {
            to.link(number(row, column), number(row, column + 1));
            to.link(number(row, column), number(row + 1, column));
        }
    }
}

/// First the (k/2)² core switches, then pod by pod the k/2 aggregating ones and the k/2 with hosts.
pub(super) fn fat_tree(to: &mut Builder, k: u32, hosts: u32) {
    let half = k / 2;
    let core: Vec<u32> = (0..half * half).map(|_| to.switch(0)).collect();
    for _ in 0..k {
        let upper: Vec<u32> = (0..half).map(|_| to.switch(0)).collect();
        let lower: Vec<u32> = (0..half).map(|_| to.switch(hosts)).collect();
        for (&switch, above) in upper.iter().zip(core.chunks(half as usize)) {
            above.iter().for_each(|&above| to.link(switch, above));
        }
        for &switch in &lower {
            upper.iter().for_each(|&above| to.link(switch, above));
        }
    }
}
