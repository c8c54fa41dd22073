// What a person does with applications: install, start, stop, replace, remove, and put in order.

import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { ask, sentence } from '../core/api';
import { useLacks } from '../core/me';
import { byPath, useResource } from '../core/poll';
import { href } from '../core/router';
import type { App, Apps } from '../core/types';
import { Button, Dialog, Empty, Pending, say } from '../ui/kit';
import { Shadow } from './app-candidate';

export const pathOf = (name: string) => `api/v1/apps/${encodeURIComponent(name)}`;

/** Does something that takes a moment; what became of it is said at the edge of the page. */
export async function attempt(what: () => Promise<unknown>, done: string, then: () => void): Promise<boolean> {
  try {
    await what();
    say('ok', done);
    return true;
  } catch (problem) {
    say('bad', sentence(problem));
    return false;
  } finally {
    then();
  }
}

export function AppActions({ app, onDone }: { app: App; onDone: () => void }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [open, setOpen] = useState<'log' | 'remove' | 'shadow' | null>(null);
  const act = async (what: () => Promise<unknown>, done: string) => {
    setBusy(true);
    await attempt(what, done, onDone);
    setBusy(false);
  };
  const tell = (how: 'start' | 'stop') => () => ask(`${pathOf(app.name)}/${how}`, { method: 'POST', body: {} });
  const runs = app.state === 'running' || app.state === 'restarting';
  const isPackage = typeof app.version === 'string';
  return (
    <footer class="actions">
      {runs ? (
        <Button needs="admin" disabled={busy} onClick={() => void act(tell('stop'), `${app.name} is stopped: no worker calls it any more.`)}>
          Stop
        </Button>
      ) : (
        <Button kind="main" needs="admin" disabled={busy} onClick={() => void act(tell('start'), `${app.name} runs on every worker.`)}>
          Start
        </Button>
      )}
      {typeof app.page === 'string' ? (
        <a class="button" href={href('apps', app.name)} aria-label={`Page of ${app.name}`}>
          Page
        </a>
      ) : null}
      {isPackage ? (
        <>
          <FileButton
            disabled={busy}
            onFile={(file) => void act(() => ask(pathOf(app.name), { method: 'PUT', body: file }), `${app.name} was replaced; no request was lost.`)}
          >
            Replace
          </FileButton>
          <Button needs="admin" onClick={() => setOpen('shadow')}>
            Shadow
          </Button>
          <Button onClick={() => setOpen('log')}>Log</Button>
          <Button kind="danger" needs="admin" disabled={busy} onClick={() => setOpen('remove')}>
            Remove
          </Button>
        </>
      ) : null}
      {open === 'shadow' ? <Shadow app={app} onClose={() => setOpen(null)} onDone={onDone} /> : null}
      {open === 'log' ? <Log name={app.name} onClose={() => setOpen(null)} /> : null}
      {open === 'remove' ? (
        <Dialog title={`Remove ${app.name}?`} onClose={() => setOpen(null)}>
          <p>It is gone from the controller and from its folder. Flows that it installed stay on their switches.</p>
          <div class="row">
            <Button
              kind="danger"
              onClick={() => {
                setOpen(null);
                void act(() => ask(pathOf(app.name), { method: 'DELETE' }), `${app.name} is removed.`);
              }}
            >
              Remove it
            </Button>
            <Button onClick={() => setOpen(null)}>Keep it</Button>
          </div>
        </Dialog>
      ) : null}
    </footer>
  );
}

export function FileButton(props: { children: string; disabled?: boolean; onFile: (file: File) => void }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button needs="admin" disabled={props.disabled} onClick={() => input.current?.click()}>
        {props.children}
      </Button>
      <input
        ref={input}
        type="file"
        accept=".app"
        hidden
        aria-label={`${props.children}: the package`}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = '';
          if (file !== undefined) props.onFile(file);
        }}
      />
    </>
  );
}

/** A place to drop a package. */
export function Install({ onDone }: { onDone: () => void }): JSX.Element {
  const [over, setOver] = useState(false);
  const [busy, setBusy] = useState<string | null>(null);
  const lacks = useLacks('admin');
  const install = async (file: File) => {
    setBusy(file.name);
    await attempt(() => ask('api/v1/apps', { method: 'POST', body: file }), `${file.name} is installed, and runs.`, onDone);
    setBusy(null);
  };
  return (
    <div
      class={`install ${over ? 'over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const file = event.dataTransfer?.files[0];
        if (lacks !== null) say('warn', lacks);
        else if (file !== undefined) void install(file);
      }}
    >
      <span role="status">
        {busy === null ? (
          <>
            Drop a package here to install it: <code>aldis app build</code> makes one.
          </>
        ) : (
          `${busy} is checked and compiled…`
        )}
      </span>
      <FileButton disabled={busy !== null} onFile={(file) => void install(file)}>
        Install
      </FileButton>
    </div>
  );
}

interface AppLog {
  lines: { warns: boolean; text: string }[];
}

function Log({ name, onClose }: { name: string; onClose: () => void }): JSX.Element {
  const { data, error } = useResource(byPath<AppLog>(`${pathOf(name)}/log`, 2000));
  return (
    <Dialog title={`What ${name} wrote to the log`} onClose={onClose} wide>
      {data === null ? (
        <Pending error={error} />
      ) : data.lines.length === 0 ? (
        <Empty title="No line yet">Lines of its standard output come here, too.</Empty>
      ) : (
        <pre class="log">{data.lines.map((line) => `${line.warns ? 'warning  ' : ''}${line.text}`).join('\n')}</pre>
      )}
    </Dialog>
  );
}

interface OrderProps {
  on: string;
  data: Apps;
  onClose: () => void;
  onDone: () => void;
}

/** The order of the applications for one event, changed by arrows or by dragging. */
export function Order({ on, data, onClose, onDone }: OrderProps): JSX.Element {
  const [order, setOrder] = useState(data.sequences.find((one) => one.on === on)?.apps ?? []);
  const dragged = useRef<number | null>(null);
  const left = data.apps.filter((app) => app.starts_on.includes(on) && !order.includes(app.name));
  const move = (from: number, to: number) => {
    const next = [...order];
    const [one] = next.splice(from, 1);
    if (one === undefined || to < 0 || to > next.length) return;
    next.splice(to, 0, one);
    setOrder(next);
  };
  const path = `api/v1/sequences/${encodeURIComponent(on)}`;
  const save = async (what: () => Promise<unknown>, done: string) => {
    if (await attempt(what, done, onDone)) onClose();
  };
  return (
    <Dialog title={`Who sees ${on}, in order`} onClose={onClose}>
      <ol class="order">
        {order.map((name, at) => (
          <li
            key={name}
            draggable
            onDragStart={() => {
              dragged.current = at;
            }}
            onDragOver={(event) => event.preventDefault()}
            onDrop={() => {
              if (dragged.current !== null) move(dragged.current, at);
              dragged.current = null;
            }}
          >
            <span>{name}</span>
            <Button kind="ghost" icon="earlier" label={`${name} earlier`} disabled={at === 0} onClick={() => move(at, at - 1)} />
            <Button kind="ghost" icon="later" label={`${name} later`} disabled={at === order.length - 1} onClick={() => move(at, at + 1)} />
            <Button kind="ghost" icon="close" label={`${name} does not see it`} onClick={() => setOrder(order.filter((other) => other !== name))} />
          </li>
        ))}
      </ol>
      {left.length === 0 ? null : (
        <p class="row">
          {left.map((app) => (
            <Button key={app.name} icon="plus" onClick={() => setOrder([...order, app.name])}>
              {app.name}
            </Button>
          ))}
        </p>
      )}
      <p class="hint">It counts at once, on every worker between two batches, until the controller restarts.</p>
      <div class="row">
        <Button kind="main" onClick={() => void save(() => ask(path, { method: 'PUT', body: { apps: order } }), `${on} has another order.`)}>
          Use this order
        </Button>
        <Button onClick={() => void save(() => ask(path, { method: 'DELETE' }), `${on} has its usual order again.`)}>The usual one</Button>
      </div>
    </Dialog>
  );
}
