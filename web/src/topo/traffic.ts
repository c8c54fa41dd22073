// What links carry: the counters of their ports, as the application monitor publishes them.

import { useEffect, useMemo } from 'preact/hooks';
import { request } from '../core/api';
import { useCell } from '../core/cell';
import { Resource, resource } from '../core/poll';
import type { Page, Port } from '../core/types';

/** Bits a second by `DPID:PORT`, the greater of both directions. */
export type Traffic = ReadonlyMap<string, number>;

const ports = resource<Page<Port>>('api/v1/ports', 60_000);

/** Bits a second that ports can carry, by `DPID:PORT`; without those that do not say. */
export function useSpeeds(isWanted: boolean): ReadonlyMap<string, number> {
  const { data } = useCell(ports);
  useEffect(() => (isWanted ? ports.use() : undefined), [isWanted]);
  return useMemo(
    () => new Map((data?.items ?? []).flatMap((one) => (one.speed_kbps > 0 ? [[`${one.dpid}:${one.number}`, one.speed_kbps * 1000] as const] : []))),
    [data],
  );
}

const EVERY_MS = 4000;
const NAMES = ['aldis_port_received_bytes_total{', 'aldis_port_sent_bytes_total{'];

interface Seen {
  bytes: number;
  at: number;
  rate: number;
}

const seen = new Map<string, Seen>();

/** The rates, or none where no monitor runs. */
export const traffic = new Resource<Traffic | null>(async () => {
  const response = await request('metrics', {});
  const text = await response.text();
  const samples = read(text);
  return samples.size === 0 ? null : rates(samples, performance.now() / 1000);
}, EVERY_MS);

/** The bytes of each port and direction, by `DPID:PORT:DIRECTION`. */
export function read(text: string): Map<string, number> {
  const found = new Map<string, number>();
  NAMES.forEach((name, direction) => {
    for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
      const end = text.indexOf('\n', at);
      const line = text.slice(at + name.length, end === -1 ? undefined : end);
      const match = /^dpid="([0-9a-f]{16})",port="(\d+)"\} (\d+)/.exec(line);
      if (match !== null) found.set(`${match[1]}:${match[2]}:${direction}`, Number(match[3]));
    }
  });
  return found;
}

/** A counter that stands still has not been asked for again, for a while; then nothing flows. */
const STILL_S = 25;

function rates(samples: ReadonlyMap<string, number>, now: number): Traffic {
  const all = new Map<string, number>();
  for (const key of seen.keys()) if (!samples.has(key)) seen.delete(key);
  for (const [key, bytes] of samples) {
    const old = seen.get(key);
    if (old === undefined || bytes < old.bytes) seen.set(key, { bytes, at: now, rate: 0 });
    else if (bytes > old.bytes) seen.set(key, { bytes, at: now, rate: ((bytes - old.bytes) * 8) / (now - old.at) });
    else if (now - old.at > STILL_S) old.rate = 0;
    const port = key.slice(0, key.lastIndexOf(':'));
    all.set(port, Math.max(all.get(port) ?? 0, seen.get(key)!.rate));
  }
  return all;
}
