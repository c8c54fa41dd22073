// The hosts that were seen.

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { hosts, nameOf } from '../core/network';
import { useResource } from '../core/poll';
import { href } from '../core/router';
import type { Host } from '../core/types';
import { ago } from '../core/units';
import { hostKey } from '../topo/model';
import { Chip, Empty, Pending, Trouble } from '../ui/kit';
import { Table, type Column } from '../ui/table';

const COLUMNS: readonly Column<Host>[] = [
  { key: 'mac', title: 'Ethernet', value: (row) => row.mac, cell: (row) => <code>{row.mac}</code> },
  { key: 'ips', title: 'Addresses', wraps: true, value: (row) => row.ips.join(' '), cell: (row) => <Addresses ips={row.ips} /> },
  { key: 'switch', title: 'Switch', value: (row) => nameOf(row.dpid), cell: (row) => <a href={href('switches', row.dpid)}>{nameOf(row.dpid)}</a> },
  { key: 'port', title: 'Port', value: (row) => row.port, right: true },
  { key: 'vlan', title: 'VLAN', value: (row) => row.vlan, cell: (row) => (row.vlan === 0 ? '–' : row.vlan), right: true, wideOnly: true },
  {
    key: 'attached',
    title: 'State',
    value: (row) => (row.attached === false ? 'port down' : 'attached'),
    cell: (row) => (
      <>
        {row.attached === false ? <Chip tone="bad">port down</Chip> : <Chip tone="ok">attached</Chip>} {row.router ? <Chip tone="info">router</Chip> : null}
      </>
    ),
  },
  { key: 'seen', title: 'Seen', value: (row) => row.last_seen, cell: (row) => ago(row.last_seen), wideOnly: true },
  { key: 'first', title: 'First seen', value: (row) => row.first_seen, cell: (row) => ago(row.first_seen), wideOnly: true },
];

const SHOWN = 3;

function Addresses({ ips }: { ips: readonly string[] }): JSX.Element {
  const more = ips.length - SHOWN;
  return (
    <span title={ips.slice(0, 40).join(' ')}>
      {ips.slice(0, SHOWN).join(', ') || '–'}
      {more > 0 ? ` and ${more} more` : ''}
    </span>
  );
}

export function Hosts(): JSX.Element {
  const { data, error } = useResource(hosts);
  const rows = useMemo(() => data?.items ?? [], [data]);
  if (error?.status === 404) {
    return <Trouble error={error} hint="Run with the application hosts: aldis run --apps topology,hosts,… It runs unless other applications are chosen." />;
  }
  if (data === null) return <Pending error={error} />;
  return (
    <Table
      name="hosts"
      rows={rows}
      columns={COLUMNS}
      rowKey={hostKey}
      href={(row) => href('topology', '', '', { at: hostKey(row) })}
      sort="mac"
      empty={<Empty title="No host was seen yet">A host is seen when it sends its first packet. In Mininet: pingall.</Empty>}
    />
  );
}
