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
      const length = Math.sqrt(fx[at]! * fx[at]! + fy[at]! * fy[at]!) || 1;
      const step = Math.min(length, heat) / length;
      x[at] = x[at]! + fx[at]! * step;
      y[at] = y[at]! + fy[at]! * step;
    }
  }
}

const REACH = 3;
/** Cells beside each other at most, each of REACH: those far out share the last one. */
const CELLS_MAX = 256;

function repel(x: Float64Array, y: Float64Array, fx: Float64Array, fy: Float64Array): void {
  const { first, next, columns, rows } = cells(x, y);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const here = row * columns + column;
      for (let one = first[here]!; one >= 0; one = next[one]!) {
        // Each pair once: with those behind it in its cell, and with all of the four cells that come later.
        push(one, next[one]!, next, x, y, fx, fy);
        if (column + 1 < columns) push(one, first[here + 1]!, next, x, y, fx, fy);
        if (row + 1 === rows) continue;
        for (let beside = Math.max(column - 1, 0); beside <= Math.min(column + 1, columns - 1); beside += 1) {
          push(one, first[here + columns - column + beside]!, next, x, y, fx, fy);
        }
      }
    }
  }
}

/** One and all of a list push each other away. */
function push(
  one: number,
  list: number,
  next: Int32Array,
  x: Float64Array,
  y: Float64Array,
  fx: Float64Array,
  fy: Float64Array,
): void {
  for (let other = list; other >= 0; other = next[other]!) {
    const dx = x[one]! - x[other]!;
    const dy = y[one]! - y[other]!;
    const square = dx * dx + dy * dy + 0.01;
    if (square > REACH * REACH) continue;
    const force = 0.9 / square;
    fx[one] = fx[one]! + dx * force;
    fy[one] = fy[one]! + dy * force;
    fx[other] = fx[other]! - dx * force;
    fy[other] = fy[other]! - dy * force;
  }
}

interface Cells {
  /** The first of each cell, row by row; -1 where it is empty. */
  first: Int32Array;
  /** Of each the next in its cell; -1 behind the last. */
  next: Int32Array;
  columns: number;
  rows: number;
}

function cells(x: Float64Array, y: Float64Array): Cells {
  let [minX, maxX, minY, maxY] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let at = 0; at < x.length; at += 1) {
    minX = Math.min(minX, x[at]!);
    maxX = Math.max(maxX, x[at]!);
    minY = Math.min(minY, y[at]!);
    maxY = Math.max(maxY, y[at]!);
  }
  const many = (low: number, high: number) => Math.min(Math.floor((high - low) / REACH) + 1, CELLS_MAX);
  const [columns, rows] = [many(minX, maxX), many(minY, maxY)];
  const [first, next] = [new Int32Array(columns * rows).fill(-1), new Int32Array(x.length)];
  for (let at = 0; at < x.length; at += 1) {
    const column = Math.min(Math.floor((x[at]! - minX) / REACH), columns - 1);
    const cell = Math.min(Math.floor((y[at]! - minY) / REACH), rows - 1) * columns + column;
    next[at] = first[cell]!;
    first[cell] = at;
  }
  return { first, next, columns, rows };
}

function attract(net: Net, x: Float64Array, y: Float64Array, fx: Float64Array, fy: Float64Array): void {
  for (let at = 0; at < x.length; at += 1) {
    const near = net.near[at]!;
    // Hubs are held by many springs: each is weaker.
    const stiffness = (0.35 * 0.5) / (1 + Math.sqrt(near.length) * 0.35);
    for (const other of near) {
      const dx = x[other]! - x[at]!;
      const dy = y[other]! - y[at]!;
      const pull = stiffness * Math.sqrt(dx * dx + dy * dy);
      fx[at] = fx[at]! + dx * pull;
      fy[at] = fy[at]! + dy * pull;
    }
  }
}
