// The applications: which of them run, in which order they see each event, what they did, and what
// they publish. Those that come as a package are dropped here to be installed.

import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { byPath, useResource } from '../core/poll';
import type { App, Apps } from '../core/types';
import { bytes, count } from '../core/units';
import { Button, Chip, Figure, Figures, Panel, Pending } from '../ui/kit';
import { AppActions, Install, Order } from './app-actions';
import { InShadow } from './app-candidate';
import { wordsOf } from './app-states';

/** Counters of the answer before, for rates. */
type Before = { at: number; of: Map<string, number> };

export function Applications(): JSX.Element {
  const list = byPath<Apps>('api/v1/apps', 2000);
  const { data, error, at } = useResource(list);
  const again = () => void list.now();
  const [chosen, setChosen] = useState<string | null>(null);
  const before = useRef<Before>({ at: 0, of: new Map() });
  const rates = useMemo(() => {
    const sums = new Map((data?.apps ?? []).map((app) => [app.name, sum(app.counted?.events)]));
    const old = before.current;
    const span = (at - old.at) / 1000;
    const found = new Map([...sums].map(([name, now]) => [name, old.at > 0 && span > 0 ? Math.max(0, now - (old.of.get(name) ?? now)) / span : 0]));
    before.current = { at, of: sums };
    return found;
  }, [data]);
  if (data === null) return <Pending error={error} />;
  return (
    <div class="apps">
      <Install onDone={again} />
      <div class="cards">
        {data.apps.map((app) => (
          <Card key={app.name} app={app} rate={rates.get(app.name) ?? 0} isOn={chosen === app.name} onChoose={() => setChosen(chosen === app.name ? null : app.name)} onDone={again} />
        ))}
      </div>
      <Pipelines data={data} chosen={chosen} onDone={again} />
      <World data={data} chosen={chosen} />
    </div>
  );
}

const sum = (counts: Record<string, number> | undefined): number => Object.values(counts ?? {}).reduce((a, b) => a + b, 0);

interface CardProps {
  app: App;
  rate: number;
  isOn: boolean;
  onChoose: () => void;
  onDone: () => void;
}

function Card({ app, rate, isOn, onChoose, onDone }: CardProps): JSX.Element {
  const { counted } = app;
  const state = wordsOf(app.state);
  return (
    <article class={`card ${isOn ? 'on' : ''} ${state.tone === 'bad' ? 'failed' : ''}`}>
      <header>
        <h2>
          <button type="button" aria-expanded={isOn} onClick={onChoose}>
            {app.name}
          </button>
        </h2>
        {app.version ? <Chip title="The version of its package">{app.version}</Chip> : null}
        <Chip tone={state.tone} title={state.says}>
          {state.word}
        </Chip>
      </header>
      <p>{app.says}</p>
      {app.reason ? <p class={state.tone === 'bad' ? 'trouble' : 'hint'}>{app.reason}</p> : null}
      <Figures>
        <Figure name="Events" value={`${count(rate)}/s`} note={`${count(sum(counted?.events))} in all`} />
        <Figure name="Written" value={bytes(counted?.bytes_out ?? 0)} />
        {Object.entries(counted?.now ?? {}).slice(0, 3).map(([name, value]) => (
          <Figure key={name} name={name} value={count(value)} />
        ))}
      </Figures>
      {app.candidate ? <InShadow app={app} candidate={app.candidate} onDone={onDone} /> : null}
      {isOn ? <Detail app={app} /> : null}
      <AppActions app={app} onDone={onDone} />
    </article>
  );
}

function Detail({ app }: { app: App }): JSX.Element {
  const lists: readonly (readonly [string, Record<string, number> | undefined])[] = [
    ['Events that it was handed', app.counted?.events],
    ['What it counts itself', app.counted?.own],
  ];
  return (
    <div class="detail">
      {lists.map(([title, counts]) =>
        counts === undefined || Object.keys(counts).length === 0 ? null : (
          <section key={title}>
            <h3>{title}</h3>
            <dl class="counts">
              {Object.entries(counts).map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{count(value)}</dd>
                </div>
              ))}
            </dl>
          </section>
        ),
      )}
      <p class="hint">
        {app.exclusive ? 'It is alone with a switch.' : 'Several workers may run it over one switch at once.'}
        {app.reads.length > 0 ? ` Reads: ${app.reads.join(', ')}.` : ''}
        {app.publishes.length > 0 ? ` Publishes: ${app.publishes.join(', ')}.` : ''}
      </p>
    </div>
  );
}

interface PipelinesProps {
  data: Apps;
  chosen: string | null;
  onDone: () => void;
}

function Pipelines({ data, chosen, onDone }: PipelinesProps): JSX.Element {
  const [changed, setChanged] = useState<string | null>(null);
  const at = data.sequences.find((one) => one.on === changed);
  return (
    <Panel title="What sees which event, in order" aside="an application may stop an event for those behind it">
      <div class="pipelines">
        {data.sequences.map((one) => (
          <div key={one.on} class="pipeline">
            <span class="event">{one.on}</span>
            <ol>
              {one.apps.map((app) => (
                <li key={app} class={chosen === null ? '' : chosen === app ? 'on' : 'off'}>
                  {app}
                </li>
              ))}
            </ol>
            <Button kind="ghost" icon="edit" needs="admin" label={`Change the order for ${one.on}`} onClick={() => setChanged(one.on)} />
          </div>
        ))}
      </div>
      {at === undefined ? null : <Order on={at.on} data={data} onClose={() => setChanged(null)} onDone={onDone} />}
    </Panel>
  );
}

function World({ data, chosen }: { data: Apps; chosen: string | null }): JSX.Element {
  return (
    <Panel title="What they publish" aside="the World, which every application reads">
      <div class="world">
        {data.world.map((part) => {
          const readers = data.apps.filter((app) => app.reads.includes(part.name)).map((app) => app.name);
          const isOn = chosen !== null && (part.publisher === chosen || readers.includes(chosen));
          return (
            <div key={part.name} class={`part ${isOn ? 'on' : chosen === null ? '' : 'off'}`}>
              <b>{part.name}</b>
              <span>
                by {part.publisher}
                {part.made_of.length > 0 ? `, out of ${part.made_of.join(', ')}` : ''}
              </span>
              <span>{readers.length > 0 ? `read by ${readers.join(', ')}` : 'read over HTTP'}</span>
            </div>
          );
        })}
      </div>
    </Panel>
  );
}
