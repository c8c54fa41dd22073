"""The built-in topologies of `aldis emulate` as Mininet's: four that Mininet has, and four more."""

import math
import random

from mininet.topo import LinearTopo, SingleSwitchTopo, Topo
from mininet.topolib import TorusTopo, TreeTopo


class Graph(Topo):
    """Switches s1, s2, … with their links; those in `edge` (all, if none is named) have one host each."""

    def build(self, switches, links, edge=None):
        names = [self.addSwitch(f"s{number}") for number in range(1, switches + 1)]
        for number in edge or range(1, switches + 1):
            self.addLink(self.addHost(f"h{number}"), names[number - 1])
        for one, other in links:
            self.addLink(names[one - 1], names[other - 1])


def ring(switches):
    return Graph(switches, [(number, number % switches + 1) for number in range(1, switches + 1)])


def fat_tree(pods):
    """Al-Fares and others, 2008: `pods` pods under (pods/2)² switches, one host at each lower switch of a pod."""
    half = pods // 2
    core = half * half
    links, edge = [], []
    for pod in range(pods):
        first = core + pod * pods + 1
        for upper in range(half):
            links += [(upper * half + up + 1, first + upper) for up in range(half)]
            links += [(first + upper, first + half + lower) for lower in range(half)]
        edge += [first + half + lower for lower in range(half)]
    return Graph(core + pods * pods, links, edge)


def waxman(switches, seed=1):
    """Waxman, 1988: links by chance, the likelier the shorter; a chain through all of them makes it one part."""
    chance = random.Random(seed)
    places = [(chance.random(), chance.random()) for _ in range(switches)]
    links = {(number, number + 1) for number in range(1, switches)}
    for one in range(switches):
        for other in range(one + 1, switches):
            if chance.random() < 0.8 * math.exp(-math.dist(places[one], places[other]) / 0.4):
                links.add((one + 1, other + 1))
    return Graph(switches, sorted(links))


def preferential(switches, seed=1):
    """Barabási and Albert, 1999: each switch links to two earlier ones, the likelier the more links one has."""
    chance = random.Random(seed)
    links, ends = [(1, 2)], [1, 2]
    for number in range(3, switches + 1):
        chosen = set()
        while len(chosen) < 2:
            chosen.add(chance.choice(ends))
        links += [(earlier, number) for earlier in sorted(chosen)]
        ends += [*chosen, number, number]
    return Graph(switches, links)


BUILT_IN = {
    "single,4": lambda: SingleSwitchTopo(4),
    "linear,4": lambda: LinearTopo(4),
    "tree,2,3": lambda: TreeTopo(2, 3),
    "torus,3,3": lambda: TorusTopo(3, 3),
    "ring,5": lambda: ring(5),
    "fat-tree,4": lambda: fat_tree(4),
    "waxman,8": lambda: waxman(8),
    "preferential,8": lambda: preferential(8),
}
