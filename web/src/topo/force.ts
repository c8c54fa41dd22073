// A picture of any network: distances from a few pivots give the rough shape, and springs between
// neighbours finish it. The same network always gets the same picture.

import { breadthFirst, type Net, type Shape } from './shapes';

const PIVOTS = 48;

export function mesh(net: Net): Shape {
  const n = net.ids.length;
  const { x, y } = spread(net);
  const rounds = n > 3000 ? 60 : n > 800 ? 110 : 260;
  relax(net, x, y, rounds);
  return { kind: 'mesh', x, y };
}

/** Pivot MDS (Brandes and Pich, 2006). */
function spread(net: Net): { x: Float64Array; y: Float64Array } {
  const n = net.ids.length;
  const many = Math.min(PIVOTS, n);
  const nearest = new Int32Array(n).fill(1 << 29);
  const columns: Float64Array[] = [];
  let pivot = net.near.reduce((best, near, at) => (near.length > net.near[best]!.length ? at : best), 0);
  for (let one = 0; one < many; one += 1) {
    const { depth } = breadthFirst(net, [pivot]);
    columns.push(Float64Array.from(depth, (d) => d * d));
    let far = 0;
    for (let at = 0; at < n; at += 1) {
      nearest[at] = Math.min(nearest[at]!, depth[at]!);
      if (nearest[at]! > nearest[far]!) far = at;
    }
    pivot = far;
  }
  centre(columns, n);
  const first = axis(columns, n, null);
  const second = axis(columns, n, first);
  return { x: first, y: second };
}

/** Both means of the matrix become zero. */
function centre(columns: Float64Array[], n: number): void {
  const rows = new Float64Array(n);
  let all = 0;
  const means = columns.map((column) => column.reduce((sum, value) => sum + value, 0) / n);
  for (const column of columns) for (let at = 0; at < n; at += 1) rows[at] = rows[at]! + column[at]! / columns.length;
  for (const mean of means) all += mean / columns.length;
  columns.forEach((column, one) => {
    for (let at = 0; at < n; at += 1) column[at] = -0.5 * (column[at]! - rows[at]! - means[one]! + all);
  });
}

/** The strongest direction by power iteration, at a right angle to one that is known. */
function axis(columns: Float64Array[], n: number, other: Float64Array | null): Float64Array {
  let weights = Float64Array.from(columns, (_, one) => Math.sin(one * 2.39 + (other === null ? 0.7 : 2.1)));
  let out = new Float64Array(n);
  for (let round = 0; round < 40; round += 1) {
    out = new Float64Array(n);
    columns.forEach((column, one) => {
      for (let at = 0; at < n; at += 1) out[at] = out[at]! + column[at]! * weights[one]!;
    });
    if (other !== null) {
      const along = dot(out, other) / (dot(other, other) || 1);
      for (let at = 0; at < n; at += 1) out[at] = out[at]! - along * other[at]!;
    }
    weights = Float64Array.from(columns, (column) => dot(column, out));
    const length = Math.sqrt(dot(weights, weights)) || 1;
    weights = weights.map((weight) => weight / length);
  }
  const size = Math.sqrt(dot(out, out) / n) || 1;
  const scale = Math.sqrt(n) / 2.2 / size;
  // What lies at one place is moved apart by a hair, the same each time.
  return out.map((value, at) => value * scale + Math.sin(at * 12.9898 + (other === null ? 0 : 1)) * 0.05);
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += a[at]! * b[at]!;
  return sum;
}

/** Fruchterman and Reingold (1991), with repulsion between near ones only. */
function relax(net: Net, x: Float64Array, y: Float64Array, rounds: number): void {
  const n = net.ids.length;
  const [fx, fy] = [new Float64Array(n), new Float64Array(n)];
  for (let round = 0; round < rounds; round += 1) {
    fx.fill(0);
    fy.fill(0);
    repel(x, y, fx, fy);
    attract(net, x, y, fx, fy);
    const heat = 0.9 * (1 - round / rounds) + 0.02;
    for (let at = 0; at < n; at += 1) {
      const length = Math.hypot(fx[at]!, fy[at]!) || 1;
      const step = Math.min(length, heat) / length;
      x[at] = x[at]! + fx[at]! * step;
      y[at] = y[at]! + fy[at]! * step;
    }
  }
}

const REACH = 3;

function repel(x: Float64Array, y: Float64Array, fx: Float64Array, fy: Float64Array): void {
  const cells = new Map<number, number[]>();
  const key = (cx: number, cy: number) => (cx + 20_000) * 65_536 + (cy + 20_000);
  for (let at = 0; at < x.length; at += 1) {
    const place = key(Math.floor(x[at]! / REACH), Math.floor(y[at]! / REACH));
    const there = cells.get(place);
    if (there === undefined) cells.set(place, [at]);
    else there.push(at);
  }
  for (let at = 0; at < x.length; at += 1) {
    const [cx, cy] = [Math.floor(x[at]! / REACH), Math.floor(y[at]! / REACH)];
    for (let one = 0; one < 9; one += 1) {
      for (const other of cells.get(key(cx + (one % 3) - 1, cy + Math.floor(one / 3) - 1)) ?? []) {
        if (other === at) continue;
        const [dx, dy] = [x[at]! - x[other]!, y[at]! - y[other]!];
        const square = dx * dx + dy * dy + 0.01;
        if (square > REACH * REACH) continue;
        fx[at] = fx[at]! + (dx / square) * 0.9;
        fy[at] = fy[at]! + (dy / square) * 0.9;
      }
    }
  }
}

function attract(net: Net, x: Float64Array, y: Float64Array, fx: Float64Array, fy: Float64Array): void {
  for (let at = 0; at < x.length; at += 1) {
    const near = net.near[at]!;
    for (const other of near) {
      const [dx, dy] = [x[other]! - x[at]!, y[other]! - y[at]!];
      const length = Math.hypot(dx, dy);
      // Hubs are held by many springs: each is weaker.
      const pull = (0.35 * length) / (1 + Math.sqrt(near.length) * 0.35);
      fx[at] = fx[at]! + dx * pull * 0.5;
      fy[at] = fy[at]! + dy * pull * 0.5;
    }
  }
}
