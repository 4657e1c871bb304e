//! The nodes of a cluster, and which slots are whose.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::core::slot::SLOTS;
use crate::remote::endpoint::Endpoint;
use crate::remote::event::Status;
use crate::remote::node::Node;

use super::redirect::Address;
use super::topology::Topology;

/// How long a node stays that was only pointed to: while a slot is on its way to a new node, that
/// node owns nothing yet.
const KEEP: Duration = Duration::from_secs(10);

/// How many may stay for no other reason. A node that points to ever new ones gets no further.
const MAX_POINTED_TO: usize = 64;

const NOBODY: u16 = u16::MAX;

pub(super) struct Map {
    owners: Box<[u16]>,
    members: Vec<Member>,
    tls: bool,
    /// Whether a topology was seen.
    pub known: bool,
    pub closed: bool,
}

struct Member {
    address: Address,
    node: Arc<Node>,
    /// Whether the last topology named it.
    is_named: bool,
    pointed_to: Option<Instant>,
}

/// What changed.
#[derive(Default)]
pub(super) struct Change {
    /// Nodes that have to be connected.
    pub joined: Vec<Arc<Node>>,
    /// Nodes nobody will send to any more.
    pub left: Vec<Arc<Node>>,
}

impl Map {
    pub fn new(tls: bool) -> Self {
        Self {
            owners: vec![NOBODY; usize::from(SLOTS)].into(),
            members: Vec::new(),
            tls,
            known: false,
            closed: false,
        }
    }

    pub fn owner(&self, slot: u16) -> Option<&Arc<Node>> {
        let index = *self.owners.get(usize::from(slot))?;
        self.members.get(usize::from(index)).map(|member| &member.node)
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.members.iter().map(|member| &member.node)
    }

    /// Takes a topology as the truth.
    pub fn replace(&mut self, topology: Topology, now: Instant) -> Change {
        self.known = true;
        let mut change = Change::default();
        self.owners.fill(NOBODY);
        for member in &mut self.members {
            member.is_named = false;
        }
        let mut owning = vec![false; self.members.len()];
        for (first, last, address) in topology.0 {
            let index = self.member(address, &mut change);
            owning.resize(self.members.len(), false);
            owning[index] = true;
            self.members[index].is_named = true;
            if let Ok(index) = u16::try_from(index) {
                self.owners[usize::from(first)..=usize::from(last)].fill(index);
            }
        }
        self.forget(&owning, now, &mut change);
        change
    }

    /// Gives one slot to the node at an address.
    pub fn give(&mut self, slot: u16, address: Address, now: Instant) -> Change {
        let mut change = Change::default();
        let Some(index) = self.pointed_to(address, now, &mut change) else {
            return change;
        };
        if let (Some(owner), Ok(index)) = (self.owners.get_mut(usize::from(slot)), u16::try_from(index)) {
            *owner = index;
        }
        change
    }

    /// The node at an address that another node pointed to; `None` when that were too many.
    pub fn point_to(&mut self, address: Address, now: Instant) -> Option<(Arc<Node>, Change)> {
        let mut change = Change::default();
        let index = self.pointed_to(address, now, &mut change)?;
        Some((Arc::clone(&self.members[index].node), change))
    }

    /// Whether every slot has an owner, and every owner a connection.
    pub fn is_whole(&self) -> bool {
        let up: Vec<_> = self.nodes().map(|node| node.link.status() == Status::Ready).collect();
        self.owners
            .iter()
            .all(|index| up.get(usize::from(*index)).copied().unwrap_or(false))
    }

    fn pointed_to(&mut self, address: Address, now: Instant, change: &mut Change) -> Option<usize> {
        let is_known = self.members.iter().any(|member| member.address == address);
        let unnamed = self.members.iter().filter(|member| !member.is_named).count();
        if !is_known && unnamed >= MAX_POINTED_TO {
            return None;
        }
        let index = self.member(address, change);
        self.members[index].pointed_to = Some(now);
        Some(index)
    }

    fn member(&mut self, address: Address, change: &mut Change) -> usize {
        if let Some(index) = self.members.iter().position(|member| member.address == address) {
            return index;
        }
        let node = Node::new(Endpoint::Tcp {
            host: address.host.clone(),
            port: address.port,
            tls: self.tls,
        });
        change.joined.push(Arc::clone(&node));
        self.members.push(Member {
            address,
            node,
            is_named: false,
            pointed_to: None,
        });
        self.members.len() - 1
    }

    /// Lets go of members that own nothing and were not pointed to lately.
    fn forget(&mut self, owning: &[bool], now: Instant, change: &mut Change) {
        let mut moved_to = vec![NOBODY; self.members.len()];
        let mut kept = Vec::with_capacity(self.members.len());
        for (index, member) in self.members.drain(..).enumerate() {
            let lately = member
                .pointed_to
                .is_some_and(|at| now.saturating_duration_since(at) < KEEP);
            if owning[index] || lately {
                moved_to[index] = u16::try_from(kept.len()).unwrap_or(NOBODY);
                kept.push(member);
            } else {
                change.left.push(member.node);
            }
        }
        self.members = kept;
        for owner in &mut self.owners {
            *owner = moved_to.get(usize::from(*owner)).copied().unwrap_or(NOBODY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Address {
        Address {
            host: String::from("host"),
            port,
        }
    }

    fn port(node: &Arc<Node>) -> u16 {
        match node.endpoint {
            Endpoint::Tcp { port, .. } => port,
            Endpoint::Unix(_) => 0,
        }
    }

    fn owner(map: &Map, slot: u16) -> Option<u16> {
        map.owner(slot).map(port)
    }

    fn ports(nodes: &[Arc<Node>]) -> Vec<u16> {
        nodes.iter().map(port).collect()
    }

    #[test]
    fn a_topology_says_who_owns_what_and_keeps_nodes_that_stay() {
        let mut map = Map::new(false);
        let now = Instant::now();
        assert_eq!(owner(&map, 0), None);
        let change = map.replace(Topology(vec![(0, 99, at(1)), (100, 16_383, at(2))]), now);
        assert_eq!(ports(&change.joined), [1, 2]);
        assert_eq!((owner(&map, 99), owner(&map, 100)), (Some(1), Some(2)));
        let kept = Arc::clone(map.owner(100).unwrap());

        let change = map.replace(Topology(vec![(0, 99, at(3)), (200, 16_383, at(2))]), now);
        assert_eq!((ports(&change.joined), ports(&change.left)), (vec![3], vec![1]));
        assert_eq!(
            (owner(&map, 0), owner(&map, 100), owner(&map, 16_383)),
            (Some(3), None, Some(2))
        );
        assert!(Arc::ptr_eq(&kept, map.owner(200).unwrap()));
        assert_eq!(owner(&map, SLOTS), None);
    }

    #[test]
    fn a_redirection_moves_one_slot_at_once() {
        let mut map = Map::new(false);
        let now = Instant::now();
        map.replace(Topology(vec![(0, 16_383, at(1))]), now);
        assert_eq!(ports(&map.give(7, at(2), now).joined), [2]);
        assert!(map.give(8, at(2), now).joined.is_empty());
        assert_eq!(
            (owner(&map, 6), owner(&map, 7), owner(&map, 8)),
            (Some(1), Some(2), Some(2))
        );
    }

    #[test]
    fn a_node_that_owns_nothing_stays_as_long_as_it_is_pointed_to() {
        let mut map = Map::new(false);
        let now = Instant::now();
        let topology = || Topology(vec![(0, 16_383, at(1))]);
        map.replace(topology(), now);
        let (node, change) = map.point_to(at(2), now).unwrap();
        assert_eq!((port(&node), ports(&change.joined)), (2, vec![2]));
        assert!(map.replace(topology(), now + KEEP / 2).left.is_empty());
        assert!(Arc::ptr_eq(&map.point_to(at(2), now + KEEP / 2).unwrap().0, &node));
        assert!(map.replace(topology(), now + KEEP).left.is_empty());
        assert_eq!(ports(&map.replace(topology(), now + KEEP * 2).left), [2]);
        assert_eq!(owner(&map, 0), Some(1));
    }

    #[test]
    fn a_node_that_points_to_ever_new_ones_gets_no_further() {
        let mut map = Map::new(false);
        let now = Instant::now();
        map.replace(Topology(vec![(0, 16_383, at(1))]), now);
        for port in 2..1000 {
            map.give(7, at(port), now);
            map.point_to(at(port + 1000), now);
        }
        assert_eq!(map.nodes().count(), 1 + MAX_POINTED_TO);
        // Known ones are pointed to as ever, and room comes with time.
        assert!(map.point_to(at(2), now).is_some() && map.point_to(at(999), now).is_none());
        map.replace(Topology(vec![(0, 16_383, at(1))]), now + KEEP);
        assert!(map.point_to(at(999), now + KEEP).is_some());
        assert_eq!(map.nodes().count(), 2);
    }
}
