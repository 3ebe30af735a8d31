//! What a task exchanges with each core and domain, and from that what its links would cost elsewhere.

use super::context::SearchContext;
use crate::Machine;

/// What a task exchanges with the cores that its neighbours are on.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    /// The cores that the neighbours are on.
    pub(super) cores: Vec<u32>,
    domains: Vec<u32>,
    /// Bytes to and from each.
    pub(super) by_core: Vec<(f64, f64)>,
    by_domain: Vec<(f64, f64)>,
    pub(super) out: f64,
    pub(super) back: f64,
}

impl Profile {
    pub(super) fn new(machine: &Machine) -> Profile {
        Profile {
            by_core: vec![(0.0, 0.0); machine.cores().len()],
            by_domain: vec![(0.0, 0.0); machine.domains()],
            ..Profile::default()
        }
    }

    pub(super) fn fill(&mut self, context: &SearchContext<'_>, cores: &[u32], task: u32) {
        for core in self.cores.drain(..) {
            self.by_core[core as usize] = (0.0, 0.0);
        }
        for domain in self.domains.drain(..) {
            self.by_domain[domain as usize] = (0.0, 0.0);
        }
        (self.out, self.back) = (0.0, 0.0);
        for link in context.graph.links(task) {
            let core = cores[link.other as usize];
            let domain = context.domain_of[core as usize];
            let at = &mut self.by_core[core as usize];
            if *at == (0.0, 0.0) {
                self.cores.push(core);
            }
            *at = (at.0 + link.out, at.1 + link.back);
            let at = &mut self.by_domain[domain as usize];
            if *at == (0.0, 0.0) {
                self.domains.push(domain);
            }
            *at = (at.0 + link.out, at.1 + link.back);
            self.out += link.out;
            self.back += link.back;
        }
    }

    /// The cost of the task's links if it were on a core.
    pub(super) fn cost(&self, context: &SearchContext<'_>, core: u32) -> f64 {
        let domain = context.domain_of[core as usize];
        self.cost_in(context, domain) + self.cost_at(context, core, domain)
    }

    /// The same if it were on a core of a domain that none of its neighbours are on.
    pub(super) fn cost_in(&self, context: &SearchContext<'_>, own: u32) -> f64 {
        let machine = context.machine;
        let cost = |domain: &u32| {
            let (out, back) = self.by_domain[*domain as usize];
            out * machine.domain_distance(own, *domain) + back * machine.domain_distance(*domain, own)
        };
        self.domains.iter().map(cost).sum()
    }

    /// What a core of a domain adds to that by those of its neighbours that are on it.
    pub(super) fn cost_at(&self, context: &SearchContext<'_>, core: u32, own: u32) -> f64 {
        let (out, back) = self.by_core[core as usize];
        (out + back) * (context.machine.same_core() - context.machine.domain_distance(own, own))
    }
}
