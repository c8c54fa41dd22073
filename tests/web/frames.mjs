// Measures the picture of an emulated network: until it is there, and frames a second while it is
// panned and zoomed, drawn by software. Frames a second depend on what else the machine does; the
// processor time that the browser's drawing process takes for each depends on it less. Run from the top:
//     node tests/web/frames.mjs preferential,1347,3 1347 --hosts-per-switch 4

import { aldis, browserProcesses, closeBrowser, controller, network, page, tidyUp, until } from './world.mjs';

const [topology, switches, ...more] = process.argv.slice(2);
/** How long the picture is moved, each time. */
const MOVED_MS = 5000;
const TIMES = 3;

/** Milliseconds of processors that the drawing process of the browser begun here has taken. */
const drawingMs = () => browserProcesses().reduce((sum, { draws, ms }) => sum + (draws ? ms : 0), 0);

async function move(milliseconds) {
  const camera = globalThis.aldisScene.sigma.getCamera();
  const at = camera.getState();
  const frames = [];
  const start = performance.now();
  await new Promise((done) => {
    const step = () => {
      const t = performance.now() - start;
      frames.push(t);
      camera.setState({ x: at.x + 0.08 * Math.sin(t / 400), y: at.y + 0.05 * Math.cos(t / 300), ratio: at.ratio * (0.6 + 0.35 * Math.sin(t / 700)) });
      if (t < milliseconds) requestAnimationFrame(step);
      else done();
    };
    requestAnimationFrame(step);
  });
  camera.setState(at);
  const gaps = frames.slice(1).map((one, place) => one - frames[place]).sort((a, b) => a - b);
  return { count: gaps.length, rate: (1000 * gaps.length) / (frames.at(-1) - frames[0]), p50: gaps[gaps.length >> 1], p95: gaps[Math.floor(gaps.length * 0.95)] };
}

const apps = '--apps static-flows,topology,hosts,arp-proxy,nd-proxy,routing,route-flow,spanning'.split(' ');
const made = await controller(apps);
await network(made, topology, Number(switches), ['--for', '600', '--load', '1', '--peers', '1', ...more]);
let before = -1;
const settled = async () => {
  await new Promise((done) => setTimeout(done, 3000));
  const now = (await made.ask('api/v1/hosts?limit=1')).total;
  const same = now > 0 && now === before;
  before = now;
  return same;
};
await until(settled, 'every host', 400_000);
const links = (await made.ask('api/v1/links?limit=1')).total;
const seen = await page();
await seen.goto(made.url);
await seen.locator('.stage[aria-label*="links"]').waitFor({ timeout: 30_000 });
const first = await seen.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
const drawn = await seen.evaluate(() => performance.now());
await seen.waitForTimeout(8000);
console.log(`${aldis}\n${switches} switches, ${links} links, ${before} hosts; first paint ${first?.toFixed(0)} ms, picture ${drawn.toFixed(0)} ms`);
for (let time = 0; time < TIMES; time += 1) {
  const start = drawingMs();
  const { count, rate, p50, p95 } = await seen.evaluate(move, MOVED_MS);
  const cost = (drawingMs() - start) / count;
  console.log(`${rate.toFixed(1)} frames/s; a frame takes ${p50.toFixed(0)} ms (median), ${p95.toFixed(0)} ms (p95), and ${cost.toFixed(0)} ms of processors`);
}
await tidyUp();
await closeBrowser();
