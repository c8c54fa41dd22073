// Where each switch is drawn. Positions are kept in the browser, so that the picture is the same one
// tomorrow; what is new takes a place beside its neighbours, and nothing else moves.

import { mesh } from './force';
import { type Net, recognise, type Shape } from './shapes';

export interface Point {
  x: number;
  y: number;
}

export interface Pictured {
  at: Map<string, Point>;
  /** What the largest part of the network is. */
  kind: Shape['kind'];
  /** How far each is from the edge, where its part has layers. */
  layer: Map<string, number>;
}

/** A network as lists of neighbours; datapath ids in order. */
export function netOf(ids: readonly string[], links: readonly (readonly [string, string])[]): Net {
  const sorted = [...ids].sort();
  const place = new Map(sorted.map((id, at) => [id, at]));
  const near = sorted.map(() => new Set<number>());
  for (const [a, b] of links) {
    const [from, to] = [place.get(a), place.get(b)];
    if (from === undefined || to === undefined || from === to) continue;
    near[from]!.add(to);
    near[to]!.add(from);
  }
  return { ids: sorted, near: near.map((set) => [...set].sort((a, b) => a - b)) };
}

function parts(net: Net): Net[] {
  const seen = new Array<boolean>(net.ids.length).fill(false);
  const found: Net[] = [];
  for (let start = 0; start < net.ids.length; start += 1) {
    if (seen[start]) continue;
    const members = [start];
    seen[start] = true;
    for (const one of members) {
      for (const next of net.near[one]!) {
        if (!seen[next]) {
          seen[next] = true;
          members.push(next);
        }
      }
    }
    members.sort((a, b) => a - b);
    const inside = new Map(members.map((one, at) => [one, at]));
    found.push({
      ids: members.map((one) => net.ids[one]!),
      near: members.map((one) => net.near[one]!.map((next) => inside.get(next)!)),
    });
  }
  return found.sort((a, b) => b.ids.length - a.ids.length);
}

/** A picture of all of it: each part as what it is, the largest first. */
export function arrange(net: Net, hasHosts: (id: string) => boolean): Pictured {
  const picture: Pictured = { at: new Map(), kind: 'single', layer: new Map() };
  const all = parts(net);
  const lone = all.filter((part) => part.ids.length === 1);
  let left = 0;
  let depth = 0;
  all
    .filter((part) => part.ids.length > 1)
    .forEach((part, one) => {
      const shape = recognise(part, (at) => hasHosts(part.ids[at]!)) ?? mesh(part);
      if (one === 0) picture.kind = shape.kind;
      const [minX, minY] = [Math.min(...shape.x), Math.min(...shape.y)];
      part.ids.forEach((id, at) => {
        picture.at.set(id, { x: left + shape.x[at]! - minX, y: shape.y[at]! - minY });
        if (shape.layer) picture.layer.set(id, shape.layer[at]!);
      });
      left += Math.max(...shape.x) - minX + 2.2;
      depth = Math.max(depth, Math.max(...shape.y) - minY);
    });
  const columns = Math.max(Math.ceil(left / 1.2), Math.ceil(Math.sqrt(lone.length * 1.8)));
  lone.forEach((part, one) => {
    const below = depth === 0 && left === 0 ? 0 : -1.6;
    picture.at.set(part.ids[0]!, { x: (one % columns) * 1.2, y: below - Math.floor(one / columns) * 1.2 });
  });
  return picture;
}

/** Places for what has none yet: beside its neighbours, or else below everything. */
export function placeNew(net: Net, at: Map<string, Point>): void {
  let lowest = 0;
  for (const point of at.values()) lowest = Math.min(lowest, point.y);
  let lone = 0;
  net.ids.forEach((id, one) => {
    if (at.has(id)) return;
    const near = net.near[one]!.flatMap((next) => at.get(net.ids[next]!) ?? []);
    if (near.length === 0) {
      at.set(id, { x: (lone % 12) * 1.2, y: lowest - 1.6 - Math.floor(lone / 12) * 1.2 });
      lone += 1;
      return;
    }
    const angle = Number.parseInt(id.slice(-4), 16) * 2.4;
    const mean = (of: (point: Point) => number) => near.reduce((sum, point) => sum + of(point), 0) / near.length;
    at.set(id, {
      x: mean((point) => point.x) + 0.8 * Math.cos(angle),
      y: mean((point) => point.y) + 0.8 * Math.sin(angle),
    });
  });
}

const STORE = 'aldis.positions';
/** Switches whose place is kept. */
const KEPT_MAX = 12_000;

interface Stored {
  /** Links when the picture was made: with many more it is made anew. */
  links: number;
  /** Whether a person moved something. */
  byHand: boolean;
  at: Record<string, [number, number]>;
}

export function load(): Stored | null {
  try {
    const stored = JSON.parse(localStorage.getItem(STORE) ?? 'null') as Stored | null;
    const isGood =
      stored !== null &&
      typeof stored.links === 'number' &&
      Object.values(stored.at).every((pair) => Array.isArray(pair) && pair.every(Number.isFinite));
    return isGood ? stored : null;
  } catch {
    return null;
  }
}

export function keep(at: ReadonlyMap<string, Point>, links: number, byHand: boolean): void {
  const round = (value: number) => Math.round(value * 1000) / 1000;
  const kept = [...at].slice(-KEPT_MAX).map(([id, point]) => [id, [round(point.x), round(point.y)]]);
  try {
    localStorage.setItem(STORE, JSON.stringify({ links, byHand, at: Object.fromEntries(kept) }));
  } catch {
    // Full, or forbidden: the picture is made anew next time.
  }
}

/** The places of hosts around their switch, away from its neighbours. */
export function around(centre: Point, neighbours: readonly Point[], many: number): Point[] {
  let angle = -Math.PI / 2;
  if (neighbours.length > 0) {
    const dx = neighbours.reduce((sum, point) => sum + point.x - centre.x, 0);
    const dy = neighbours.reduce((sum, point) => sum + point.y - centre.y, 0);
    if (Math.hypot(dx, dy) > 0.05) angle = Math.atan2(-dy, -dx);
  }
  const perRing = 9;
  return Array.from({ length: many }, (_, one) => {
    const ring = Math.floor(one / perRing);
    const inRing = Math.min(perRing, many - ring * perRing);
    const open = Math.min(Math.PI * 1.1, inRing * 0.5);
    const turn = inRing === 1 ? 0 : ((one % perRing) / (inRing - 1) - 0.5) * open;
    const radius = 0.46 + ring * 0.2;
    return { x: centre.x + radius * Math.cos(angle + turn), y: centre.y + radius * Math.sin(angle + turn) };
  });
}
