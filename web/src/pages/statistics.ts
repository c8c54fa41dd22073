// All counters, as /api/v1/statistics has them, and their rates over the last minutes.

import { ask } from '../core/api';
import { Cell } from '../core/cell';
import { health } from '../core/network';
import { Resource } from '../core/poll';
import type { Buckets } from '../ui/chart';

export interface Spread {
  count: number;
  p50: number;
  p90: number;
  p99: number;
  p999?: number;
  max?: number;
  sum?: number;
  buckets: Buckets[];
}

export interface OfSwitch {
  dpid: string;
  worker: number;
  weight: number;
  requests: number;
  sheds: number;
  batches: number;
  queue_wait_ns: number;
  visits: number;
  /** Visits after which the switch had more to say; an older controller does not count them. */
  full_visits?: number;
  queue_waits_ns: Spread;
  batching_delay_ns: Spread;
  handling_time_ns: Spread;
  write_time_ns: Spread;
  batch_size: Spread;
}

export interface OfWorker {
  requests: number;
  batches: number;
  bytes_in: number;
  bytes_out: number;
  reads: number;
  writes: number;
  polls: number;
  wakeups: number;
  visits: number;
  helped_visits: number;
  skips: number;
  sheds: number;
  pauses: number;
  moves: number;
  evictions: number;
  unsent: number;
  lock_wait_ns: number;
  run_time_ns: number;
  ibt_now: number;
  connections: number;
  queue_wait_ns: Spread;
  batching_delay_ns: Spread;
  handling_time_ns: Spread;
  write_time_ns: Spread;
  batch_size: Spread;
}

export interface Statistics {
  at_ns: number;
  lock_wait_ppm: number;
  total: OfWorker;
  workers: (OfWorker & { worker: number })[];
  switches: OfSwitch[];
}

/** Points of the curves; older ones are left behind. */
const POINTS_MAX = 600;
/** With more switches than this the counters are asked for less often. */
const MANY = 200;

/** One moment of the curves: rates since the moment before. */
export interface Point {
  /** Seconds since 1970. */
  at: number;
  requests: number;
  sheds: number;
  batches: number;
  /** Nanoseconds; those of this stretch alone. */
  waitP50: number | null;
  waitP99: number | null;
  batchP50: number | null;
  batchP99: number | null;
  size: number | null;
  ibt: number;
  ofWorker: readonly number[];
}

export const curves = new Cell<readonly Point[]>([]);
/** What a switch got, and whether it asked for more. */
export interface SwitchRate {
  /** Requests a second. */
  requests: number;
  /** The part of its visits after which it had more to say; not a number where that is not known. */
  full: number;
}

/** That of each switch in the last stretch, by datapath id. */
export const switchRates = new Cell<ReadonlyMap<string, SwitchRate>>(new Map());

/** Shares are judged over so many answers: a single one says little of a switch that asks now and then. */
const JUDGED_OVER = 6;
const judged: { at_ns: number; of: Map<string, OfSwitch> }[] = [];
let before: Statistics | null = null;
let skipped = 0;

export const statistics: Resource<Statistics> = new Resource(async () => {
  const many = (health.value.data?.switches ?? 0) > MANY;
  skipped += 1;
  // A large network has megabytes of counters: every third time is enough.
  if (many && before !== null && skipped % 3 !== 0) return before;
  const now = await ask<Statistics>('api/v1/statistics');
  if (before !== null && now.at_ns > before.at_ns) note(before, now);
  before = now;
  return now;
}, 1000);

function note(old: Statistics, now: Statistics): void {
  const span = (now.at_ns - old.at_ns) / 1e9;
  const a_second = (a: number, b: number) => Math.max(0, b - a) / span;
  const [a, b] = [old.total, now.total];
  const waits = since(a.queue_wait_ns, b.queue_wait_ns);
  const batches = since(a.batching_delay_ns, b.batching_delay_ns);
  const made = b.batches - a.batches;
  const point: Point = {
    at: Date.now() / 1000,
    requests: a_second(a.requests, b.requests),
    sheds: a_second(a.sheds, b.sheds),
    batches: a_second(a.batches, b.batches),
    waitP50: quantile(waits, 0.5),
    waitP99: quantile(waits, 0.99),
    batchP50: quantile(batches, 0.5),
    batchP99: quantile(batches, 0.99),
    size: made > 0 ? (b.requests - a.requests) / made : null,
    ibt: b.ibt_now,
    ofWorker: now.workers.map((one, at) => a_second(old.workers[at]?.requests ?? one.requests, one.requests)),
  };
  curves.update((points) => [...points.slice(-POINTS_MAX + 1), point]);
  judged.push({ at_ns: now.at_ns, of: new Map(now.switches.map((one) => [one.dpid, one])) });
  if (judged.length > JUDGED_OVER) judged.shift();
  const first = judged[0]!;
  const over = Math.max(1e-9, (now.at_ns - first.at_ns) / 1e9);
  const rates = new Map<string, SwitchRate>();
  for (const one of now.switches) {
    const old = first.of.get(one.dpid) ?? one;
    const visits = one.visits - old.visits;
    const full = (one.full_visits ?? NaN) - (old.full_visits ?? NaN);
    rates.set(one.dpid, { requests: Math.max(0, one.requests - old.requests) / over, full: visits > 0 ? full / visits : NaN });
  }
  switchRates.set(rates);
}

/** What came to a distribution since it was read last. */
export function since(old: Spread, now: Spread): Buckets[] {
  const known = new Map(old.buckets.map((bucket) => [bucket.upper, bucket.count]));
  return now.buckets.flatMap(({ upper, count }) => {
    const more = count - (known.get(upper) ?? 0);
    return more > 0 ? [{ upper, count: more }] : [];
  });
}

/** The bound under which this part of the values lies. */
export function quantile(buckets: readonly Buckets[], part: number): number | null {
  const all = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  let seen = 0;
  for (const bucket of buckets) {
    seen += bucket.count;
    if (seen >= all * part) return bucket.upper;
  }
  return null;
}

export interface Fair {
  /** What is due to it, in requests a second. */
  share: number;
  /** Whether it takes its whole share: it would ask for more. */
  isFull: boolean;
  /** (received − share) ÷ share, of those that are full. */
  deviation: number | null;
}

/** Requests a second below which nothing is said of a switch's share. */
const JUDGED_FROM = 20;
/** A switch that had more to say after most of its visits asks for more than it gets. */
const ASKS_MORE = 0.5;
/** Where that is not known: below this part of its share a switch is one that asks for less. */
const ASKS_LESS = 0.8;

/**
 * Weighted max-min shares of what was served. A switch that asks for no more than it gets is served
 * whole, and what it leaves is divided among the others by weight: how much those would ask for makes
 * no difference.
 */
export function fairness(rates: readonly SwitchRate[], weights: readonly number[]): Fair[] {
  const received = rates.map((rate) => rate.requests);
  const counted = received.flatMap((rate, at) => (rate >= JUDGED_FROM ? [at] : []));
  const isKnown = counted.every((at) => Number.isFinite(rates[at]!.full));
  let full = isKnown ? counted.filter((at) => rates[at]!.full > ASKS_MORE) : counted;
  let level = 0;
  for (;;) {
    const weight = full.reduce((sum, at) => sum + weights[at]!, 0);
    level = weight > 0 ? full.reduce((sum, at) => sum + received[at]!, 0) / weight : 0;
    const less = isKnown ? [] : full.filter((at) => received[at]! < ASKS_LESS * level * weights[at]!);
    if (less.length === 0) break;
    full = full.filter((at) => !less.includes(at));
  }
  const isFull = new Set(full);
  return received.map((rate, at) => {
    const share = level * weights[at]!;
    const takesAll = isFull.has(at);
    return { share, isFull: takesAll, deviation: takesAll && share > 0 ? (rate - share) / share : null };
  });
}
