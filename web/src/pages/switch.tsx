// One switch: what it is, and its ports, flows, groups, meters, tables and events.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask, sentence } from '../core/api';
import { useCell, useCellEvery } from '../core/cell';
import { events } from '../core/live';
import { rates, switches } from '../core/network';
import { byPath, useResource } from '../core/poll';
import { href, place } from '../core/router';
import type { Switch } from '../core/types';
import { ago, bytes, clock, count, dpidWords, moment, nanoseconds, short, words } from '../core/units';
import { Bar, Button, Chip, Dialog, Empty, Field, Figure, Figures, Panel, Pending, say } from '../ui/kit';
import { Delays } from './switch-delays';
import { Flows } from './switch-flows';
import { Groups, Meters, Ports, Tables } from './switch-parts';
import { setWeight } from './weights';

const PARTS = [
  ['', 'Overview'],
  ['ports', 'Ports'],
  ['flows', 'Flows'],
  ['groups', 'Groups'],
  ['meters', 'Meters'],
  ['tables', 'Tables'],
  ['events', 'Events'],
] as const;

export function SwitchPage({ dpid }: { dpid: string }): JSX.Element {
  const { part } = useCell(place);
  const { data, error } = useResource(byPath<Switch>(`api/v1/switches/${encodeURIComponent(dpid)}`, 2000));
  if (data === null) {
    return error?.status === 404 ? (
      <Empty title={`${short(dpid)} is not connected`}>
        <p>{error.message}. When it connects again it is shown here.</p>
        <p>
          <a href={href('switches')}>All switches</a>
        </p>
      </Empty>
    ) : (
      <Pending error={error} />
    );
  }
  const id = data.dpid;
  return (
    <div class="switch-page">
      <Head one={data} />
      <nav class="tabs" aria-label="Parts of the switch">
        {PARTS.map(([key, title]) => (
          <a key={key} href={href('switches', id, key)} class={part === key ? 'on' : ''} aria-current={part === key ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {part === '' ? <Overview one={data} /> : null}
      {part === 'ports' ? <Ports dpid={id} /> : null}
      {part === 'flows' ? <Flows dpid={id} version={data.version} /> : null}
      {part === 'groups' ? <Groups dpid={id} /> : null}
      {part === 'meters' ? <Meters dpid={id} /> : null}
      {part === 'tables' ? <Tables dpid={id} /> : null}
      {part === 'events' ? <Happened dpid={id} /> : null}
    </div>
  );
}

function Head({ one }: { one: Switch }): JSX.Element {
  const [naming, setNaming] = useState(false);
  return (
    <header class="switch-head">
      <a class="back" href={href('switches')}>
        All switches
      </a>
      <h2>{one.name || short(one.dpid)}</h2>
      <code>{dpidWords(one.dpid)}</code>
      {one.state === 'up' ? <Chip tone="ok">up</Chip> : <Chip tone="bad">does not read what it is sent</Chip>}
      <div class="space" />
      <Button icon="edit" needs="write" onClick={() => setNaming(true)}>
        Name
      </Button>
      <a class="button plain" href={href('topology', '', '', { at: one.dpid })}>
        In the picture
      </a>
      {naming ? <Naming one={one} onClose={() => setNaming(false)} /> : null}
    </header>
  );
}

function Naming({ one, onClose }: { one: Switch; onClose: () => void }): JSX.Element {
  const [name, setName] = useState(one.name ?? '');
  const [error, setError] = useState<string | null>(null);
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      const path = `api/v1/names/${one.dpid}`;
      if (name === '') await ask(path, { method: 'DELETE' });
      else await ask(path, { method: 'PUT', body: { name } });
      await switches.now();
      byPath<Switch>(`api/v1/switches/${one.dpid}`, 2000).soon(0);
      say('ok', name === '' ? 'It is called by its datapath id again.' : 'It has its name.');
      onClose();
    } catch (problem) {
      setError(sentence(problem));
    }
  };
  return (
    <Dialog title="What people call it" onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <Field label="Name" hint="1 to 200 bytes; no other switch has it. Empty for none.">
          <input value={name} maxLength={200} autoFocus onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        {error === null ? null : <p class="trouble" role="alert">{error}</p>}
        <Button type="submit" kind="main">
          Save
        </Button>
      </form>
    </Dialog>
  );
}

function Overview({ one }: { one: Switch }): JSX.Element {
  const now = useCell(rates).get(one.dpid);
  const { counters } = one;
  return (
    <div class="columns">
      <div class="stack">
      <Panel title="Now">
        <Figures>
          <Figure name="Requests" value={`${count(now?.requests ?? 0)}/s`} note={`${count(counters.requests)} in all`} />
          <Figure name="Mean wait" value={nanoseconds(now?.waitNs ?? 0)} note={`${nanoseconds(counters.queue_wait_ns_max)} at the most`} />
          <Figure name="Read" value={`${bytes(now?.bytesIn ?? 0)}/s`} note={`${bytes(counters.bytes_in)} in all`} />
          <Figure name="Written" value={`${bytes(now?.bytesOut ?? 0)}/s`} note={`${bytes(counters.bytes_out)} in all`} />
          <Figure name="Waits for it to read" value={bytes(counters.bytes_waiting)} tone={counters.bytes_waiting > 0 ? 'warn' : undefined} />
          <Figure name="Shed" value={count(counters.sheds)} tone={counters.sheds > 0 ? 'bad' : undefined} />
        </Figures>
      </Panel>
      <WeightPanel one={one} />
      </div>
      <Panel title="Session">
        <Figures>
          <Figure name="OpenFlow" value={one.version} />
          <Figure name="Connected" value={<span title={moment(one.up_since)}>{ago(one.up_since)}</span>} />
          <Figure name="From" value={<code>{one.address}</code>} />
          <Figure name="Auxiliary connections" value={one.auxiliaries} />
          <Figure name="Tables" value={one.tables} />
          <Figure name="Buffers" value={one.buffers} note="packets that it can hold back" />
          <Figure name="Home worker" value={one.worker} note={`${count(counters.moves)} moves`} />
          <Figure name="Ports up" value={`${one.ports_up} of ${one.ports}`} />
        </Figures>
        <h3>Kept on its account</h3>
        <Bar part={one.kept.bytes / Math.max(1, one.kept.bytes_max)} tone={one.kept.refused > 0 ? 'bad' : 'info'} />
        <p class="hint">
          {bytes(one.kept.bytes)} of {bytes(one.kept.bytes_max)}
          {one.kept.refused > 0 ? `; ${count(one.kept.refused)} times there was no room` : ''}
        </p>
      </Panel>
      <Delays dpid={one.dpid} />
    </div>
  );
}

function WeightPanel({ one }: { one: Switch }): JSX.Element {
  const [weight, setOwn] = useState<number | null>(null);
  const shown = weight ?? one.weight;
  const save = async () => {
    try {
      await setWeight([one.dpid], shown);
      say('ok', `The weight of ${one.name || short(one.dpid)} is ${shown} from now on.`);
      setOwn(null);
      byPath<Switch>(`api/v1/switches/${one.dpid}`, 2000).soon(50);
    } catch (problem) {
      say('bad', sentence(problem));
    }
  };
  return (
    <Panel title="Weight" aside={<a href={href('performance')}>Performance of all</a>}>
      <p class="hint">What is due to it, compared to others. It counts at once, and no session is dropped.</p>
      <div class="row">
        <input
          type="range"
          min="1"
          max="64"
          aria-label="Weight"
          value={Math.min(64, shown)}
          onInput={(event) => setOwn(event.currentTarget.valueAsNumber)}
        />
        <input
          type="number"
          min="1"
          max="1000"
          aria-label="Weight as a number"
          value={shown}
          onInput={(event) => setOwn(Math.min(1000, Math.max(1, event.currentTarget.valueAsNumber || 1)))}
        />
        <Button kind="main" needs="write" disabled={weight === null || weight === one.weight} onClick={() => void save()}>
          Set
        </Button>
      </div>
    </Panel>
  );
}

function Happened({ dpid }: { dpid: string }): JSX.Element {
  const all = useCellEvery(events, 200);
  const mine = all.filter((event) => event.dpid === dpid || event.link?.a.dpid === dpid || event.link?.b.dpid === dpid).reverse();
  if (mine.length === 0) return <Empty title="Nothing happened here that is still kept" />;
  return (
    <Panel title="Newest first" flush>
      <ul class="log">
        {mine.slice(0, 300).map((event) => (
          <li key={event.id}>
            <time title={moment(event.at)}>{clock(event.at)}</time>
            <Chip tone={event.kind === 'refused' ? 'bad' : 'dim'}>{words(event.kind)}</Chip>
            <span>{event.text}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
