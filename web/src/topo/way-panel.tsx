// Host to host by two clicks: the way of a packet, drawn hop by hop.

import type { JSX, RefObject } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { sentence } from '../core/api';
import { hosts, links, nameOf } from '../core/network';
import { href, place, setQuery } from '../core/router';
import type { Host } from '../core/types';
import { Button, Chip } from '../ui/kit';
import { hostKey, hostName, type Model } from './model';
import type { Scene } from './scene';
import { followPacket, type Step, type Way } from './way';
import { actionWords, matchWords } from './words';

const STEP_MS = 420;

export interface WayState {
  isOn: boolean;
  from: Host | null;
  to: Host | null;
  way: Way | null;
  error: string | null;
  /** How many steps are drawn. */
  drawn: number;
  keys: ReadonlySet<string> | null;
  /** Of these, what routing has for a packet that no flow leads yet. */
  planned: ReadonlySet<string>;
  toggle: () => void;
  /** Takes a host that was clicked; whether it was wanted. */
  take: (key: string) => boolean;
  choose: (end: 'from' | 'to', host: Host | null) => void;
  again: () => void;
  hosts: readonly Host[];
}

export function useWay(model: Model): WayState {
  const [isOn, setOn] = useState(place.value.query['way'] === 'on');
  const [from, setFrom] = useState<Host | null>(null);
  const [to, setTo] = useState<Host | null>(null);
  const [way, setWay] = useState<Way | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [drawn, setDrawn] = useState(0);
  const asked = useRef(0);
  const run = useCallback(async (a: Host, b: Host) => {
    asked.current += 1;
    const mine = asked.current;
    setWay(null);
    setError(null);
    setDrawn(0);
    try {
      const found = await followPacket(a, b, links.value.data?.items ?? []);
      if (mine === asked.current) setWay(found);
    } catch (problem) {
      if (mine === asked.current) setError(sentence(problem));
    }
  }, []);
  useEffect(() => {
    if (from !== null && to !== null) void run(from, to);
  }, [from, to]);
  useEffect(() => {
    if (way === null || drawn >= way.steps.length) return;
    const timer = setTimeout(() => setDrawn(drawn + 1), drawn === 0 ? 60 : STEP_MS);
    return () => clearTimeout(timer);
  }, [way, drawn]);
  useAddress(isOn, from, to, (key) => model.leaves.get(key)?.host ?? null, (a, b) => (setFrom(a), setTo(b)));
  const reset = () => {
    asked.current += 1;
    setFrom(null);
    setTo(null);
    setWay(null);
    setError(null);
  };
  const keys = useMemo(() => (isOn ? drawnKeys(from, to, way, drawn) : null), [isOn, from, to, way, drawn]);
  const planned = useMemo(() => {
    const done = isOn && way !== null && drawn >= way.steps.length;
    const led = new Set(way?.steps.flatMap((step) => step.keys) ?? []);
    return new Set(done ? (way.planned ?? []).filter((key) => !led.has(key)) : []);
  }, [isOn, way, drawn]);
  return {
    isOn,
    from,
    to,
    way,
    error,
    drawn,
    keys,
    planned,
    toggle: () => {
      reset();
      setOn(!isOn);
    },
    take: (key) => {
      const host = model.leaves.get(key)?.host;
      if (!isOn || host === undefined) return false;
      if (from === null || to !== null) {
        reset();
        setFrom(host);
      } else if (hostKey(from) !== key) setTo(host);
      return true;
    },
    choose: (end, host) => (end === 'from' ? setFrom(host) : setTo(host)),
    again: () => {
      if (from !== null && to !== null) void run(from, to);
    },
    hosts: [...model.leaves.values()].map((leaf) => leaf.host),
  };
}

/** The address names both hosts, so that it can be shared, and the back button finds them again. */
function useAddress(isOn: boolean, from: Host | null, to: Host | null, find: (key: string) => Host | null, open: (from: Host, to: Host) => void): void {
  const { query } = place.value;
  const wanted = useRef(query['from'] && query['to'] ? [query['from'], query['to']] : null);
  useEffect(() => {
    if (wanted.current === null) return;
    if (from !== null || !isOn) wanted.current = null;
    const [a = null, b = null] = (wanted.current ?? []).map(find);
    // Hosts are told of a moment after the page came.
    if (a === null || b === null) return;
    wanted.current = null;
    open(a, b);
  });
  useEffect(() => {
    if (wanted.current !== null) return;
    const key = (host: Host | null) => (isOn && host !== null ? hostKey(host) : '');
    const next = { way: isOn ? 'on' : '', from: key(from), to: key(to) };
    const now = place.value.query;
    if (Object.entries(next).some(([name, value]) => (now[name] ?? '') !== value)) setQuery(next);
  }, [isOn, from, to]);
}

function drawnKeys(from: Host | null, to: Host | null, way: Way | null, drawn: number): ReadonlySet<string> | null {
  if (from === null) return null;
  const keys = new Set([hostKey(from)]);
  if (to !== null) keys.add(hostKey(to));
  if (way === null) return keys;
  keys.add(`spoke ${hostKey(way.from)}`);
  for (const step of way.steps.slice(0, drawn)) for (const key of step.keys) keys.add(key);
  if (drawn >= way.steps.length) for (const key of way.planned ?? []) keys.add(key);
  return keys;
}

interface PanelProps {
  way: WayState;
  scene: Scene | null;
  badges: RefObject<HTMLDivElement | null>;
}

export function WayPanel({ way: state, scene, badges }: PanelProps): JSX.Element {
  const { from, to, way, drawn } = state;
  useBadges(scene, badges, way, drawn);
  const done = way !== null && drawn >= way.steps.length;
  return (
    <aside class="hud hud-aside way" aria-label="The way of a packet">
      <header>
        <h2>Follow a packet</h2>
        <Button icon="close" kind="ghost" label="End (p)" onClick={state.toggle} />
      </header>
      <Picker label="From" host={from} all={state.hosts} onChoose={(host) => state.choose('from', host)} />
      <Picker label="To" host={to} all={state.hosts} onChoose={(host) => state.choose('to', host)} />
      {from === null || to === null ? (
        <p class="hint">Click a host in the picture, then another; or write their addresses, which count once hosts are known to have them.</p>
      ) : null}
      {state.error === null ? null : (
        <p class="trouble" role="alert">
          {state.error}
        </p>
      )}
      {way === null ? null : (
        <>
          <ol class="hops">
            {way.steps.slice(0, drawn).map((step) => (
              <HopLine key={step.at} step={step} />
            ))}
          </ol>
          {done ? (
            <p class={`verdict ${way.arrives ? 'ok' : 'warn'}`} role="status">
              {way.ends}
              {way.planned === null ? null : ' In blue is the way that routing has for it.'}
            </p>
          ) : null}
          <Button onClick={state.again}>Ask again</Button>
        </>
      )}
    </aside>
  );
}

function Picker(props: { label: string; host: Host | null; all: readonly Host[]; onChoose: (host: Host | null) => void }): JSX.Element {
  const id = `way-${props.label}`;
  const [text, setText] = useState('');
  useEffect(() => setText(props.host === null ? '' : hostName(props.host)), [props.host]);
  const find = (value: string) => props.all.find((host) => host.mac === value || host.ips.includes(value));
  const take = (value: string) => {
    setText(value);
    const found = find(value);
    if (found !== undefined) props.onChoose(found);
    // What a host says of its addresses is no event.
    else hosts.soon();
  };
  useEffect(() => {
    const found = props.host === null && text !== '' ? find(text) : undefined;
    if (found !== undefined) props.onChoose(found);
  }, [props.all]);
  return (
    <label class="field inline">
      <span>{props.label}</span>
      <input list={id} value={text} placeholder="a host’s address" onInput={(event) => take(event.currentTarget.value)} />
      <datalist id={id}>
        {props.all.slice(0, 200).map((host) => (
          <option key={hostKey(host)} value={hostName(host)} />
        ))}
      </datalist>
    </label>
  );
}

function HopLine({ step }: { step: Step }): JSX.Element {
  const { hop } = step;
  return (
    <li>
      <div class="hop-head">
        <i>{step.at + 1}</i>
        <a href={href('switches', hop.switch, 'flows')}>{nameOf(hop.switch)}</a>
        <span>in by port {hop.port}</span>
      </div>
      {hop.tables.map((decision, at) => (
        <div key={at} class="decision">
          <small>table {decision.table}</small>
          {decision.flow ? (
            <span>
              {matchWords(decision.flow.match)} <b>→ {actionWords(decision.flow)}</b>{' '}
              <Chip>priority {decision.flow.priority}</Chip> {decision.flow.owner ? <Chip tone="info">{decision.flow.owner}</Chip> : null}
            </span>
          ) : (
            <span>no flow fits: dropped</span>
          )}
        </div>
      ))}
      {hop.does.map((what) => (
        <div key={what} class="decision">
          {what}
        </div>
      ))}
    </li>
  );
}

/** The numbers of the hops, drawn above the picture where their switches are. */
function useBadges(scene: Scene | null, layer: RefObject<HTMLDivElement | null>, way: Way | null, drawn: number): void {
  useEffect(() => {
    const box = layer.current;
    if (scene === null || box === null || way === null) return;
    const marks = way.steps.slice(0, drawn).map((step) => {
      const mark = document.createElement('i');
      mark.textContent = String(step.at + 1);
      box.append(mark);
      return [mark, step.hop.switch] as const;
    });
    const set = () => {
      for (const [mark, dpid] of marks) {
        const at = scene.screen(dpid);
        if (at !== null) mark.style.transform = `translate(${at.x}px, ${at.y}px)`;
      }
    };
    set();
    scene.onFrame = set;
    return () => {
      scene.onFrame = () => {};
      box.replaceChildren();
    };
  }, [scene, way, drawn]);
}
