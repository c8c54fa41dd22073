// Networks whose shape people know: rings, lines, trees, grids, tori, fat trees and leaf-spine. A
// shape is recognised by its links, and drawn as it is drawn in books.

export interface Net {
  /** Datapath ids, in their order. */
  ids: readonly string[];
  /** The neighbours of each, by place in `ids`, each once. */
  near: readonly (readonly number[])[];
}

export interface Shape {
  kind: 'ring' | 'line' | 'tree' | 'grid' | 'torus' | 'fat tree' | 'leaf-spine' | 'layers' | 'mesh' | 'single';
  x: Float64Array;
  y: Float64Array;
  /** How far each is from the edge of the network, where it has layers: 0 at the edge. */
  layer?: Int32Array;
}

/** The shape of a connected network, or none that is known. */
export function recognise(net: Net, hasHosts: (at: number) => boolean): Shape | null {
  const n = net.ids.length;
  if (n === 1) return { kind: 'single', x: new Float64Array(1), y: new Float64Array(1) };
  const degrees = net.near.map((near) => near.length);
  const links = degrees.reduce((sum, degree) => sum + degree, 0) / 2;
  const greatest = Math.max(...degrees);
  if (links === n && greatest === 2) return ring(net);
  if (links === n - 1) return greatest <= 2 ? line(net) : tree(net);
  return grid(net, links) ?? layered(net, hasHosts);
}

function blank(kind: Shape['kind'], n: number): Shape {
  return { kind, x: new Float64Array(n), y: new Float64Array(n) };
}

/** The places in the order of a walk along a ring or a line. */
function walk(net: Net, start: number): number[] {
  const order = [start];
  for (let before = -1, at = start; ; ) {
    const next = net.near[at]!.find((one) => one !== before && one !== start);
    if (next === undefined) return order;
    order.push(next);
    [before, at] = [at, next];
  }
}

function ring(net: Net): Shape {
  const n = net.ids.length;
  const shape = blank('ring', n);
  const radius = Math.max(1, n / (2 * Math.PI));
  walk(net, 0).forEach((one, step) => {
    const angle = Math.PI / 2 - (step / n) * 2 * Math.PI;
    shape.x[one] = radius * Math.cos(angle);
    shape.y[one] = radius * Math.sin(angle);
  });
  return shape;
}

/** One row where it is short, and a snake of several where it is long. */
function line(net: Net): Shape {
  const n = net.ids.length;
  const shape = blank('line', n);
  const end = net.near.findIndex((near) => near.length === 1);
  const columns = n <= 14 ? n : Math.ceil(Math.sqrt(n * 2.2));
  walk(net, Math.max(0, end)).forEach((one, step) => {
    const row = Math.floor(step / columns);
    const column = step % columns;
    shape.x[one] = row % 2 === 0 ? column : columns - 1 - column;
    shape.y[one] = -row * 1.4;
  });
  return shape;
}

/** The middle of a tree: what is left when leaves are taken off again and again. */
function middle(net: Net): number {
  const degree = net.near.map((near) => near.length);
  let leaves = degree.flatMap((d, at) => (d <= 1 ? [at] : []));
  let left = net.ids.length;
  while (left > 2) {
    left -= leaves.length;
    const next: number[] = [];
    for (const leaf of leaves) {
      for (const one of net.near[leaf]!) if ((degree[one] = degree[one]! - 1) === 1) next.push(one);
    }
    leaves = next;
  }
  return leaves.reduce((best, one) => (net.near[one]!.length > net.near[best]!.length ? one : best), leaves[0] ?? 0);
}

function tree(net: Net): Shape {
  const n = net.ids.length;
  const shape = blank('tree', n);
  const root = middle(net);
  const { order, parent, depth } = breadthFirst(net, [root]);
  const leaves = new Int32Array(n);
  for (const one of [...order].reverse()) {
    if (leaves[one] === 0) leaves[one] = 1;
    const up = parent[one]!;
    if (up >= 0) leaves[up] = leaves[up]! + leaves[one]!;
  }
  const start = new Float64Array(n);
  const used = new Float64Array(n);
  for (const one of order) {
    const up = parent[one]!;
    if (up >= 0) {
      start[one] = start[up]! + used[up]!;
      used[up] = used[up]! + leaves[one]!;
    }
  }
  const wide = leaves[root]!;
  const deepest = Math.max(...depth);
  const isRound = wide > 24;
  for (const one of order) {
    const centre = start[one]! + leaves[one]! / 2;
    if (isRound) {
      const radius = (depth[one]! / deepest) * Math.max(wide / 5, deepest);
      const angle = Math.PI / 2 - (centre / wide) * 2 * Math.PI;
      shape.x[one] = radius * Math.cos(angle);
      shape.y[one] = radius * Math.sin(angle);
    } else {
      shape.x[one] = centre;
      shape.y[one] = -depth[one]! * Math.max(1.3, wide / 7);
    }
  }
  shape.layer = Int32Array.from(depth, (d) => deepest - d);
  return shape;
}

export function breadthFirst(net: Net, roots: readonly number[]) {
  const n = net.ids.length;
  const depth = new Int32Array(n).fill(-1);
  const parent = new Int32Array(n).fill(-1);
  const order = [...roots];
  for (const root of roots) depth[root] = 0;
  for (let at = 0; at < order.length; at += 1) {
    const one = order[at]!;
    for (const next of net.near[one]!) {
      if (depth[next] !== -1) continue;
      depth[next] = depth[one]! + 1;
      parent[next] = one;
      order.push(next);
    }
  }
  return { order, parent, depth };
}

/** Rows and columns, in the order of datapath ids; with links around both ways it is a torus. */
function grid(net: Net, links: number): Shape | null {
  const n = net.ids.length;
  for (let width = 2; width <= n / 2; width += 1) {
    if (n % width !== 0) continue;
    const height = n / width;
    const isGrid = links === width * (height - 1) + height * (width - 1);
    const isTorus = width > 2 && height > 2 && links === 2 * n;
    if ((isGrid || isTorus) && fits(net, width, height, isTorus)) {
      return isTorus ? torus(n, width, height) : plain(n, width);
    }
  }
  return null;
}

function fits(net: Net, width: number, height: number, isTorus: boolean): boolean {
  return net.near.every((near, at) => {
    const [x, y] = [at % width, Math.floor(at / width)];
    return near.every((one) => {
      let dx = Math.abs((one % width) - x);
      let dy = Math.abs(Math.floor(one / width) - y);
      if (isTorus) [dx, dy] = [Math.min(dx, width - dx), Math.min(dy, height - dy)];
      return dx + dy === 1;
    });
  });
}

function plain(n: number, width: number): Shape {
  const shape = blank('grid', n);
  for (let at = 0; at < n; at += 1) {
    shape.x[at] = at % width;
    shape.y[at] = -Math.floor(at / width);
  }
  return shape;
}

/** A ring of rings, seen from above and a little aside. */
function torus(n: number, width: number, height: number): Shape {
  const shape = blank('torus', n);
  const [long, round] = [Math.max(width, height), Math.min(width, height)];
  const [big, small] = [Math.max(long / 5, 1.6), Math.max(round / 9, 0.72)];
  const tilt = 0.95;
  for (let at = 0; at < n; at += 1) {
    const [column, row] = [at % width, Math.floor(at / width)];
    const [u, v] = width >= height ? [column, row] : [row, column];
    const a = (u / long) * 2 * Math.PI + 0.35;
    const b = (v / round) * 2 * Math.PI + 0.6;
    const reach = big + small * Math.cos(b);
    shape.x[at] = reach * Math.cos(a);
    shape.y[at] = reach * Math.sin(a) * Math.cos(tilt) + small * Math.sin(b) * Math.sin(tilt);
  }
  return shape;
}

/** Two to four layers with links between neighbouring ones alone: fat trees, leaf-spine. */
function layered(net: Net, hasHosts: (at: number) => boolean): Shape | null {
  const all = net.ids.map((_, at) => at);
  const least = Math.min(...net.near.map((near) => near.length));
  const candidates = [all.filter(hasHosts), all.filter((at) => net.near[at]!.length === least)];
  for (const edge of candidates) {
    if (edge.length < 2 || edge.length === all.length) continue;
    const { depth } = breadthFirst(net, edge);
    const top = Math.max(...depth);
    const isLayered = top <= 3 && net.near.every((near, at) => near.every((one) => depth[one] !== depth[at]));
    if (isLayered) return inLayers(net, depth, top);
  }
  return null;
}

/** The pods of each switch below the top: the parts that are left without the top layer. */
function podsBelow(net: Net, layer: Int32Array, top: number): Int32Array {
  const pod = new Int32Array(net.ids.length).fill(-1);
  let pods = 0;
  for (let at = 0; at < pod.length; at += 1) {
    if (layer[at] === top || pod[at] !== -1) continue;
    const queue = [at];
    pod[at] = pods;
    for (const one of queue) {
      for (const next of net.near[one]!) {
        if (layer[next] === top || pod[next] !== -1) continue;
        pod[next] = pods;
        queue.push(next);
      }
    }
    pods += 1;
  }
  return pod;
}

function inLayers(net: Net, layer: Int32Array, top: number): Shape {
  const n = net.ids.length;
  const pod = podsBelow(net, layer, top);
  const pods = Math.max(0, ...pod) + 1;
  const kind = top === 1 ? 'leaf-spine' : top === 2 && pods > 1 ? 'fat tree' : 'layers';
  const shape = blank(kind, n);
  const rows = Array.from({ length: top + 1 }, () => new Map<number, number[]>());
  for (let at = 0; at < n; at += 1) {
    const row = rows[layer[at]!]!;
    const key = layer[at] === top ? -1 : pod[at]!;
    row.set(key, [...(row.get(key) ?? []), at]);
  }
  const isSpine = top === 1;
  const widths = Array.from({ length: pods }, (_, one) =>
    Math.max(...rows.slice(0, top).map((row) => row.get(one)?.length ?? 0)),
  );
  const gap = isSpine ? 0 : 0.9;
  const total = widths.reduce((sum, width) => sum + width + gap, -gap);
  const rise = Math.max(1.2, total / 4.6);
  let left = 0;
  widths.forEach((width, one) => {
    for (const [level, row] of rows.slice(0, top).entries()) {
      const members = row.get(one) ?? [];
      members.forEach((at, place) => {
        shape.x[at] = left + ((place + 0.5) * width) / members.length;
        shape.y[at] = level * rise;
      });
    }
    left += width + gap;
  });
  const spine = rows[top]!.get(-1) ?? [];
  spine.forEach((at, place) => {
    shape.x[at] = ((place + 0.5) * total) / spine.length;
    shape.y[at] = top * rise * 1.08;
  });
  shape.layer = layer;
  return shape;
}
