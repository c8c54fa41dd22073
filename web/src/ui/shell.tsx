// What is around every page: where one is, what the network does now, search, help and log-in.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { keyName, logIn, logOut, needsKey } from '../core/api';
import { Cell, useCell } from '../core/cell';
import { connection, eventCount, lostWhy } from '../core/live';
import { me } from '../core/me';
import { health, rates, switches } from '../core/network';
import { byPath, useResource } from '../core/poll';
import { go, href, place } from '../core/router';
import { count, seconds } from '../core/units';
import { Icon, Lamp, type IconName } from './icons';
import { Button, Dialog, Field, Toasts } from './kit';
import { isDark, toggle } from './theme';
import { Search } from './search';

export const PAGES: readonly (readonly [string, string, IconName])[] = [
  ['topology', 'Topology', 'topology'],
  ['switches', 'Switches', 'switches'],
  ['hosts', 'Hosts', 'hosts'],
  ['performance', 'Performance', 'performance'],
  ['apps', 'Applications', 'apps'],
  ['static-flows', 'Static flows', 'flows'],
  ['acl', 'Rules', 'acl'],
  ['events', 'Events', 'events'],
  ['log', 'Log', 'log'],
  ['reports', 'Laboratory', 'reports'],
  ['settings', 'Settings', 'settings'],
];

export const searching = new Cell(false);
const helping = new Cell(false);

export function Shell({ children }: { children: ComponentChildren }): JSX.Element {
  const { page } = useCell(place);
  useKeys();
  return (
    <div class={`shell ${page === 'topology' ? 'full' : ''}`}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById('main')?.focus())}>
        To the page
      </a>
      <Rail page={page} />
      <Top />
      <main id="main" tabIndex={-1}>
        <Lost />
        <Outdated />
        {children}
      </main>
      <Toasts />
      {useCell(searching) ? <Search onClose={() => searching.set(false)} /> : null}
      {useCell(helping) ? <Help /> : null}
      {useCell(needsKey) === null ? null : <LogIn />}
    </div>
  );
}

function Rail({ page }: { page: string }): JSX.Element {
  const [all, setAll] = useState(false);
  return (
    <nav class={`rail ${all ? 'all' : ''}`} aria-label="Pages">
      <a class="brand" href={href('topology')} aria-label="Aldis">
        <LiveLamp />
      </a>
      {PAGES.map(([key, title, icon]) => (
        <a key={key} href={href(key)} class={page === key ? 'on' : ''} aria-current={page === key ? 'page' : undefined} onClick={() => setAll(false)}>
          <Icon name={icon} size={20} />
          <span>{title}</span>
        </a>
      ))}
      <button class="more" type="button" onClick={() => setAll(!all)} aria-expanded={all}>
        <Icon name="more" size={20} />
        <span>More</span>
      </button>
    </nav>
  );
}

/** The lamp is lit while events come, and flashes with each. */
function LiveLamp(): JSX.Element {
  const state = useCell(connection);
  const events = useCell(eventCount);
  const [flash, setFlash] = useState(false);
  useEffect(() => {
    if (events === 0) return;
    setFlash(true);
    const end = setTimeout(() => setFlash(false), 220);
    return () => clearTimeout(end);
  }, [events]);
  return (
    <span class={`lamp ${state} ${flash ? 'flash' : ''}`} title={state === 'live' ? 'Events come as they happen' : 'No events come now'}>
      <Lamp />
    </span>
  );
}

function Top(): JSX.Element {
  const { page } = useCell(place);
  const title = PAGES.find(([key]) => key === page)?.[1] ?? 'Not found';
  const key = useCell(keyName);
  const role = useResource(me).data?.role;
  return (
    <header class="top">
      <h1>{title}</h1>
      <button class="search-field" type="button" onClick={() => searching.set(true)} aria-label="Search switches, hosts, pages">
        <Icon name="search" size={16} />
        <span>Search switches, hosts, pages</span>
        <kbd aria-hidden="true">/</kbd>
      </button>
      <Pulse />
      <div class="top-tools">
        {key === null ? null : (
          <Button icon="user" kind="ghost" label={`Log out ${key}`} onClick={logOut}>
            <span class="wide-only">
              {key}
              {role === undefined ? '' : ` · ${role}`}
            </span>
          </Button>
        )}
        <Button icon={useCell(isDark) ? 'sun' : 'moon'} kind="ghost" label="Dark or light (t)" onClick={toggle} />
        <Button icon="help" kind="ghost" label="Help (?)" onClick={() => helping.set(true)} />
      </div>
    </header>
  );
}

/** The numbers that are always in sight. */
function Pulse(): JSX.Element {
  const alive = useResource(health);
  const up = useResource(switches);
  let requests = 0;
  for (const one of useCell(rates).values()) requests += one.requests;
  const figures: readonly (readonly [string, string, string])[] = [
    ['switches', count(up.data?.total ?? alive.data?.switches), href('switches')],
    ['links', count(alive.data?.links), href('topology')],
    ['hosts', count(alive.data?.hosts), href('hosts')],
    ['requests/s', count(requests), href('performance')],
  ];
  return (
    <div class="pulse">
      {figures.map(([name, value, to]) => (
        <a key={name} href={to}>
          <b>{value}</b>
          <span>{name}</span>
        </a>
      ))}
      <span class="since wide-only" title="Since the controller started">
        up {alive.data === null ? '–' : seconds(alive.data.up_for_s)}
      </span>
    </div>
  );
}

function Lost(): JSX.Element | null {
  const state = useCell(connection);
  const why = useCell(lostWhy);
  const { error } = useCell(health);
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (state === 'live') return setLate(false);
    const timer = setTimeout(() => setLate(true), 1500);
    return () => clearTimeout(timer);
  }, [state]);
  if (useCell(needsKey) !== null || (!late && error === null)) return null;
  return (
    <div class="offline" role="alert">
      <strong>{error === null ? 'Reconnecting' : 'The controller does not answer'}</strong>
      <span>
        {error?.message ?? why} What is shown is from before. Start it with <code>aldis run</code>; the page comes back by itself.
      </span>
    </div>
  );
}

/** A page that was open while its controller was replaced. */
function Outdated(): JSX.Element | null {
  const now = useResource(byPath<{ aldis: string }>('api/v1/version', 30_000)).data?.aldis;
  const [first, setFirst] = useState<string | undefined>(undefined);
  useEffect(() => setFirst((known) => known ?? now), [now]);
  if (first === undefined || now === undefined || first === now) return null;
  return (
    <div class="offline newer" role="status">
      <strong>The controller is Aldis {now} now</strong>
      <span>This page came with {first}.</span>
      <Button onClick={() => location.reload()}>Load the new page</Button>
    </div>
  );
}

function LogIn(): JSX.Element {
  const why = useCell(needsKey);
  const [kind, setKind] = useState<'token' | 'user'>('token');
  const [token, setToken] = useState('');
  const [user, setUser] = useState('');
  const [password, setPassword] = useState('');
  const ref = useRef<HTMLDialogElement>(null);
  // Above whatever dialog is open: what was typed there stays.
  useEffect(() => {
    ref.current?.showModal();
    return () => ref.current?.close();
  }, []);
  const enter = (event: Event) => {
    event.preventDefault();
    logIn(kind === 'token' ? { token } : { user, password });
  };
  return (
    <dialog ref={ref} class="login" aria-label="Log in" onCancel={(event) => event.preventDefault()}>
      <form onSubmit={enter}>
        <Lamp size={44} />
        <h2>Log in to this controller</h2>
        <p class="why">{why}</p>
        <div class="choice" role="radiogroup" aria-label="Kind of key">
          <button type="button" role="radio" aria-checked={kind === 'token'} class={kind === 'token' ? 'on' : ''} onClick={() => setKind('token')}>
            Token
          </button>
          <button type="button" role="radio" aria-checked={kind === 'user'} class={kind === 'user' ? 'on' : ''} onClick={() => setKind('user')}>
            Name and password
          </button>
        </div>
        {kind === 'token' ? (
          <Field label="Token" hint="NAME.SECRET, as “aldis http token” printed it">
            <input type="password" autocomplete="off" required value={token} onInput={(event) => setToken(event.currentTarget.value)} />
          </Field>
        ) : (
          <>
            <Field label="Name">
              <input autocomplete="username" required value={user} onInput={(event) => setUser(event.currentTarget.value)} />
            </Field>
            <Field label="Password">
              <input type="password" autocomplete="current-password" required value={password} onInput={(event) => setPassword(event.currentTarget.value)} />
            </Field>
          </>
        )}
        <Button type="submit" kind="main">
          Log in
        </Button>
        <p class="hint">The key stays in this tab and is gone with it.</p>
      </form>
    </dialog>
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['?', 'This help'],
  ['t', 'Dark or light'],
  ['g then a letter', 'Go to a page: t topology, s switches, h hosts, p performance, a applications, f static flows, r rules, e events, l log'],
  ['Esc', 'Close; on the topology: let go of what is chosen'],
  ['+ − 0', 'On the topology: nearer, farther, all of it'],
  ['arrows', 'On the topology: move'],
  ['p', 'On the topology: follow a packet between two hosts'],
];

function Help(): JSX.Element {
  return (
    <Dialog title="Keys, and where to go on" onClose={() => helping.set(false)}>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <p>
        Everything here comes from the API of the controller: <a href="api/docs">its description</a>, <a href="metrics">its metrics</a>.
        Whatever this page does, a script can do.
      </p>
    </Dialog>
  );
}

const GO: Record<string, string> = { t: 'topology', s: 'switches', h: 'hosts', p: 'performance', a: 'apps', f: 'static-flows', r: 'acl', e: 'events', l: 'log' };

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName));

function useKeys(): void {
  useEffect(() => {
    // When `g` was pressed last.
    let goes = -Infinity;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || needsKey.value !== null) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const next = performance.now() - goes < 1200 ? GO[event.key] : undefined;
      goes = -Infinity;
      if (next !== undefined) go(href(next));
      else if (event.key === '/') searching.set(true);
      else if (event.key === '?') helping.set(true);
      else if (event.key === 't') toggle();
      else if (event.key === 'g') goes = performance.now();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
