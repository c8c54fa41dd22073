// The controller's log, as it is written.

import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Cell, useCellEvery, useCell } from '../core/cell';
import { followStream, type Connection } from '../core/live';
import { useLacks } from '../core/me';
import { place, setQuery } from '../core/router';
import { clock, moment } from '../core/units';
import { Button, Chip, Choice, Empty, type Tone } from '../ui/kit';
import { Table, type Column } from '../ui/table';

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const;
type Level = (typeof LEVELS)[number];

interface Line {
  id: string;
  at: string;
  level: Level;
  text: string;
}

const TONES: Record<Level, Tone> = { error: 'bad', warn: 'warn', info: 'dim', debug: 'dim', trace: 'dim' };
const WORDS: Record<Level, string> = { error: 'error', warn: 'warning', info: 'info', debug: 'debug', trace: 'trace' };
/** Lines that the page keeps; the controller keeps about as many. */
const KEPT_MAX = 10_000;
/** However many lines come, the table is drawn so often at the most. */
const DRAWN_MS = 200;

/** Letters that are not seen, or turn the direction of others, as people write them in programs. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const seen = (text: string): string => text.replace(HIDDEN, (letter) => `\\u{${letter.codePointAt(0)!.toString(16)}}`);

const COLUMNS: readonly Column<Line>[] = [
  { key: 'at', title: 'Time', value: (row) => row.at, cell: (row) => <time title={moment(row.at)}>{clock(row.at)}</time>, width: '6rem' },
  { key: 'level', title: 'Level', value: (row) => row.level, cell: (row) => <Chip tone={TONES[row.level] ?? 'dim'}>{WORDS[row.level] ?? 'other'}</Chip>, width: '7rem', wideOnly: true },
  { key: 'text', title: 'Line', wraps: true, value: (row) => row.text, cell: (row) => <span class={`log-line tone-${TONES[row.level] ?? 'dim'}`}>{seen(row.text)}</span> },
];

export function Log(): JSX.Element {
  const lacks = useLacks('admin');
  if (lacks !== null) {
    return (
      <Empty title="The log is for administrators">
        <p>{lacks} What happens in the network is under Events.</p>
      </Empty>
    );
  }
  return <Lines />;
}

function Lines(): JSX.Element {
  const [lines] = useState(() => new Cell<readonly Line[]>([]));
  const [state, setState] = useState<Connection>('connecting');
  const [held, setHeld] = useState<readonly Line[] | null>(null);
  useEffect(() => follow(lines, setState), [lines]);
  const all = useCellEvery(lines, DRAWN_MS);
  const level = levelOf(useCell(place).query['level']);
  const now = held ?? all;
  const rows = useMemo(() => now.filter((line) => LEVELS.indexOf(line.level) <= LEVELS.indexOf(level)).reverse(), [now, level]);
  return (
    <Table
      name="log"
      rows={rows}
      columns={COLUMNS}
      rowKey={(row) => row.id}
      sort="-none"
      tools={
        <>
          <Choice<Level>
            label="Level"
            value={level}
            of={[['trace', 'All'], ['info', 'Info'], ['warn', 'Warnings'], ['error', 'Errors']]}
            onChange={(next) => setQuery({ level: next === 'trace' ? '' : next })}
          />
          <Button pressed={held !== null} onClick={() => setHeld(held === null ? all : null)}>
            {held === null ? 'Hold' : 'Go on'}
          </Button>
        </>
      }
      empty={
        <Empty title={all.length === 0 ? 'No line yet' : 'No line of this level'}>
          {state === 'live' ? 'Lines are shown here as they are written.' : 'The controller does not send its log now; this page tries again by itself.'}
        </Empty>
      }
    />
  );
}

const levelOf = (text: string | undefined): Level => LEVELS.find((level) => level === text) ?? 'trace';

/** Fills the cell with the lines that are kept, and with those that come. */
function follow(lines: Cell<readonly Line[]>, onState: (state: Connection) => void): () => void {
  const ends = new AbortController();
  let waiting: Line[] = [];
  const flush = () => {
    const batch = waiting;
    waiting = [];
    lines.update((old) => old.concat(batch).slice(-KEPT_MAX));
  };
  const take = (line: Line) => {
    if (waiting.length === 0) setTimeout(flush, DRAWN_MS / 2);
    waiting.push(line);
    if (waiting.length > KEPT_MAX) waiting.shift();
  };
  void followStream<Line>('api/v1/log/follow', ends.signal, take, onState);
  return () => ends.abort();
}
