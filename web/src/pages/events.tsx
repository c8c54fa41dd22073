// What happened, newest first.

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useCell, useCellEvery } from '../core/cell';
import { connection, events } from '../core/live';
import { nameOf } from '../core/network';
import { href } from '../core/router';
import type { LiveEvent } from '../core/types';
import { clock, moment, words } from '../core/units';
import { Button, Chip, Empty, type Tone } from '../ui/kit';
import { Table, type Column } from '../ui/table';

const TONES: Record<string, Tone> = {
  'switch-up': 'ok',
  'link-up': 'ok',
  'host-seen': 'info',
  'host-moved': 'info',
  'switch-down': 'bad',
  'link-down': 'bad',
  refused: 'bad',
  stranger: 'warn',
  'no-room': 'warn',
  missed: 'warn',
  'left-out': 'warn',
  restarted: 'warn',
};

/** However many events come, the table is drawn so often at the most. */
const DRAWN_MS = 200;

const COLUMNS: readonly Column<LiveEvent>[] = [
  {
    key: 'at',
    title: 'Time',
    value: (row) => row.at,
    cell: (row) => <time title={moment(row.at)}>{clock(row.at)}</time>,
    width: '7rem',
  },
  { key: 'kind', title: 'Kind', value: (row) => words(row.kind), cell: (row) => <Chip tone={TONES[row.kind] ?? 'dim'}>{words(row.kind)}</Chip>, width: '9rem' },
  {
    key: 'switch',
    title: 'Switch',
    value: (row) => (row.dpid ? nameOf(row.dpid) : ''),
    cell: (row) => (row.dpid ? <a href={href('switches', row.dpid)}>{nameOf(row.dpid)}</a> : '–'),
    width: '8rem',
  },
  { key: 'text', title: 'What', wraps: true, value: (row) => row.text },
];

export function Events(): JSX.Element {
  const all = useCellEvery(events, DRAWN_MS);
  const state = useCell(connection);
  const [stopped, setStopped] = useState<readonly LiveEvent[] | null>(null);
  const shown = stopped ?? all;
  const rows = useMemo(() => [...shown].reverse(), [shown]);
  return (
    <Table
      name="events"
      rows={rows}
      columns={COLUMNS}
      rowKey={(row) => row.id}
      sort="-none"
      tools={
        <Button pressed={stopped !== null} onClick={() => setStopped(stopped === null ? all : null)}>
          {stopped === null ? 'Hold' : `Go on (${Math.max(0, all.length - stopped.length)} more)`}
        </Button>
      }
      empty={<Empty title="Nothing happened yet">{state === 'live' ? 'Events are shown here as they happen.' : 'The controller does not answer now.'}</Empty>}
    />
  );
}
