// The picture itself: a graph that sigma draws with WebGL, kept equal to the model with as few changes
// as there are.

import Graph from 'graphology';
import type Sigma from 'sigma';
import { Picture } from './canvas';
import { around, arrange, keep, load, netOf, placeNew, type Pictured, type Point } from './layout';
import { hostLabel, type Edge, type Model } from './model';
import type { Palette } from './palette';
import { labelOf, ringOf } from './labels';
import { CircleProgram, HairProgram, drawing, SquareProgram, WireProgram } from './programs';
import type { Shape } from './shapes';

export interface NodeLook {
  color: string;
  size: number;
  top?: boolean;
  label?: boolean;
}

export interface EdgeLook {
  color: string;
  size: number;
  top?: boolean;
}

/** How things look; asked again when the data changes. */
export interface Looks {
  node(dpid: string): NodeLook;
  edge(edge: Edge): EdgeLook;
  leaf(key: string): NodeLook;
  /** The line between a host, by its key, and its switch. */
  spoke(key: string): EdgeLook;
}

export interface SceneEvents {
  onNode(dpid: string): void;
  onHost(key: string): void;
  onGround(): void;
  onHover(key: string | null): void;
}

/** The picture is arranged anew when so much of it is new, unless a person arranged it. */
const ANEW_ABOVE = 0.1;
const SETTLE_MS = 500;
const MOVE_MS = 450;
/** Switches that are all in sight at once. */
const SMALL = 60;
/** Hosts of which each has a line to its switch; more stand around theirs without one. */
const SPOKES_MAX = 1500;
/** The camera ratio from which so many hosts are left out. */
const HOSTS_BELOW = 0.5;
/** Links that are drawn with a width of their own; of more only those that stand out are. */
const WIDE_MAX = 1500;
/** The picture rests when the camera has not moved for so long. */
const REST_MS = 120;
/** Where frames take long it rests after so many of them, but not after this time. */
const REST_FRAMES = 3;
const REST_MAX_MS = 600;
/** A frame that takes so long is late; a screen shows sixty a second. */
const LATE_MS = 22;
/** Where more than one frame of so many is late, the machine is slow to draw. */
const LATE_OF = 10;
/** So many late frames, with none in time between them, are enough to know it. */
const LATE_MAX = 4;
/** After such a rest it is judged anew: it may have been busy with something else. */
const JUDGED_AGAIN_MS = 15_000;
/** So many late frames are enough then. */
const LATE_AGAIN = 2;
/** Pixels that are drawn for one of the screen, along each side, while many links move slowly. */
const ROUGH_SCALE = 0.5;

export class Scene {
  private graph = new Graph({ multi: true, type: 'undirected', allowSelfLoops: false });
  private sigma: Sigma;
  private at = new Map<string, Point>();
  private model: Model = { nodes: new Map(), edges: new Map(), leaves: new Map() };
  private looks: Looks | null = null;
  private byHand = false;
  private pictured = { nodes: 0, links: 0 };
  private settling: ReturnType<typeof setTimeout> | undefined;
  private moving = 0;
  private watch: ResizeObserver;
  /** Whether there is something new that sigma has not taken in yet. */
  private unprocessed = true;
  /** Late frames, less one for each `LATE_OF` in time; `LATE_MAX` is the end of it. */
  private late = 0;
  /** When the camera moved last, by the page's clock. */
  private movedAt = 0;
  /** How long the newest frame of a movement took. */
  private frameMs = 0;
  kind: Shape['kind'] = 'single';
  layer: ReadonlyMap<string, number> = new Map();
  onArranged: () => void = () => {};
  /** Calls after each frame, for what is drawn above the picture. */
  onFrame: () => void = () => {};

  constructor(
    private readonly container: HTMLElement,
    private colours: Palette,
    private readonly events: SceneEvents,
  ) {
    const stored = load();
    if (stored !== null) {
      for (const [id, [x, y]] of Object.entries(stored.at)) this.at.set(id, { x, y });
      this.byHand = stored.byHand;
      this.pictured = { nodes: this.at.size, links: stored.links };
    }
    this.sigma = this.draw();
    this.watch = new ResizeObserver(() => {
      this.sigma.resize();
      // Until the next frame sigma has nothing of the graph, and no colour of it can be changed alone.
      this.unprocessed = true;
      this.sigma.scheduleRefresh();
    });
    this.watch.observe(container);
  }

  private draw(): Sigma {
    const { colours } = this;
    const Drawn = Picture.on(colours.ground);
    const sigma = new Drawn(this.graph, this.container, {
      nodeProgramClasses: { square: SquareProgram, circle: CircleProgram },
      edgeProgramClasses: { hair: HairProgram, wire: WireProgram },
      defaultNodeType: 'square',
      defaultEdgeType: 'wire',
      defaultDrawNodeLabel: labelOf(colours),
      defaultDrawNodeHover: ringOf(colours),
      labelFont: 'system-ui, sans-serif',
      labelDensity: 0.7,
      labelGridCellSize: 90,
      labelRenderedSizeThreshold: 5,
      itemSizesReference: 'screen',
      zoomToSizeRatioFunction: (ratio: number) => Math.max(0.28, Math.sqrt(ratio)),
      stagePadding: 46,
      zIndex: true,
      minCameraRatio: 0.01,
      maxCameraRatio: 3,
      zoomDuration: 160,
      allowInvalidContainer: true,
    });
    bare(sigma);
    this.listen(sigma);
    return sigma;
  }

  private listen(sigma: Sigma): void {
    sigma.on('clickNode', ({ node }) =>
      node.startsWith('h ') ? this.events.onHost(node) : this.events.onNode(node),
    );
    sigma.on('clickStage', () => this.events.onGround());
    sigma.on('enterNode', ({ node }) => {
      bare(sigma, true);
      this.events.onHover(node);
    });
    sigma.on('leaveNode', () => {
      bare(sigma);
      this.events.onHover(null);
    });
    sigma.on('afterProcess', () => (this.unprocessed = false));
    sigma.on('afterRender', () => this.onFrame());
    this.drag(sigma);
    this.move(sigma);
  }

  /** Less is drawn while the camera moves, and all of it when it rests. */
  private move(sigma: Sigma): void {
    let rest: ReturnType<typeof setTimeout> | undefined;
    sigma.getCamera().on('updated', () => {
      drawing.picks = false;
      this.judgeAgain();
      clearTimeout(rest);
      rest = setTimeout(() => {
        drawing.picks = true;
        sigma.scheduleRender();
      }, Math.min(REST_MAX_MS, Math.max(REST_MS, REST_FRAMES * this.frameMs)));
    });
    sigma.on('beforeRender', () => {
      drawing.isRough = !drawing.picks && this.late >= LATE_MAX;
      drawing.scale = drawing.isRough && this.model.edges.size > WIDE_MAX ? ROUGH_SCALE : 1;
      drawing.hidesNames = drawing.isRough && this.model.nodes.size > SMALL;
      shows(sigma, 'labels', !drawing.hidesNames);
    });
    sigma.on('afterRender', () => this.time());
    sigma.on('kill', () => {
      clearTimeout(rest);
      drawing.picks = true;
    });
  }

  private judgeAgain(): void {
    const now = performance.now();
    if (now - this.movedAt > JUDGED_AGAIN_MS) this.late = Math.min(this.late, LATE_MAX - LATE_AGAIN);
    this.movedAt = now;
  }

  /** Counts frames that are late; a machine that was slow stays so until it has rested. */
  private time(): void {
    if (drawing.picks) return;
    const start = performance.now();
    requestAnimationFrame(() => {
      this.frameMs = performance.now() - start;
      if (this.late < LATE_MAX) this.late = Math.max(0, this.late + (this.frameMs > LATE_MS ? 1 : -1 / LATE_OF));
    });
  }

  /** A switch follows the pointer while its button is down. */
  private drag(sigma: Sigma): void {
    let held: string | null = null;
    let moved = false;
    sigma.on('downNode', ({ node }) => {
      held = this.model.nodes.has(node) ? node : null;
      moved = false;
    });
    sigma.getMouseCaptor().on('mousemovebody', (event) => {
      if (held === null) return;
      moved = true;
      const { x, y } = sigma.viewportToGraph(event);
      this.at.set(held, { x, y });
      this.placeLeaves();
      event.preventSigmaDefault();
      event.original.preventDefault();
    });
    sigma.getMouseCaptor().on('mouseup', () => {
      if (held !== null && moved) {
        this.byHand = true;
        this.keep();
      }
      held = null;
    });
  }

  /** Draws with other colours. */
  recolour(colours: Palette): void {
    this.colours = colours;
    const camera = this.sigma.getCamera().getState();
    this.sigma.kill();
    this.sigma = this.draw();
    this.freeze();
    this.sigma.getCamera().setState(camera);
    this.look();
  }

  kill(): void {
    clearTimeout(this.settling);
    cancelAnimationFrame(this.moving);
    this.watch.disconnect();
    this.sigma.kill();
  }

  /** Draws this model from now on. */
  show(model: Model, looks: Looks): void {
    this.looks = looks;
    const changed = this.differs(model);
    this.model = model;
    if (!changed) return this.look();
    this.place();
    this.apply();
    this.look();
  }

  private differs(model: Model): boolean {
    const sameKeys = (a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>) =>
      a.size === b.size && [...a.keys()].every((key) => b.has(key));
    if (!sameKeys(model.nodes, this.model.nodes) || !sameKeys(model.edges, this.model.edges)) return true;
    if (!sameKeys(model.leaves, this.model.leaves)) return true;
    for (const leaf of model.leaves.values()) {
      const old = this.model.leaves.get(leaf.key)!;
      if (old.dpid !== leaf.dpid || hostLabel(old.host) !== hostLabel(leaf.host)) return true;
    }
    for (const node of model.nodes.values()) {
      if (this.model.nodes.get(node.dpid)!.label !== node.label) return true;
    }
    return false;
  }

  private net() {
    const links = [...this.model.edges.values()].map((edge) => [edge.a, edge.b] as const);
    return netOf([...this.model.nodes.keys()], links);
  }

  /** Finds a place for each; the whole is arranged anew where much of it is new. */
  private place(): void {
    const { nodes, edges } = this.model;
    const placed = [...nodes.keys()].filter((id) => this.at.has(id)).length;
    const first = placed === 0;
    const fresh = (nodes.size - placed) / Math.max(1, nodes.size);
    const grown = Math.abs(edges.size - this.pictured.links) / Math.max(1, edges.size, this.pictured.links);
    if (first) return this.settle(this.arranged());
    placeNew(this.net(), this.at);
    const isOther = fresh > ANEW_ABOVE || grown > ANEW_ABOVE;
    if (!isOther || this.byHand) return;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.rearrange(true), SETTLE_MS);
  }

  private arranged(): Pictured {
    const homes = new Set([...this.model.leaves.values()].map((leaf) => leaf.dpid));
    return arrange(this.net(), (id) => homes.has(id));
  }

  private settle(picture: Pictured): void {
    this.kind = picture.kind;
    this.layer = picture.layer;
    for (const [id, point] of picture.at) this.at.set(id, point);
    this.pictured = { nodes: this.model.nodes.size, links: this.model.edges.size };
    this.keep();
    this.onArranged();
  }

  /** What the network is, without moving anything. */
  judge(): void {
    const picture = this.arranged();
    this.kind = picture.kind;
    this.layer = picture.layer;
    this.onArranged();
  }

  /** Arranges all of it anew, and glides there. */
  rearrange(glides: boolean): void {
    this.byHand = false;
    const before = new Map([...this.at].map(([id, point]) => [id, { ...point }]));
    this.settle(this.arranged());
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches || this.model.nodes.size > 1500;
    if (!glides || still) {
      this.moveTo(() => 1, before);
      this.freeze();
      return;
    }
    cancelAnimationFrame(this.moving);
    const start = performance.now();
    this.freeze();
    const step = () => {
      const part = Math.min(1, (performance.now() - start) / MOVE_MS);
      this.moveTo(() => 1 - (1 - part) ** 3, before);
      if (part < 1) this.moving = requestAnimationFrame(step);
    };
    step();
  }

  private moveTo(part: () => number, before: ReadonlyMap<string, Point>): void {
    const p = part();
    const now = new Map<string, Point>();
    for (const id of this.model.nodes.keys()) {
      const to = this.at.get(id)!;
      const from = before.get(id) ?? to;
      now.set(id, { x: from.x + (to.x - from.x) * p, y: from.y + (to.y - from.y) * p });
    }
    const leaves = this.leafPlaces(now);
    this.graph.updateEachNodeAttributes(
      (id, attributes) => {
        const point = now.get(id) ?? leaves.get(id);
        return point === undefined ? attributes : { ...attributes, ...point };
      },
      { attributes: ['x', 'y'] },
    );
  }

  private leafPlaces(at: ReadonlyMap<string, Point>): Map<string, Point> {
    const homes = new Map<string, string[]>();
    for (const leaf of this.model.leaves.values()) {
      const list = homes.get(leaf.dpid);
      if (list === undefined) homes.set(leaf.dpid, [leaf.key]);
      else list.push(leaf.key);
    }
    const near = new Map<string, Point[]>();
    const note = (from: string, to: string) => {
      if (!homes.has(from)) return;
      const point = at.get(to);
      if (point === undefined) return;
      const list = near.get(from);
      if (list === undefined) near.set(from, [point]);
      else list.push(point);
    };
    for (const { a, b } of this.model.edges.values()) {
      note(a, b);
      note(b, a);
    }
    const places = new Map<string, Point>();
    for (const [dpid, keys] of homes) {
      const centre = at.get(dpid);
      if (centre === undefined) continue;
      const points = around(centre, near.get(dpid) ?? [], keys.length);
      keys.sort().forEach((key, one) => places.set(key, points[one]!));
    }
    return places;
  }

  private placeLeaves(): void {
    this.moveTo(() => 1, this.at);
  }

  /** Makes the graph equal to the model. */
  private apply(): void {
    const { graph, model } = this;
    this.unprocessed = true;
    const spoke = (key: string) => `spoke ${key}`;
    for (const edge of graph.edges()) {
      const isSpoke = edge.startsWith('spoke ');
      const known = isSpoke ? model.leaves.has(edge.slice(6)) && model.leaves.size <= SPOKES_MAX : model.edges.has(edge);
      if (!known) graph.dropEdge(edge);
    }
    for (const node of graph.nodes()) {
      if (!model.nodes.has(node) && !model.leaves.has(node)) graph.dropNode(node);
    }
    for (const node of model.nodes.values()) {
      const { x, y } = this.at.get(node.dpid)!;
      graph.mergeNode(node.dpid, { x, y, name: node.label, type: 'square' });
    }
    const leaves = this.leafPlaces(this.at);
    const hasSpokes = model.leaves.size <= SPOKES_MAX;
    drawing.hostsBelow = hasSpokes ? Infinity : HOSTS_BELOW;
    for (const leaf of model.leaves.values()) {
      const point = leaves.get(leaf.key) ?? { x: 0, y: 0 };
      graph.mergeNode(leaf.key, { ...point, name: hostLabel(leaf.host), type: 'circle' });
      const key = spoke(leaf.key);
      if (graph.hasEdge(key) && !graph.extremities(key).includes(leaf.dpid)) graph.dropEdge(key);
      if (hasSpokes && !graph.hasEdge(key)) graph.addEdgeWithKey(key, leaf.dpid, leaf.key, { spoke: true });
    }
    for (const edge of model.edges.values()) {
      if (!graph.hasEdge(edge.key)) graph.addEdgeWithKey(edge.key, edge.a, edge.b, {});
    }
    this.freeze();
  }

  /** The extent of the picture stays while single things are moved. */
  private freeze(): void {
    const points = [...this.model.nodes.keys()].flatMap((id) => this.at.get(id) ?? []);
    if (points.length === 0) return;
    const [xs, ys] = [points.map((point) => point.x), points.map((point) => point.y)];
    const least = (list: number[]) => list.reduce((a, b) => Math.min(a, b));
    const most = (list: number[]) => list.reduce((a, b) => Math.max(a, b));
    const margin = this.model.leaves.size > 0 ? 0.75 : 0.3;
    const extent = (list: number[]): [number, number] => [least(list) - margin, most(list) + margin];
    this.sigma.setCustomBBox({ x: extent(xs), y: extent(ys) });
  }

  /** Asks how everything looks, and draws what looks otherwise than before. */
  look(looks = this.looks): void {
    if (looks === null) return;
    this.looks = looks;
    const { model, graph } = this;
    const nodes = new Map<string, NodeLook>();
    const edges = new Map<string, EdgeLook>();
    const same = { nodes: true, edges: true, order: !this.unprocessed };
    graph.forEachNode((id, old) => {
      const look = model.leaves.has(id) ? looks.leaf(id) : looks.node(id);
      nodes.set(id, look);
      if (old['color'] !== look.color || old['size'] !== look.size || old['named'] !== look.label) same.nodes = false;
      if (old['zIndex'] !== (look.top ? 1 : 0)) same.order = false;
    });
    graph.forEachEdge((key, old) => {
      const edge = model.edges.get(key);
      const look = edge === undefined ? looks.spoke(key.slice(6)) : looks.edge(edge);
      edges.set(key, look);
      if (old['color'] !== look.color || old['size'] !== look.size) same.edges = false;
      if (old['zIndex'] !== (look.top ? 1 : 0) || old['type'] !== this.lineOf(look)) same.order = false;
    });
    // What lies above what is put in order only where places are taken anew, too.
    const order = same.order ? [] : ['x', 'zIndex'];
    if (!same.nodes || !same.order) {
      graph.updateEachNodeAttributes(
        (id, old) => {
          const look = nodes.get(id)!;
          const label = look.label === false ? null : old['name'];
          const drawn = { color: look.color, size: look.size, zIndex: look.top ? 1 : 0 };
          return { ...old, ...drawn, label, forceLabel: look.label === true, named: look.label };
        },
        { attributes: ['color', 'size', 'label', 'forceLabel', ...order] },
      );
    }
    if (!same.edges || !same.order) {
      graph.updateEachEdgeAttributes(
        (key, old) => {
          const look = edges.get(key)!;
          return { ...old, color: look.color, size: look.size, zIndex: look.top ? 1 : 0, type: this.lineOf(look) };
        },
        { attributes: ['color', 'size', ...order] },
      );
    }
  }

  private lineOf(look: EdgeLook): 'wire' | 'hair' {
    return look.top === true || this.model.edges.size <= WIDE_MAX ? 'wire' : 'hair';
  }

  private keep(): void {
    keep(this.at, this.pictured.links, this.byHand);
  }

  /** Where a switch or host is on the screen, in pixels of the container. */
  screen(key: string): Point | null {
    if (!this.graph.hasNode(key)) return null;
    const { x, y } = this.graph.getNodeAttributes(key) as unknown as Point;
    return this.sigma.graphToViewport({ x, y });
  }

  /** Brings something to the middle. */
  focus(key: string): void {
    if (this.unprocessed) return void this.sigma.once('afterProcess', () => this.focus(key));
    // All of a small network is in sight anyway.
    if (this.model.nodes.size <= SMALL) return;
    const data = this.sigma.getNodeDisplayData(key);
    if (data === undefined) return;
    const camera = this.sigma.getCamera();
    const ratio = Math.min(camera.getState().ratio, 0.25);
    void camera.animate({ x: data.x, y: data.y, ratio }, { duration: 350 });
  }

  zoom(factor: number): void {
    const camera = this.sigma.getCamera();
    void camera.animate({ ratio: camera.getState().ratio * factor }, { duration: 160 });
  }

  pan(dx: number, dy: number): void {
    const camera = this.sigma.getCamera();
    const { x, y, ratio } = camera.getState();
    camera.setState({ x: x + dx * ratio, y: y + dy * ratio });
  }

  whole(): void {
    void this.sigma.getCamera().animate({ x: 0.5, y: 0.5, ratio: 1, angle: 0 }, { duration: 250 });
  }

  /** The camera's zoom: 1 shows everything, less is nearer. */
  get ratio(): number {
    return this.sigma.getCamera().getState().ratio;
  }
}

/** Leaves out the layers that show nothing: a browser that draws in software blends each of them. */
function bare(sigma: Sigma, isHovered = false): void {
  shows(sigma, 'edgeLabels', false);
  shows(sigma, 'hovers', isHovered);
  shows(sigma, 'hoverNodes', isHovered);
  const mouse = sigma.getCanvases()['mouse'];
  if (mouse !== undefined) mouse.style.opacity = '0';
}

function shows(sigma: Sigma, name: string, is: boolean): void {
  const layer = sigma.getCanvases()[name];
  if (layer !== undefined) layer.style.display = is ? '' : 'none';
}
