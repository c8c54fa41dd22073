// What the network is, as far as the controller knows: switches, links and hosts, kept up to date by
// events and asked for again now and then.

import { ask } from './api';
import { Cell, Kept, oneOf } from './cell';
import { onEvents } from './live';
import { Resource, resource } from './poll';
import type { Health, Host, Link, LiveEvent, Page, Switch } from './types';
import { short } from './units';

export const health = resource<Health>('api/v1/health', 3000);
export const switches = resource<Page<Switch>>('api/v1/switches', 2000);
export const links = orEmpty<Link>('api/v1/links', 20_000);
export const hosts = orEmpty<Host>('api/v1/hosts', 20_000);

/** A list; none where no application looks for such things, which is an answer of 404. */
function orEmpty<T>(path: string, everyMs: number): Resource<Page<T>> {
  return new Resource(async () => ask<Page<T>>(path), everyMs);
}

export interface Rates {
  requests: number;
  bytesIn: number;
  bytesOut: number;
  sheds: number;
  /** Mean wait of the visits in between, in nanoseconds. */
  waitNs: number;
}

/** Rates of each switch between the two newest answers, by datapath id. */
export const rates = new Cell<ReadonlyMap<string, Rates>>(new Map());

let before: { at: number; of: Map<string, Switch> } = { at: 0, of: new Map() };

switches.follow(() => {
  const { data, at } = switches.value;
  if (data === null || at === before.at) return;
  const now = new Map(data.items.map((one) => [one.dpid, one]));
  const span = (at - before.at) / 1000;
  const found = new Map<string, Rates>();
  if (before.at > 0 && span < 30) {
    for (const one of data.items) {
      const old = before.of.get(one.dpid);
      if (old !== undefined && old.up_since === one.up_since) found.set(one.dpid, between(old, one, span));
    }
  }
  before = { at, of: now };
  rates.set(found);
});

function between(old: Switch, now: Switch, span: number): Rates {
  const [a, b] = [old.counters, now.counters];
  const a_second = (from: number, to: number) => Math.max(0, to - from) / span;
  const visits = b.visits - a.visits;
  return {
    requests: a_second(a.requests, b.requests),
    bytesIn: a_second(a.bytes_in, b.bytes_in),
    bytesOut: a_second(a.bytes_out, b.bytes_out),
    sheds: a_second(a.sheds, b.sheds),
    waitNs: visits > 0 ? Math.max(0, b.queue_wait_ns - a.queue_wait_ns) / visits : 0,
  };
}

/** What people call switches, by datapath id. */
export function nameOf(dpid: string): string {
  return nameOfSwitch(switches.value.data?.items.find((one) => one.dpid === dpid)) ?? short(dpid);
}

export const nameOfSwitch = (one: Switch | undefined): string | undefined =>
  one === undefined ? undefined : one.name || short(one.dpid);

export const linkKey = (link: { a: { dpid: string; port: number }; b: { dpid: string; port: number } }): string =>
  `${link.a.dpid}:${link.a.port}-${link.b.dpid}:${link.b.port}`;

/** A link that was there. */
export interface Cut extends Pick<Link, 'a' | 'b'> {
  at: string;
}

/** Links that went down and did not come back, by their key. */
export const cuts = new Cell<ReadonlyMap<string, Cut>>(new Map());
/** Switches that went away and did not come back, with the moment. */
export const lost = new Cell<ReadonlyMap<string, string>>(new Map());
/** What switches refused, by datapath id, since the page was opened. */
export const refusals = new Cell<ReadonlyMap<string, number>>(new Map());

/** Cuts and lost switches that are shown; the oldest is forgotten beyond these. */
const GONE_MAX = 10_000;

onEvents((batch) => {
  const now = { cuts: new Map(cuts.value), lost: new Map(lost.value), refusals: new Map(refusals.value) };
  const asked = new Set<Resource<unknown>>();
  for (const event of batch) for (const which of apply(event, now)) asked.add(which);
  bound(now.cuts);
  bound(now.lost);
  cuts.set(now.cuts);
  lost.set(now.lost);
  if (batch.some((event) => event.kind === 'refused')) refusals.set(now.refusals);
  // A large network has large lists: they are asked for less often while it changes.
  const wait = Math.min(2500, 150 + (health.value.data?.hosts ?? 0) * 0.4);
  for (const one of asked) one.soon(wait);
});

function bound(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    if (map.size <= GONE_MAX) return;
    map.delete(key);
  }
}

interface Gone {
  cuts: Map<string, Cut>;
  lost: Map<string, string>;
  refusals: Map<string, number>;
}

/** Resources of any answer, in one list. */
const all = (...of: unknown[]) => of as Resource<unknown>[];
/** What events make old. */
const [SWITCHES, LINKS, HOSTS] = [all(switches), all(links, health), all(hosts, health)] as const;

/** Notes what an event says; the resources that it makes old. */
function apply(event: LiveEvent, gone: Gone): Resource<unknown>[] {
  switch (event.kind) {
    case 'link-up':
      if (event.link) gone.cuts.delete(linkKey(event.link));
      return LINKS;
    case 'link-down':
      if (event.link) gone.cuts.set(linkKey(event.link), { ...event.link, at: event.at });
      return LINKS;
    case 'switch-up':
      if (event.dpid) gone.lost.delete(event.dpid);
      return [...SWITCHES, ...LINKS];
    case 'switch-down':
      if (event.dpid) gone.lost.set(event.dpid, event.at);
      return [...SWITCHES, ...LINKS, ...HOSTS];
    case 'host-seen':
    case 'host-moved':
    case 'host-gone':
    case 'port-changed':
      return HOSTS;
    case 'refused':
      if (event.dpid) gone.refusals.set(event.dpid, (gone.refusals.get(event.dpid) ?? 0) + 1);
      return [];
    case 'restarted':
      gone.cuts.clear();
      gone.lost.clear();
      gone.refusals.clear();
      return [...SWITCHES, ...LINKS, ...HOSTS];
    case 'missed':
    case 'left-out':
      return [...SWITCHES, ...LINKS, ...HOSTS];
    default:
      return [];
  }
}

export type Theme = 'system' | 'dark' | 'light';
export const theme = new Kept<Theme>('theme', 'system', oneOf('system', 'dark', 'light'));
