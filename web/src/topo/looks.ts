// How things look: their colours by what is asked for, and what is chosen, found or on the way of a
// packet.

import type { Rates } from '../core/network';
import type { Edge, Model } from './model';
import { heat, type Palette } from './palette';
import type { EdgeLook, Looks, NodeLook } from './scene';
import type { Traffic } from './traffic';

export type Colouring = 'role' | 'load' | 'delay' | 'errors' | 'worker';

export interface Look {
  colours: Palette;
  model: Model;
  colouring: Colouring;
  rates: ReadonlyMap<string, Rates>;
  refusals: ReadonlyMap<string, number>;
  layer: ReadonlyMap<string, number>;
  homes: ReadonlySet<string>;
  traffic: Traffic | null;
  /** Bits a second that ports can carry, by `DPID:PORT`, where they say so. */
  speeds: ReadonlyMap<string, number>;
  chosen: string | null;
  /** Keys that the search found; nothing is searched for where it is absent. */
  found: ReadonlySet<string> | null;
  /** Switches, hosts and links on the way of a packet, as far as it is drawn. */
  way: ReadonlySet<string> | null;
  /** What is on the way that routing has, and on no flow's. */
  planned: ReadonlySet<string>;
}

/** The least colours of delay and load, in requests a second and nanoseconds. */
const LOAD_MAX = 1e6;
/** Above so many, links are a texture more than lines. */
const MANY_LINKS = 1500;
/** Powers of ten of bits a second, where links do not say what they can carry. */
const RATE_MIN = 4;
const RATE_MAX = 10;
const DELAY_MIN_NS = 1e3;
const DELAY_MAX_NS = 1e8;

export function looks(look: Look): Looks {
  const { colours, model } = look;
  const many = model.nodes.size;
  const base = many <= 12 ? 16 : many <= 40 ? 12 : many <= 150 ? 9 : many <= 600 ? 5 : 3.6;
  const thick = many <= 40 ? 2.2 : many <= 150 ? 1.6 : 1;
  const isFew = model.leaves.size <= 24;
  const leafSize = Math.max(1.5, base * 0.42);
  const most = Math.max(1, ...(look.traffic?.values() ?? []));
  const faded = (key: string) =>
    (look.way !== null && !look.way.has(key)) || (look.found !== null && !look.found.has(key));

  const node = (dpid: string): NodeLook => {
    const of = model.nodes.get(dpid);
    const marked = dpid === look.chosen || look.way?.has(dpid) || look.found?.has(dpid);
    if (of !== undefined && !of.up) return { color: faded(dpid) ? colours.dim : colours.bad, size: base * 0.75 };
    if (faded(dpid)) return { color: colours.dim, size: base * 0.8, label: false };
    if (dpid === look.chosen) return { color: colours.accent, size: base * 1.35, top: true, label: true };
    const color = look.planned.has(dpid) ? colours.kinds[0]! : look.way !== null ? colours.accent : coloured(look, dpid);
    return { color, size: marked ? base * 1.2 : base, top: marked === true, ...(marked ? { label: true } : {}) };
  };

  const leaf = (key: string): NodeLook => {
    if (key === look.chosen || look.way?.has(key)) return { color: colours.accent, size: leafSize * 1.7, top: true, label: true };
    if (faded(key)) return { color: colours.dim, size: leafSize * 0.8, label: false };
    if (look.found?.has(key)) return { color: colours.accent, size: leafSize * 1.6, top: true, label: true };
    return { color: colours.host, size: leafSize, ...(isFew ? { label: true } : many > 60 ? { label: false } : {}) };
  };

  const edge = (one: Edge): EdgeLook => {
    if (look.planned.has(one.key)) return { color: colours.kinds[0]!, size: thick * 2, top: true };
    if (look.way?.has(one.key)) return { color: colours.accent, size: thick * 2.4, top: true };
    if (one.state === 'cut') return { color: colours.bad, size: thick * 1.5, top: true };
    const touches = look.chosen !== null && (one.a === look.chosen || one.b === look.chosen);
    if (look.way !== null || (look.found !== null && !(look.found.has(one.a) && look.found.has(one.b)))) {
      return { color: colours.dim, size: thick * 0.8 };
    }
    if (one.state !== 'up') return { color: colours.warn, size: thick };
    if (touches) return { color: colours.text, size: thick * 1.4, top: true };
    const carries = carried(one, look.traffic);
    if (carries > 0) {
      const busy = used(one, look.traffic, look.speeds) ?? (Math.log10(carries) - RATE_MIN) / (RATE_MAX - RATE_MIN);
      return { color: heat(colours, 0.1 + 0.9 * busy), size: thick * (0.8 + (many <= 60 ? 1.5 : 0.6) * Math.sqrt(carries / most)) };
    }
    return { color: model.edges.size > MANY_LINKS ? colours.hair : colours.link, size: thick };
  };

  const spoke = (key: string): EdgeLook =>
    look.way?.has(`spoke ${key}`)
      ? { color: colours.accent, size: thick * 2, top: true }
      : { color: colours.spoke, size: thick * 0.6 };

  return { node, leaf, edge, spoke };
}

/** Bits a second of a link: the greater of its ends. */
export function carried(edge: Edge, traffic: Traffic | null): number {
  if (traffic === null || edge.link === undefined) return 0;
  const { a, b } = edge.link;
  return Math.max(traffic.get(`${a.dpid}:${a.port}`) ?? 0, traffic.get(`${b.dpid}:${b.port}`) ?? 0);
}

/** The part of what a link can carry that it carries, where its ends say how much that is. */
export function used(edge: Edge, traffic: Traffic | null, speeds: ReadonlyMap<string, number>): number | null {
  if (edge.link === undefined) return null;
  const { a, b } = edge.link;
  const known = [speeds.get(`${a.dpid}:${a.port}`), speeds.get(`${b.dpid}:${b.port}`)].filter((one) => one !== undefined);
  return known.length === 0 ? null : carried(edge, traffic) / Math.min(...known);
}

function coloured(look: Look, dpid: string): string {
  const { colours } = look;
  const of = look.model.nodes.get(dpid)?.of;
  switch (look.colouring) {
    case 'load':
      return heat(colours, Math.log10(1 + (look.rates.get(dpid)?.requests ?? 0)) / Math.log10(LOAD_MAX));
    case 'delay': {
      const wait = look.rates.get(dpid)?.waitNs ?? 0;
      return heat(colours, Math.log(Math.max(1, wait / DELAY_MIN_NS)) / Math.log(DELAY_MAX_NS / DELAY_MIN_NS));
    }
    case 'errors': {
      const errors = (look.refusals.get(dpid) ?? 0) + (of?.counters.sheds ?? 0) + (of?.kept.refused ?? 0);
      return of?.state === 'not-reading' || errors > 0 ? colours.bad : colours.node;
    }
    case 'worker':
      return colours.kinds[(of?.worker ?? 0) % colours.kinds.length]!;
    case 'role':
      return colours.kinds[role(look, dpid)]!;
  }
}

/** 0 at the edge, where hosts are; 1 and 2 above it. */
function role(look: Look, dpid: string): number {
  const layer = look.layer.get(dpid);
  if (layer !== undefined) return Math.min(layer, 2) === 2 ? 1 : layer === 1 ? 2 : 0;
  return look.homes.has(dpid) ? 0 : 1;
}

/** What the colours mean, for the legend. */
export function legend(colours: Palette, colouring: Colouring, layers: number): (readonly [string, string])[] {
  const [edge, core, middle] = colours.kinds as readonly string[];
  switch (colouring) {
    case 'role':
      return layers > 1
        ? [[edge!, 'edge'], [middle!, 'aggregation'], [core!, 'core']]
        : [[edge!, 'has hosts'], [core!, 'has none']];
    case 'load':
      return [[colours.heat[0]!, 'idle'], [colours.heat[3]!, '1 k/s'], [colours.heat[6]!, '1 M/s']];
    case 'delay':
      return [[colours.heat[0]!, '1 µs'], [colours.heat[3]!, '300 µs'], [colours.heat[6]!, '100 ms']];
    case 'errors':
      return [[colours.node, 'none'], [colours.bad, 'refused, shed or stuck']];
    case 'worker':
      return [[colours.kinds[0]!, 'worker 0'], [colours.kinds[1]!, 'worker 1']];
  }
}
