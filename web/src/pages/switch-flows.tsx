// The flows of a switch, in words: shown, added, changed, removed, with the switch's own answer.

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ask, sentence } from '../core/api';
import { byPath, useResource } from '../core/poll';
import type { Flow, Page, StaticFlow } from '../core/types';
import { bytes, count, seconds } from '../core/units';
import { actionWords, matchWords } from '../topo/words';
import { BLANK, FlowFields, writeMatch, written, type Typed } from '../ui/flow-form';
import { Button, Chip, Dialog, Empty, Pending, say } from '../ui/kit';
import { Table, type Column } from '../ui/table';

interface Answered {
  done: number;
  failed: number;
  results: { done: boolean; problem?: { detail: string } | null }[];
}

const STATIC_FLOWS = 'api/v1/static-flows';

const path = (dpid: string) => `api/v1/switches/${dpid}/flows`;

/** Sends changes; the first refusal is thrown, in the switch's words. */
async function change(dpid: string, changes: Record<string, unknown>[], dryRun = false): Promise<Answered> {
  const to = dryRun ? `${path(dpid)}?dry_run=true` : path(dpid);
  const answer = await ask<Answered>(to, { method: 'POST', body: { flows: changes } });
  const refused = answer.results.find((one) => one.problem);
  if (refused?.problem) throw new Error(refused.problem.detail);
  return answer;
}

const exactly = (flow: Flow): Record<string, unknown> => ({ match: flow.match, priority: flow.priority, table: flow.table });

const flowKey = (flow: Flow) => `${flow.table} ${flow.priority} ${writeMatch(flow.match)}`;

function columns(act: (kind: 'edit' | 'remove', flow: Flow) => void): readonly Column<Flow>[] {
  return [
    { key: 'table', title: 'Table', value: (row) => row.table, right: true, width: '4.5rem' },
    { key: 'priority', title: 'Priority', value: (row) => row.priority, right: true, width: '6rem' },
    {
      key: 'match',
      title: 'Which packets',
      wraps: true,
      value: (row) => writeMatch(row.match),
      cell: (row) => <span title={writeMatch(row.match)}>{matchWords(row.match)}</span>,
    },
    {
      key: 'does',
      title: 'What is done',
      wraps: true,
      value: (row) => [...row.actions, ...(row.then ?? [])].join(' '),
      cell: (row) => {
        const drops = row.actions.length === 0 && (row.then ?? []).length === 0;
        return <b class={drops ? 'tone-bad' : ''}>{actionWords(row)}</b>;
      },
    },
    { key: 'packets', title: 'Packets', value: (row) => row.packets, cell: (row) => count(row.packets), right: true, width: '6rem' },
    { key: 'bytes', title: 'Bytes', value: (row) => row.bytes, cell: (row) => bytes(row.bytes), right: true, width: '6rem', wideOnly: true },
    { key: 'age', title: 'Age', value: (row) => row.age_s, cell: (row) => seconds(row.age_s), right: true, width: '6rem', wideOnly: true },
    {
      key: 'owner',
      title: 'Owner',
      value: (row) => row.owner ?? '',
      cell: (row) => (row.owner ? <Chip tone="info">{row.owner}</Chip> : <span class="dim">none known</span>),
      wideOnly: true,
    },
    {
      key: 'act',
      title: 'Change',
      value: () => '',
      cell: (row) => (
        <span class="acts">
          <Button icon="edit" kind="ghost" needs="write" label="Change what this flow does" onClick={() => act('edit', row)} />
          <Button icon="trash" kind="ghost" needs="write" label="Remove this flow" onClick={() => act('remove', row)} />
        </span>
      ),
      width: '5.5rem',
    },
  ];
}

export function Flows({ dpid, version }: { dpid: string; version: string }): JSX.Element {
  const flows = byPath<Page<Flow>>(path(dpid), 4000);
  const { data, error } = useResource(flows);
  const [editing, setEditing] = useState<Flow | 'new' | null>(null);
  const [removing, setRemoving] = useState<Flow | null>(null);
  const shown = useMemo(() => columns((kind, flow) => (kind === 'edit' ? setEditing(flow) : setRemoving(flow))), []);
  if (data === null) return <Pending error={error} />;
  return (
    <>
      {error === null ? null : <p class="trouble">{error.message}</p>}
      <Table
        name={`flows of ${dpid}`}
        rows={data.items}
        columns={shown}
        rowKey={flowKey}
        sort="-priority"
        tools={
          <Button icon="plus" kind="main" needs="write" onClick={() => setEditing('new')}>
            Add a flow
          </Button>
        }
        empty={<Empty title="The switch has no flows">Packets that come now are dropped, or go where the switch sends them by itself.</Empty>}
      />
      {editing === null ? null : (
        <Editor dpid={dpid} version={version} flow={editing === 'new' ? null : editing} onClose={() => setEditing(null)} onDone={() => void flows.now()} />
      )}
      {removing === null ? null : (
        <Removal dpid={dpid} flow={removing} onClose={() => setRemoving(null)} onDone={() => void flows.now()} />
      )}
    </>
  );
}

interface EditorProps {
  dpid: string;
  version: string;
  flow: Flow | null;
  onClose: () => void;
  onDone: () => void;
}

function Editor({ dpid, version, flow, onClose, onDone }: EditorProps): JSX.Element {
  const [typed, setTyped] = useState<Typed>(flow === null ? BLANK : typedOf(flow));
  const [idle, setIdle] = useState(flow?.idle_timeout_s ? String(flow.idle_timeout_s) : '');
  const [error, setError] = useState<string | null>(null);
  const [fine, setFine] = useState(false);
  const send = async (dryRun: boolean) => {
    setError(null);
    setFine(false);
    try {
      const body: Record<string, unknown> = { ...written(typed), ...(idle === '' ? {} : { idle_timeout_s: Number(idle) }) };
      // What is matched is what names a flow: another match is another flow, put in the old one's place.
      const replaces = flow !== null && JSON.stringify([flow.match, flow.priority, flow.table]) !== JSON.stringify([body['match'], body['priority'] ?? 32768, body['table'] ?? 0]);
      const first = replaces ? [{ command: 'delete-strict', ...exactly(flow) }] : [];
      const kept = flow !== null && flow.cookie !== '0x0' && !replaces ? { cookie: flow.cookie } : {};
      await change(dpid, [...first, { command: 'add', ...kept, ...body }], dryRun);
      if (dryRun) return setFine(true);
      say('ok', 'The switch has done it, and said so.');
      onDone();
      onClose();
    } catch (problem) {
      setError(sentence(problem));
    }
  };
  return (
    <Dialog title={flow === null ? 'Add a flow' : 'Change a flow'} onClose={onClose} wide>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send(false);
        }}
      >
        <FlowFields typed={typed} onChange={setTyped} tableHint={version === '1.0' ? 'OpenFlow 1.0 has one: 0' : '0 where it is empty'} />
        <label class="field">
          <span>Removed after so many seconds without a packet</span>
          <input inputMode="numeric" pattern="[0-9]*" value={idle} placeholder="never" onInput={(event) => setIdle(event.currentTarget.value)} />
        </label>
        {error === null ? null : (
          <p class="trouble" role="alert">
            {error}
          </p>
        )}
        {fine ? (
          <p class="fine" role="status">
            It can be sent: nothing was sent yet.
          </p>
        ) : null}
        {flow?.owner ? <p class="hint">The application {flow.owner} made this flow, and may put it back as it was.</p> : null}
        <div class="row">
          <Button type="submit" kind="main">
            {flow === null ? 'Add' : 'Change'}
          </Button>
          <Button onClick={() => void send(true)}>Check only</Button>
        </div>
      </form>
    </Dialog>
  );
}

function typedOf(flow: Flow): Typed {
  return {
    match: writeMatch(flow.match),
    actions: flow.actions.join(', '),
    then: (flow.then ?? []).join(', '),
    priority: String(flow.priority),
    table: String(flow.table),
  };
}

interface RemovalProps {
  dpid: string;
  flow: Flow;
  onClose: () => void;
  onDone: () => void;
}

function Removal(props: RemovalProps): JSX.Element {
  const { flow, onClose } = props;
  const asksController = Object.keys(flow.match).length === 0 && flow.actions.includes('output:controller');
  return (
    <Dialog title="Remove this flow?" onClose={onClose}>
      <p>
        {matchWords(flow.match)} <b>→ {actionWords(flow)}</b>
      </p>
      <p class="mono dim">{writeMatch(flow.match) || 'no field'}</p>
      {asksController ? <p class="trouble">By this flow the switch asks the controller. Without it, packets of new flows are dropped.</p> : null}
      {flow.owner === 'static-flows' ? <OfKept {...props} /> : <OfSwitch {...props} />}
    </Dialog>
  );
}

/** Takes it from its switch. */
function OfSwitch({ dpid, flow, onClose, onDone }: RemovalProps): JSX.Element {
  const remove = () => change(dpid, [{ command: 'delete-strict', ...exactly(flow) }]);
  return (
    <>
      {flow.owner ? <p class="hint">The application {flow.owner} made it, and may put it back.</p> : null}
      <Attempt word="Remove" does={remove} done="The flow is removed: the switch said so." onClose={onClose} onDone={onDone} />
    </>
  );
}

const fields = (match: Record<string, string>) => JSON.stringify(Object.entries(match).sort());

/** A static flow would be put back: it is kept no more instead. */
function OfKept(props: RemovalProps): JSX.Element {
  const { flow, onClose, onDone } = props;
  const { data, error } = useResource(byPath<Page<StaticFlow>>(STATIC_FLOWS, 4000));
  if (data === null) return <Pending error={error} />;
  const is = (one: StaticFlow) => one.priority === flow.priority && fields(one.match) === fields(flow.match) && (one.table ?? flow.table) === flow.table;
  const kept = data.items.find(is);
  if (kept === undefined) return <OfSwitch {...props} />;
  if (kept.source === 'configuration') {
    return <p class="trouble">The configuration keeps it as “{kept.name}”, and would put it back: it is changed there alone.</p>;
  }
  const remove = () => ask(`${STATIC_FLOWS}/${encodeURIComponent(kept.name)}`, { method: 'DELETE' });
  return (
    <>
      <p>
        It is kept as “{kept.name}”{kept.there > 1 ? `, on ${kept.there} switches` : ''}, and would be put back. Keep it no more, and it is gone from all of
        them.
      </p>
      <Attempt word="Keep it no more" does={remove} done={`“${kept.name}” is kept no more.`} onClose={onClose} onDone={onDone} />
    </>
  );
}

interface AttemptProps {
  word: string;
  does: () => Promise<unknown>;
  done: string;
  onClose: () => void;
  onDone: () => void;
}

function Attempt({ word, does, done, onClose, onDone }: AttemptProps): JSX.Element {
  const [error, setError] = useState<string | null>(null);
  const attempt = async () => {
    try {
      await does();
      say('ok', done);
      onDone();
      onClose();
    } catch (problem) {
      setError(sentence(problem));
    }
  };
  return (
    <>
      {error === null ? null : (
        <p class="trouble" role="alert">
          {error}
        </p>
      )}
      <div class="row">
        <Button kind="danger" onClick={() => void attempt()}>
          {word}
        </Button>
        <Button onClick={onClose}>Let it be</Button>
      </div>
    </>
  );
}
