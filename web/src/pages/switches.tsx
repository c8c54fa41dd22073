// All switches.

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useCell } from '../core/cell';
import { rates, refusals, switches, type Rates } from '../core/network';
import { useResource } from '../core/poll';
import { href } from '../core/router';
import type { Switch } from '../core/types';
import { ago, bytes, count, nanoseconds, short } from '../core/units';
import { NothingConnected } from '../topo/nothing';
import { Chip, Pending } from '../ui/kit';
import { Table, type Column } from '../ui/table';

interface Row extends Switch {
  now: Rates | undefined;
  errors: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { key: 'name', title: 'Name', wraps: true, value: (row) => row.name || short(row.dpid) },
  { key: 'dpid', title: 'Datapath id', value: (row) => row.dpid, cell: (row) => <code>{row.dpid}</code>, wideOnly: true },
  {
    key: 'state',
    title: 'State',
    value: (row) => (row.state === 'up' ? 'up' : 'does not read'),
    cell: (row) => (row.state === 'up' ? <Chip tone="ok">up</Chip> : <Chip tone="bad">does not read</Chip>),
  },
  { key: 'version', title: 'OpenFlow', value: (row) => row.version, wideOnly: true },
  {
    key: 'ports',
    title: 'Ports up',
    value: (row) => row.ports_up,
    cell: (row) => (
      <span class={row.ports_up < row.ports ? 'tone-warn' : ''}>
        {row.ports_up} of {row.ports}
      </span>
    ),
    right: true,
  },
  { key: 'rate', title: 'Requests/s', value: (row) => row.now?.requests ?? 0, cell: (row) => count(row.now?.requests ?? 0), right: true },
  { key: 'wait', title: 'Wait', value: (row) => row.now?.waitNs ?? 0, cell: (row) => nanoseconds(row.now?.waitNs ?? 0), right: true, wideOnly: true },
  { key: 'requests', title: 'Requests', value: (row) => row.counters.requests, cell: (row) => count(row.counters.requests), right: true },
  { key: 'in', title: 'Read', value: (row) => row.counters.bytes_in, cell: (row) => bytes(row.counters.bytes_in), right: true, wideOnly: true },
  { key: 'out', title: 'Written', value: (row) => row.counters.bytes_out, cell: (row) => bytes(row.counters.bytes_out), right: true, wideOnly: true },
  {
    key: 'errors',
    title: 'Errors',
    value: (row) => row.errors,
    cell: (row) => (row.errors === 0 ? '0' : <span class="tone-bad">{count(row.errors)}</span>),
    right: true,
  },
  { key: 'weight', title: 'Weight', value: (row) => row.weight, right: true },
  { key: 'worker', title: 'Worker', value: (row) => row.worker, right: true, wideOnly: true },
  { key: 'address', title: 'Address', value: (row) => row.address, wideOnly: true },
  { key: 'since', title: 'Connected', value: (row) => row.up_since, cell: (row) => ago(row.up_since), wideOnly: true },
];

export function Switches(): JSX.Element {
  const { data, error } = useResource(switches);
  const now = useCell(rates);
  const refused = useCell(refusals);
  const rows = useMemo(
    () =>
      (data?.items ?? []).map((one) => ({
        ...one,
        now: now.get(one.dpid),
        errors: (refused.get(one.dpid) ?? 0) + one.counters.sheds + one.kept.refused,
      })),
    [data, now, refused],
  );
  if (data === null) return <Pending error={error} />;
  if (data.total === 0) return <NothingConnected />;
  return (
    <Table
      name="switches"
      rows={rows}
      columns={COLUMNS}
      rowKey={(row) => row.dpid}
      href={(row) => href('switches', row.dpid)}
      sort="dpid"
    />
  );
}
