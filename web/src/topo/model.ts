// What is drawn: the network as the controller knows it, and what went away.

import type { Cut } from '../core/network';
import { linkKey } from '../core/network';
import type { Host, Link, Switch } from '../core/types';
import { short } from '../core/units';

export interface Node {
  dpid: string;
  label: string;
  /** Whether it is connected; otherwise it is one that went away. */
  up: boolean;
  of?: Switch;
}

export interface Edge {
  key: string;
  a: string;
  b: string;
  state: 'up' | 'one-way' | 'unproven' | 'cut';
  link?: Link;
}

export interface Leaf {
  key: string;
  dpid: string;
  host: Host;
}

export interface Model {
  nodes: Map<string, Node>;
  edges: Map<string, Edge>;
  leaves: Map<string, Leaf>;
}

export const hostKey = (host: { mac: string; vlan: number }): string => `h ${host.mac} ${host.vlan}`;
/** Its first address of IPv4, or else its Ethernet address. */
export const hostName = (host: Host): string => host.ips.find((ip) => ip.includes('.')) ?? host.ips[0] ?? host.mac;

/** The same, short enough to stand beside others. */
export const hostLabel = (host: Host): string => (host.ips.length === 0 ? `…${host.mac.slice(-5)}` : hostName(host));

export function modelOf(
  switches: readonly Switch[],
  links: readonly Link[],
  hosts: readonly Host[],
  cuts: ReadonlyMap<string, Cut>,
  lost: ReadonlyMap<string, string>,
): Model {
  const model: Model = { nodes: new Map(), edges: new Map(), leaves: new Map() };
  for (const of of switches) {
    model.nodes.set(of.dpid, { dpid: of.dpid, label: of.name || short(of.dpid), up: true, of });
  }
  for (const dpid of lost.keys()) {
    if (!model.nodes.has(dpid)) model.nodes.set(dpid, { dpid, label: short(dpid), up: false });
  }
  const has = (end: { dpid: string }) => model.nodes.has(end.dpid);
  for (const link of links) {
    const key = linkKey(link);
    const state = cuts.has(key) ? 'cut' : link.state === 'gone' ? 'cut' : link.state;
    if (has(link.a) && has(link.b)) model.edges.set(key, { key, a: link.a.dpid, b: link.b.dpid, state, link });
  }
  for (const [key, cut] of cuts) {
    if (!model.edges.has(key) && has(cut.a) && has(cut.b)) {
      model.edges.set(key, { key, a: cut.a.dpid, b: cut.b.dpid, state: 'cut' });
    }
  }
  for (const host of hosts) {
    if (host.attached !== false && has(host)) {
      model.leaves.set(hostKey(host), { key: hostKey(host), dpid: host.dpid, host });
    }
  }
  return model;
}
