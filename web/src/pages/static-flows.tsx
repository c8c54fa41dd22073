// Flows that are kept on their switches.

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ask, sentence } from '../core/api';
import { byPath, useResource } from '../core/poll';
import type { Page, StaticFlow } from '../core/types';
import { actionWords, matchWords } from '../topo/words';
import { BLANK, FlowFields, writeMatch, written, type Typed } from '../ui/flow-form';
import { Button, Chip, Dialog, Empty, Field, Pending, say, Trouble } from '../ui/kit';
import { Table, type Column } from '../ui/table';
import { AtSwitches } from './at-switches';

const LIST = 'api/v1/static-flows';
const pathOf = (name: string) => `${LIST}/${encodeURIComponent(name)}`;

function columns(onOpen: (flow: StaticFlow) => void): readonly Column<StaticFlow>[] {
  return [
    {
      key: 'name',
      title: 'Name',
      wraps: true,
      value: (row) => row.name,
      cell: (row) => (
        <button type="button" class="link" onClick={() => onOpen(row)}>
          {row.name}
        </button>
      ),
    },
    { key: 'switch', title: 'Switches', value: (row) => row.switch, cell: (row) => <code>{row.switch}</code> },
    { key: 'priority', title: 'Priority', value: (row) => row.priority, right: true },
    { key: 'match', title: 'Which packets', wraps: true, value: (row) => writeMatch(row.match), cell: (row) => matchWords(row.match) },
    { key: 'does', title: 'What is done', wraps: true, value: (row) => actionWords(row), cell: (row) => <b>{actionWords(row)}</b> },
    {
      key: 'there',
      title: 'Where',
      value: (row) => row.there,
      cell: (row) => (
        <>
          <Chip tone={row.there > 0 ? 'ok' : 'dim'}>{row.there} have it</Chip> {row.missing > 0 ? <Chip tone="bad">{row.missing} do not</Chip> : null}
        </>
      ),
    },
    {
      key: 'source',
      title: 'Set by',
      value: (row) => row.source,
      cell: (row) => <Chip>{row.source === 'http' ? 'people' : 'the configuration'}</Chip>,
      wideOnly: true,
    },
  ];
}

export function StaticFlows(): JSX.Element {
  const list = byPath<Page<StaticFlow>>(LIST, 4000);
  const { data, error } = useResource(list);
  const [open, setOpen] = useState<StaticFlow | 'new' | null>(null);
  const shown = useMemo(() => columns(setOpen), []);
  if (data === null) {
    const hint = 'Run with the application static-flows: it runs unless other applications are chosen.';
    return error !== null && error.status > 0 ? <Trouble error={error} hint={hint} /> : <Pending error={error} />;
  }
  return (
    <>
      <Table
        name="static flows"
        rows={data.items}
        columns={shown}
        rowKey={(row) => row.name}
        sort="name"
        tools={
          <Button icon="plus" kind="main" needs="write" onClick={() => setOpen('new')}>
            Keep a flow
          </Button>
        }
        empty={
          <Empty title="No flow is kept yet">
            A flow that is kept here is put on its switches whenever they connect, and put back when they lose it.
          </Empty>
        }
      />
      {open === null ? null : <Editor flow={open === 'new' ? null : open} onClose={() => setOpen(null)} onDone={() => void list.now()} />}
    </>
  );
}

interface EditorProps {
  flow: StaticFlow | null;
  onClose: () => void;
  onDone: () => void;
}

function Editor({ flow, onClose, onDone }: EditorProps): JSX.Element {
  const [name, setName] = useState(flow?.name ?? '');
  const [at, setAt] = useState(flow?.switch ?? '*');
  const [typed, setTyped] = useState<Typed>(flow === null ? BLANK : typedOf(flow));
  const [error, setError] = useState<string | null>(null);
  const isFixed = flow?.source === 'configuration';
  const attempt = async (what: () => Promise<unknown>, done: string) => {
    setError(null);
    try {
      await what();
      say('ok', done);
      onDone();
      onClose();
    } catch (problem) {
      setError(sentence(problem));
    }
  };
  const save = () =>
    attempt(async () => {
      const headers: Record<string, string> = flow === null ? { 'If-None-Match': '*' } : {};
      await ask(pathOf(name), { method: 'PUT', body: { switch: at, ...written(typed) }, headers });
    }, `“${name}” is kept. Its switches have it within a second or two.`);
  return (
    <Dialog title={flow === null ? 'Keep a flow' : flow.name} onClose={onClose} wide>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div class="row wrap">
          <Field label="Name">
            <input required disabled={flow !== null} value={name} onInput={(event) => setName(event.currentTarget.value)} />
          </Field>
          <Field label="Switches" hint="a datapath id, first octets (00:00:*), a range (1-100), or * for all">
            <input required value={at} onInput={(event) => setAt(event.currentTarget.value)} />
          </Field>
        </div>
        <FlowFields typed={typed} onChange={setTyped} tableHint="that of the flows that forward where it is empty" />
        {error === null ? null : (
          <p class="trouble" role="alert">
            {error}
          </p>
        )}
        {isFixed ? <p class="hint">The configuration says this flow, and it is changed there alone.</p> : null}
        <div class="row">
          <Button type="submit" kind="main" needs="write" disabled={isFixed}>
            {flow === null ? 'Keep it' : 'Change it'}
          </Button>
          {flow === null || isFixed ? null : (
            <Button kind="danger" needs="write" onClick={() => void attempt(() => ask(pathOf(flow.name), { method: 'DELETE' }), `“${flow.name}” is kept no more.`)}>
              Keep it no more
            </Button>
          )}
        </div>
        {flow === null ? null : <AtSwitches path={pathOf(flow.name)} />}
      </form>
    </Dialog>
  );
}

function typedOf(flow: StaticFlow): Typed {
  return {
    match: writeMatch(flow.match),
    actions: flow.actions.join(', '),
    then: (flow.then ?? []).join(', '),
    priority: String(flow.priority),
    table: flow.table === null || flow.table === undefined ? '' : String(flow.table),
  };
}
