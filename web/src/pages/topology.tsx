// The network as a picture.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Kept, oneOf, useCell } from '../core/cell';
import { cuts, hosts, links, lost, rates, refusals, switches } from '../core/network';
import { useResource } from '../core/poll';
import { place, setQuery } from '../core/router';
import type { Host, Link, Switch } from '../core/types';
import { count } from '../core/units';
import { legend, looks, type Colouring } from '../topo/looks';
import { modelOf, type Model } from '../topo/model';
import { palette } from '../topo/palette';
import { Scene } from '../topo/scene';
import { traffic, useSpeeds, type Traffic } from '../topo/traffic';
import { Button, Choice, Pending } from '../ui/kit';
import { isDark } from '../ui/theme';
import { Aside } from '../topo/aside';
import { NothingConnected } from '../topo/nothing';
import { WayPanel, useWay } from '../topo/way-panel';

const colouring = new Kept<Colouring>('colouring', 'role', oneOf('role', 'load', 'delay', 'errors', 'worker'));
const showsHosts = new Kept<'yes' | 'no'>('hosts', 'yes', oneOf('yes', 'no'));

const NONE: readonly never[] = [];

export function Topology(): JSX.Element {
  const up = useResource(switches);
  const between = useResource(links);
  const seen = useResource(hosts);
  const gone = { cuts: useCell(cuts), lost: useCell(lost) };
  const isShown = useCell(showsHosts) === 'yes';
  const model = useMemo(
    () =>
      modelOf(
        (up.data?.items ?? NONE) as readonly Switch[],
        (between.data?.items ?? NONE) as readonly Link[],
        (isShown ? seen.data?.items ?? NONE : NONE) as readonly Host[],
        gone.cuts,
        gone.lost,
      ),
    [up.data, between.data, seen.data, gone.cuts, gone.lost, isShown],
  );
  if (up.data === null) return <Pending error={up.error} hint="Start the controller with: aldis run" />;
  if (up.data.total === 0 && model.nodes.size === 0) return <NothingConnected />;
  return <Picture model={model} lacksLinks={between.error?.status === 404} />;
}

function Picture({ model, lacksLinks }: { model: Model; lacksLinks: boolean }): JSX.Element {
  const { query } = useCell(place);
  const chosen = query['at'] ?? null;
  const text = (query['find'] ?? '').toLowerCase();
  const [hovered, setHovered] = useState<string | null>(null);
  const way = useWay(model);
  const found = useMemo(() => (text === '' ? null : findIn(model, text)), [model, text]);
  const flowing = useTraffic(model);
  const { box, scene, shape } = useScene({ model, chosen, found, flowing, way: way.keys, planned: way.planned, onHover: setHovered, onHost: way.take });
  useKeys(scene, way.toggle);
  const badges = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (scene !== null && chosen !== null) scene.focus(chosen);
  }, [scene, chosen]);
  useEffect(() => {
    if (scene !== null && found !== null && found.size > 0 && found.size < 40) scene.focus([...found][0]!);
  }, [scene, found]);
  return (
    <div class="picture">
      <div class={`stage ${hovered === null ? '' : 'over'}`} ref={box} tabIndex={0} role="application" aria-label={describe(model, shape)} />
      <div class="badges" ref={badges} aria-hidden="true" />
      <Controls scene={scene} shape={shape} model={model} isFollowing={way.isOn} onFollow={way.toggle} lacksLinks={lacksLinks} flows={flowing !== null} />
      {way.isOn ? <WayPanel way={way} scene={scene} badges={badges} /> : <Aside chosen={chosen} model={model} flowing={flowing} />}
      {hovered !== null ? <Hover of={hovered} model={model} scene={scene} /> : null}
    </div>
  );
}

function describe(model: Model, shape: string): string {
  const down = [...model.edges.values()].filter((edge) => edge.state === 'cut').length;
  return `${model.nodes.size} switches (${shape}), ${model.edges.size} links of which ${down} are down, ${model.leaves.size} hosts. Search with the slash key to choose one.`;
}

/** What carries traffic; asked for while a monitor runs and the network is not too large for it. */
function useTraffic(model: Model): Traffic | null {
  const isSmall = model.nodes.size <= 400;
  const { data } = useCell(traffic);
  useEffect(() => (isSmall ? traffic.use() : undefined), [isSmall]);
  return isSmall ? data : null;
}

function findIn(model: Model, text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const node of model.nodes.values()) {
    if (`${node.label} ${node.dpid}`.toLowerCase().includes(text)) found.add(node.dpid);
  }
  for (const leaf of model.leaves.values()) {
    if (`${leaf.host.mac} ${leaf.host.ips.join(' ')}`.toLowerCase().includes(text)) found.add(leaf.key);
  }
  return found;
}

interface SceneProps {
  model: Model;
  chosen: string | null;
  found: ReadonlySet<string> | null;
  flowing: Traffic | null;
  way: ReadonlySet<string> | null;
  planned: ReadonlySet<string>;
  onHover: (key: string | null) => void;
  onHost: (key: string) => boolean;
}

function useScene(props: SceneProps) {
  const box = useRef<HTMLDivElement>(null);
  const [scene, setScene] = useState<Scene | null>(null);
  const [shape, setShape] = useState<string>('');
  const dark = useCell(isDark);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const made = new Scene(box.current!, palette(isDark.value), {
      onNode: (dpid) => setQuery({ at: latest.current.chosen === dpid ? '' : dpid }),
      onHost: (key) => {
        if (!latest.current.onHost(key)) setQuery({ at: latest.current.chosen === key ? '' : key });
      },
      onGround: () => setQuery({ at: '' }),
      onHover: (key) => latest.current.onHover(key),
    });
    made.onArranged = () => setShape(made.kind);
    // What tests/web/frames.mjs measures.
    Object.assign(globalThis, { aldisScene: made });
    setScene(made);
    return () => made.kill();
  }, []);
  useEffect(() => scene?.recolour(palette(dark)), [dark]);
  const look = useLook(props, scene);
  useEffect(() => {
    if (scene === null) return;
    scene.show(props.model, look);
    if (scene.kind === 'single' && props.model.nodes.size > 1) scene.judge();
  }, [scene, look]);
  return { box, scene, shape };
}

function useLook({ model, chosen, found, flowing, way, planned }: SceneProps, scene: Scene | null) {
  const dark = useCell(isDark);
  const by = useCell(colouring);
  const now = useCell(rates);
  const errors = useCell(refusals);
  const speeds = useSpeeds(flowing !== null);
  const homes = useMemo(() => new Set([...model.leaves.values()].map((leaf) => leaf.dpid)), [model]);
  // The rates matter to some colours alone.
  const live = by === 'load' || by === 'delay' ? now : null;
  return useMemo(
    () =>
      looks({
        colours: palette(dark),
        model,
        colouring: by,
        rates: now,
        refusals: errors,
        layer: scene?.layer ?? new Map(),
        homes,
        traffic: flowing,
        speeds,
        chosen,
        found,
        way,
        planned,
      }),
    [dark, model, by, live, errors, homes, flowing, speeds, chosen, found, way, planned, scene, scene?.layer],
  );
}

function useKeys(scene: Scene | null, follow: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (scene === null || event.ctrlKey || event.metaKey || /^(input|textarea|select)$/i.test(target.tagName)) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const moves: Record<string, () => void> = {
        '+': () => scene.zoom(0.7),
        '=': () => scene.zoom(0.7),
        '-': () => scene.zoom(1.4),
        '0': () => scene.whole(),
        p: follow,
        Escape: () => setQuery({ at: '', find: '' }),
        ArrowLeft: () => scene.pan(-0.08, 0),
        ArrowRight: () => scene.pan(0.08, 0),
        ArrowUp: () => scene.pan(0, 0.08),
        ArrowDown: () => scene.pan(0, -0.08),
      };
      const isArrow = event.key.startsWith('Arrow');
      if (isArrow && !target.classList.contains('stage') && target !== document.body) return;
      const move = moves[event.key];
      if (move === undefined) return;
      event.preventDefault();
      move();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [scene, follow]);
}

interface ControlsProps {
  scene: Scene | null;
  shape: string;
  model: Model;
  isFollowing: boolean;
  onFollow: () => void;
  lacksLinks: boolean;
  flows: boolean;
}

function Controls({ scene, shape, model, isFollowing, onFollow, lacksLinks, flows }: ControlsProps): JSX.Element {
  const by = useCell(colouring);
  const { query } = useCell(place);
  const dark = useCell(isDark);
  const isShown = useCell(showsHosts) === 'yes';
  const layers = new Set(scene?.layer.values() ?? []).size;
  const down = [...model.edges.values()].filter((edge) => edge.state === 'cut').length;
  return (
    <>
      <div class="hud hud-top">
        <input
          type="search"
          aria-label="Find in the picture"
          placeholder="Find in the picture"
          value={query['find'] ?? ''}
          onInput={(event) => setQuery({ find: event.currentTarget.value })}
        />
        <Choice
          label="Colours"
          value={by}
          of={[['role', 'Role'], ['load', 'Load'], ['delay', 'Delay'], ['errors', 'Errors'], ['worker', 'Worker']]}
          onChange={(next) => colouring.set(next)}
        />
        <Button icon="route" kind={isFollowing ? 'main' : 'plain'} pressed={isFollowing} onClick={onFollow} label="Follow a packet between two hosts (p)">
          Follow a packet
        </Button>
      </div>
      <div class="hud hud-left">
        <Button icon="plus" label="Nearer (+)" onClick={() => scene?.zoom(0.7)} />
        <Button icon="minus" label="Farther (−)" onClick={() => scene?.zoom(1.4)} />
        <Button icon="whole" label="All of it (0)" onClick={() => scene?.whole()} />
        <Button icon="magic" label="Arrange anew" onClick={() => scene?.rearrange(true)} />
        <Button icon="hosts" label={isShown ? 'Hide hosts' : 'Show hosts'} pressed={isShown} onClick={() => showsHosts.set(isShown ? 'no' : 'yes')} />
      </div>
      <div class="hud hud-bottom">
        {shape === '' || shape === 'single' ? null : <b class="shape">{shape}</b>}
        {legend(palette(dark), by, layers).map(([color, what]) => (
          <span key={what}>
            <i style={{ background: color }} />
            {what}
          </span>
        ))}
        {flows ? (
          <span>
            <i class="scale" />
            links, by what they carry
          </span>
        ) : null}
        {down === 0 ? null : (
          <span class="down">
            <i class="line" />
            {count(down)} {down === 1 ? 'link' : 'links'} down
          </span>
        )}
        {lacksLinks ? <span class="lacks">No application looks for links: run with the application topology</span> : null}
      </div>
    </>
  );
}

function Hover({ of, model, scene }: { of: string; model: Model; scene: Scene | null }): JSX.Element | null {
  const at = scene?.screen(of);
  const node = model.nodes.get(of);
  const host = model.leaves.get(of)?.host;
  const now = useCell(rates).get(of);
  if (at === null || at === undefined) return null;
  return (
    <div class="hover" style={{ transform: `translate(${at.x + 16}px, ${at.y + 14}px)` }}>
      {node === undefined ? null : (
        <>
          <b>{node.label}</b>
          <span>{node.up ? `OpenFlow ${node.of?.version} · ${node.of?.ports_up} of ${node.of?.ports} ports up` : 'not connected'}</span>
          {now === undefined ? null : <span>{count(now.requests)} requests/s</span>}
        </>
      )}
      {host === undefined ? null : (
        <>
          <b>{host.ips[0] ?? host.mac}</b>
          <span>{host.mac}</span>
          <span>
            {host.vlan === 0 ? '' : `VLAN ${host.vlan} · `}port {host.port}
          </span>
        </>
      )}
    </div>
  );
}

