// Ports, groups, meters and tables of a switch, asked of it now.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { byPath, useResource } from '../core/poll';
import type { Page, Port, PortCounters } from '../core/types';
import { bits, bytes, count, kbps } from '../core/units';
import { Chip, Empty, Pending } from '../ui/kit';
import { Table, type Column } from '../ui/table';

interface PortRow extends Port {
  sent?: PortCounters;
  rx: number | null;
  tx: number | null;
}

const PORTS: readonly Column<PortRow>[] = [
  { key: 'number', title: 'Port', value: (row) => row.number, right: true, width: '4.5rem' },
  { key: 'name', title: 'Name', wraps: true, value: (row) => row.name },
  {
    key: 'state',
    title: 'State',
    value: (row) => (row.up ? 'up' : row.admin_down ? 'taken down' : 'no link'),
    cell: (row) => (row.up ? <Chip tone="ok">up</Chip> : <Chip tone="bad">{row.admin_down ? 'taken down' : 'no link'}</Chip>),
  },
  { key: 'rx', title: 'In', value: (row) => row.rx, cell: (row) => bits(row.rx), right: true },
  { key: 'tx', title: 'Out', value: (row) => row.tx, cell: (row) => bits(row.tx), right: true },
  { key: 'speed', title: 'Speed', value: (row) => row.speed_kbps, cell: (row) => kbps(row.speed_kbps), right: true, wideOnly: true },
  { key: 'rxb', title: 'Received', value: (row) => row.sent?.rx_bytes, cell: (row) => bytes(row.sent?.rx_bytes), right: true, wideOnly: true },
  { key: 'txb', title: 'Sent', value: (row) => row.sent?.tx_bytes, cell: (row) => bytes(row.sent?.tx_bytes), right: true, wideOnly: true },
  { key: 'errors', title: 'Errors', value: (row) => (row.sent?.rx_errors ?? 0) + (row.sent?.tx_errors ?? 0), right: true },
  { key: 'drops', title: 'Dropped', value: (row) => (row.sent?.rx_dropped ?? 0) + (row.sent?.tx_dropped ?? 0), right: true },
  { key: 'sheds', title: 'Shed', value: (row) => row.sheds ?? 0, right: true, wideOnly: true },
  { key: 'mac', title: 'Address', value: (row) => row.mac, cell: (row) => <code>{row.mac}</code>, wideOnly: true },
];

export function Ports({ dpid }: { dpid: string }): JSX.Element {
  const ports = useResource(byPath<Page<Port>>(`api/v1/switches/${dpid}/ports`, 3000));
  const sent = useResource(byPath<Page<PortCounters>>(`api/v1/switches/${dpid}/ports/stats`, 3000));
  const rates = useRates(sent.data?.items ?? [], sent.at);
  const rows = useMemo(() => {
    const known = new Map((sent.data?.items ?? []).map((one) => [one.port, one]));
    return (ports.data?.items ?? []).map((port): PortRow => {
      const counted = known.get(String(port.number));
      const now = rates.get(String(port.number));
      return { ...port, ...(counted ? { sent: counted } : {}), rx: now?.[0] ?? null, tx: now?.[1] ?? null };
    });
  }, [ports.data, sent.data, rates]);
  if (ports.data === null) return <Pending error={ports.error} />;
  return (
    <>
      {sent.error === null ? null : <p class="trouble">{sent.error.message}</p>}
      <Table name={`ports of ${dpid}`} rows={rows} columns={PORTS} rowKey={(row) => String(row.number)} sort="number" />
    </>
  );
}

/** Bits a second in and out, by port, between the two newest answers. */
function useRates(items: readonly PortCounters[], at: number): ReadonlyMap<string, readonly [number, number]> {
  const before = useRef<{ at: number; of: Map<string, PortCounters> }>({ at: 0, of: new Map() });
  const [rates, setRates] = useState<ReadonlyMap<string, readonly [number, number]>>(new Map());
  useEffect(() => {
    const old = before.current;
    const span = (at - old.at) / 1000;
    if (at === old.at || items.length === 0) return;
    if (old.at > 0 && span < 20) {
      setRates(
        new Map(
          items.flatMap((one) => {
            const was = old.of.get(one.port);
            if (was === undefined) return [];
            const bitsOf = (a?: number | null, b?: number | null) => (Math.max(0, (b ?? 0) - (a ?? 0)) * 8) / span;
            return [[one.port, [bitsOf(was.rx_bytes, one.rx_bytes), bitsOf(was.tx_bytes, one.tx_bytes)] as const]];
          }),
        ),
      );
    }
    before.current = { at, of: new Map(items.map((one) => [one.port, one])) };
  }, [items, at]);
  return rates;
}

interface Group {
  group: number;
  type: string;
  packets?: number | null;
  bytes?: number | null;
  references?: number | null;
  buckets: { actions: string[]; weight: number; watch_port?: string | null; packets?: number | null }[];
}

const GROUPS: readonly Column<Group>[] = [
  { key: 'group', title: 'Group', value: (row) => row.group, right: true, width: '6rem' },
  { key: 'type', title: 'Chooses', value: (row) => row.type, cell: (row) => <Chip>{row.type}</Chip> },
  {
    key: 'buckets',
    title: 'Buckets',
    wraps: true,
    value: (row) => row.buckets.map((bucket) => bucket.actions.join(' ')).join(' | '),
    cell: (row) => (
      <ul class="plain-list">
        {row.buckets.slice(0, 32).map((bucket, at) => (
          <li key={at}>
            <code>{bucket.actions.join(', ') || 'drop'}</code> {row.type === 'select' ? <Chip>weight {bucket.weight}</Chip> : null}{' '}
            {bucket.watch_port ? <Chip>while port {bucket.watch_port} is up</Chip> : null}
          </li>
        ))}
      </ul>
    ),
  },
  { key: 'packets', title: 'Packets', value: (row) => row.packets, cell: (row) => count(row.packets), right: true },
  { key: 'bytes', title: 'Bytes', value: (row) => row.bytes, cell: (row) => bytes(row.bytes), right: true, wideOnly: true },
  { key: 'references', title: 'Used by', value: (row) => row.references, right: true, wideOnly: true },
];

export function Groups({ dpid }: { dpid: string }): JSX.Element {
  const { data, error } = useResource(byPath<Page<Group>>(`api/v1/switches/${dpid}/groups`, 5000));
  if (data === null) return <Pending error={error} />;
  return (
    <Table
      name={`groups of ${dpid}`}
      rows={data.items}
      columns={GROUPS}
      rowKey={(row) => String(row.group)}
      sort="group"
      empty={<Empty title="The switch has no groups" />}
    />
  );
}

interface Meter {
  meter: string;
  flags: string[];
  flows?: number | null;
  packets?: number | null;
  bytes?: number | null;
  bands: { rate: number; burst: number; effect: string; packets?: number | null }[];
}

const METERS: readonly Column<Meter>[] = [
  { key: 'meter', title: 'Meter', value: (row) => row.meter, width: '7rem' },
  {
    key: 'bands',
    title: 'Bands',
    wraps: true,
    value: (row) => row.bands.map((band) => `${band.effect} above ${band.rate}`).join(' | '),
    cell: (row) => {
      const unit = row.flags.includes('pktps') ? 'packets/s' : 'kbit/s';
      return row.bands.map((band) => `${band.effect} above ${count(band.rate)} ${unit}`).join('; ') || 'none';
    },
  },
  { key: 'flows', title: 'Flows', value: (row) => row.flows, right: true },
  { key: 'packets', title: 'Packets', value: (row) => row.packets, cell: (row) => count(row.packets), right: true },
  { key: 'bytes', title: 'Bytes', value: (row) => row.bytes, cell: (row) => bytes(row.bytes), right: true },
];

export function Meters({ dpid }: { dpid: string }): JSX.Element {
  const { data, error } = useResource(byPath<Page<Meter>>(`api/v1/switches/${dpid}/meters`, 5000));
  if (data === null) return <Pending error={error} />;
  return (
    <Table
      name={`meters of ${dpid}`}
      rows={data.items}
      columns={METERS}
      rowKey={(row) => row.meter}
      sort="meter"
      empty={<Empty title="The switch has no meters" />}
    />
  );
}

interface TableCounters {
  table: number;
  flows: number;
  lookups?: number | null;
  matched?: number | null;
}

const TABLES: readonly Column<TableCounters>[] = [
  { key: 'table', title: 'Table', value: (row) => row.table, right: true, width: '6rem' },
  { key: 'flows', title: 'Flows', value: (row) => row.flows, cell: (row) => count(row.flows), right: true },
  { key: 'lookups', title: 'Looked up', value: (row) => row.lookups, cell: (row) => count(row.lookups), right: true },
  { key: 'matched', title: 'Matched', value: (row) => row.matched, cell: (row) => count(row.matched), right: true },
  {
    key: 'part',
    title: 'Part that matched',
    value: (row) => (row.lookups ? (row.matched ?? 0) / row.lookups : null),
    cell: (row) => (row.lookups ? `${(((row.matched ?? 0) / row.lookups) * 100).toFixed(1)} %` : '–'),
    right: true,
  },
];

export function Tables({ dpid }: { dpid: string }): JSX.Element {
  const { data, error } = useResource(byPath<Page<TableCounters>>(`api/v1/switches/${dpid}/tables`, 4000));
  const rows = useMemo(() => (data?.items ?? []).filter((row) => row.flows > 0 || (row.lookups ?? 0) > 0), [data]);
  if (data === null) return <Pending error={error} />;
  return (
    <Table
      name={`tables of ${dpid}`}
      rows={rows}
      columns={TABLES}
      rowKey={(row) => String(row.table)}
      sort="table"
      empty={<Empty title="No table has flows or was looked into" />}
    />
  );
}
