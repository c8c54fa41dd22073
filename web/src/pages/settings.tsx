// What the controller is, what it was told, and what can be changed while it runs.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask, sentence } from '../core/api';
import { useCell } from '../core/cell';
import { health, theme, type Theme } from '../core/network';
import { byPath, useResource } from '../core/poll';
import type { Design, WeightRules } from '../core/types';
import { moment, seconds } from '../core/units';
import { Button, Chip, Choice, Figure, Figures, Panel, Pending, say } from '../ui/kit';
import { Knob } from './knob';

const KNOBS: Record<string, string> = {
  batching: 'When a batch is large enough: at each read, at a fixed number of requests, or as the load asks for.',
  'bdu-us': 'The longest that one batch may take, in microseconds (BDU).',
  'core-binding': 'Whether each worker stays on a core of its own.',
  'hysteresis-pct':
    'How much the busiest worker has to get rid of before a dynamic partition moves any switch, in percent of what it has.',
  ibt: 'How many requests a worker gathers before it runs a batch (IBT).',
  'io-threads': 'Threads that read where the design has a shared queue.',
  'max-read-bytes': 'The most bytes that one read takes.',
  'output-batching': 'Whether what is written to a switch waits for the end of the batch.',
  'period-ms': 'How often a dynamic partition divides switches anew.',
  priorities: 'Whether what is urgent of a switch passes what waits of it.',
  prt: 'Requests in the shared queue above which reading pauses (PRT).',
  'request-binding': 'Whether one worker does all of a request from parsing on.',
  shed: 'Whether the requests of a port that floods are dropped above the share of its switch.',
  write: 'Whether answers are written once a visit, or one by one.',
};

export function Settings(): JSX.Element {
  return (
    <div class="columns">
      <div class="stack">
        <About />
        <Page />
        <Weights />
        <Reload />
      </div>
      <Knobs />
    </div>
  );
}

function About(): JSX.Element {
  const { data } = useResource(health);
  const version = useResource(byPath<{ aldis: string; openflow: string[] }>('api/v1/version', 60_000));
  return (
    <Panel title="This controller">
      <Figures>
        <Figure name="Aldis" value={version.data?.aldis ?? '–'} />
        <Figure name="OpenFlow" value={version.data?.openflow.join(', ') ?? '–'} />
        <Figure name="Runs" value={data === null ? '–' : seconds(data.up_for_s)} note={data === null ? '' : `since ${moment(data.up_since)}`} />
        <Figure name="Switches" value={data?.switches ?? '–'} />
      </Figures>
      <p class="row">
        <a class="button plain" href="api/docs">
          The API
        </a>
        <a class="button plain" href="metrics">
          Metrics
        </a>
        <a class="button plain" href="api/v1/openapi.json">
          OpenAPI
        </a>
      </p>
    </Panel>
  );
}

function Page(): JSX.Element {
  return (
    <Panel title="This page">
      <Choice<Theme>
        label="Colours"
        value={useCell(theme)}
        of={[['system', 'As the system'], ['dark', 'Dark'], ['light', 'Light']]}
        onChange={(next) => theme.set(next)}
      />
      <p class="hint">
        Times are in the zone of this browser: {Intl.DateTimeFormat().resolvedOptions().timeZone}. The places of switches in the picture are kept in
        this browser.
      </p>
    </Panel>
  );
}

function Knobs(): JSX.Element {
  const { data, error } = useResource(byPath<Design>('api/v1/design', 10_000));
  return (
    <Panel title="Design" aside={data?.design}>
      {data === null ? (
        <Pending error={error} />
      ) : (
        <dl class="settings">
          {Object.entries(data.knobs).map(([name, value]) => (
            <div key={name}>
              <dt>
                <code>{name}</code> <Knob name={name} value={value} />
              </dt>
              <dd>{KNOBS[name] ?? ''}</dd>
            </div>
          ))}
        </dl>
      )}
      <p class="hint">
        Knobs are set with <code>--set</code> or in the configuration. What is set here counts until the controller ends, or reads its configuration again.
      </p>
    </Panel>
  );
}

function Weights(): JSX.Element {
  const { data, error } = useResource(byPath<WeightRules>('api/v1/weights', 5000));
  return (
    <Panel title="Weights" aside={<a href="#/performance">see them act</a>}>
      {data === null ? (
        <Pending error={error} />
      ) : data.rules.length === 0 ? (
        <p class="hint">No rule: every switch is due the same.</p>
      ) : (
        <ol class="rules small">
          {data.rules.slice(0, 100).map((rule, at) => (
            <li key={`${rule.switches} ${at}`}>
              <i>{at + 1}</i>
              <code>{rule.switches}</code>
              <b>{rule.weight}</b>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

function Reload(): JSX.Element {
  const [said, setSaid] = useState<{ applied: string[]; waiting: string[] } | null>(null);
  const [error, setError] = useState<string | null>(null);
  const reload = async () => {
    setError(null);
    try {
      setSaid(await ask('api/v1/reload', { method: 'POST' }));
      say('ok', 'The configuration was read again.');
    } catch (problem) {
      setError(sentence(problem));
    }
  };
  return (
    <Panel title="Configuration">
      <p class="hint">Reads the configuration file again and applies what is different, as the signal HUP does.</p>
      <Button needs="admin" onClick={() => void reload()}>Read it again</Button>
      {error === null ? null : (
        <p class="trouble" role="alert">
          {error}
        </p>
      )}
      {said === null ? null : (
        <ul class="plain-list">
          {said.applied.map((line) => (
            <li key={line}>
              <Chip tone="ok">counts</Chip> {line}
            </li>
          ))}
          {said.waiting.map((line) => (
            <li key={line}>
              <Chip tone="warn">after a restart</Chip> {line}
            </li>
          ))}
          {said.applied.length + said.waiting.length === 0 ? <li>Nothing is different.</li> : null}
        </ul>
      )}
    </Panel>
  );
}
