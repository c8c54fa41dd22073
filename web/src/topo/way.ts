// The way of a packet from one host to another, as flows decide it, in steps that can be drawn.

import { ask } from '../core/api';
import { linkKey } from '../core/network';
import type { Host, Hop, Leaving, Link, Trace } from '../core/types';
import { nameOf } from '../core/network';
import { hostKey } from './model';

export interface Step {
  /** What this step adds to the picture. */
  keys: readonly string[];
  hop: Hop;
  at: number;
}

export interface Way {
  from: Host;
  to: Host;
  trace: Trace;
  steps: readonly Step[];
  /** Where it ends, in words; whether it reached the other host. */
  ends: string;
  arrives: boolean;
  /** The way that routing would take, where flows are not there yet. */
  planned: readonly string[] | null;
}

export async function followPacket(from: Host, to: Host, links: readonly Link[]): Promise<Way> {
  const packet: Record<string, string> = { eth_src: from.mac, eth_dst: to.mac };
  const [a, b] = [v4(from), v4(to)];
  if (a !== undefined && b !== undefined) Object.assign(packet, { eth_type: '0x0800', ipv4_src: a, ipv4_dst: b });
  if (from.vlan !== 0) packet['vlan_vid'] = String(from.vlan);
  const body = { switch: from.dpid, port: String(from.port), packet };
  const trace = await ask<Trace>('api/v1/trace', { method: 'POST', body });
  const wires = new Map<string, string>();
  for (const link of links) {
    wires.set(`${link.a.dpid}:${link.a.port}`, linkKey(link));
    wires.set(`${link.b.dpid}:${link.b.port}`, linkKey(link));
  }
  const steps = trace.hops.map((hop, at) => stepOf(trace, hop, at, wires, to));
  const arrives = trace.hops.some((hop) => hop.out.some((out) => isAt(out, to)));
  const planned = arrives ? null : await plan(from, to, wires);
  return { from, to, trace, steps, arrives, planned, ends: ending(trace, to, arrives) };
}

const v4 = (host: Host): string | undefined => host.ips.find((ip) => ip.includes('.'));

const isAt = (out: Leaving, to: Host): boolean =>
  typeof out.to === 'object' && 'hosts' in out.to && out.to.hosts.some((one) => one.startsWith(to.mac));

function stepOf(trace: Trace, hop: Hop, at: number, wires: ReadonlyMap<string, string>, to: Host): Step {
  const keys = [hop.switch];
  for (const out of hop.out) {
    if (typeof out.to !== 'object') continue;
    const wire = wires.get(`${hop.switch}:${out.port}`);
    if ('hop' in out.to && wire !== undefined && trace.hops[out.to.hop] !== undefined) keys.push(wire);
    if (isAt(out, to)) keys.push(hostKey(to), `spoke ${hostKey(to)}`);
  }
  return { keys, hop, at };
}

function ending(trace: Trace, to: Host, arrives: boolean): string {
  if (arrives) return `It arrives at ${to.ips[0] ?? to.mac}.`;
  const outs = trace.hops.flatMap((hop) => hop.out.map((out) => [hop, out] as const));
  const asks = outs.find(([, out]) => out.to === 'controller');
  if (asks !== undefined) {
    return `${nameOf(asks[0].switch)} has no flow for it yet: it asks the controller, which decides when the first packet comes.`;
  }
  const loops = outs.find(([, out]) => typeof out.to === 'object' && 'loop' in out.to);
  if (loops !== undefined) return `It goes round in a loop at ${nameOf(loops[0].switch)}.`;
  const drops = trace.hops.find((hop) => hop.out.length === 0);
  if (drops !== undefined) {
    const flow = drops.tables.at(-1)?.flow;
    return flow ? `${nameOf(drops.switch)} drops it: the flow below decides.` : `${nameOf(drops.switch)} drops it: no flow of its table fits.`;
  }
  return 'It leaves by ports behind which no host is known.';
}

/** Switches and links of the way that routing finds. */
async function plan(from: Host, to: Host, wires: ReadonlyMap<string, string>): Promise<readonly string[] | null> {
  try {
    const query = new URLSearchParams({ from: from.mac, to: to.mac, max: '1' });
    const found = await ask<{ paths: { dpid: string; out_port?: number | null }[][] }>(`api/v1/paths?${query}`);
    const way = found.paths[0];
    if (way === undefined) return null;
    return way.flatMap((hop) => [hop.dpid, wires.get(`${hop.dpid}:${hop.out_port}`) ?? hop.dpid]);
  } catch {
    // Without the application routing there is no plan.
    return null;
  }
}
