// Measures what the page costs and how soon it shows what happens. Run from the top, one figure at a time:
//     node tests/web/figures.mjs churn 60       # memory of the page over so many minutes in which links come and go
// `ALDIS` names the command to measure, the debug build where it is absent.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeBrowser, controller, folder, network, page, tidyUp } from './world.mjs';

const APPS = '--apps static-flows,topology,hosts,arp-proxy,nd-proxy,routing,route-flow,spanning'.split(' ');

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const MiB = (bytes) => (bytes / 2 ** 20).toFixed(2);

/** What the page holds, once what it does not need is collected. */
async function held(client) {
  await client.send('HeapProfiler.collectGarbage');
  const { metrics } = await client.send('Performance.getMetrics');
  const of = (name) => metrics.find((one) => one.name === name).value;
  return { heap: of('JSHeapUsedSize'), nodes: of('Nodes'), listeners: of('JSEventListeners') };
}

/** Links go and come each second, a switch leaves each minute, and the page is used meanwhile. */
async function churn(minutes) {
  const made = await controller(APPS);
  const lines = [];
  for (let second = 15; second < 60 * (minutes + 2); second += 2) {
    const [a, b] = [1 + (second % 9), 2 + (second % 9)];
    lines.push(`${second}s link-down s${a} s${b}`, `${second + 1}s link-up s${a} s${b}`);
    if (second % 60 === 31) lines.push(`${second}s reset s12`);
  }
  const script = join(folder(), 'churn.txt');
  writeFileSync(script, lines.join('\n'));
  await network(made, 'ring,12', 12, ['--for', String(60 * (minutes + 2)), '--load', '200', '--script', script]);
  const seen = await page();
  const client = await seen.context().newCDPSession(seen);
  await client.send('Performance.enable');
  const places = ['topology', 'switches', 'topology?at=0000000000000001', 'hosts', 'events', 'performance', 'topology'];
  await seen.goto(made.url);
  const start = performance.now();
  const passed = () => (performance.now() - start) / 60_000;
  let next = 0;
  for (let round = 0; passed() < minutes; round += 1) {
    const at = round % places.length;
    await seen.evaluate((to) => (location.hash = `#/${to}`), places[at]);
    await sleep(5000);
    if (at !== 0 || passed() < next) continue;
    next = passed() + minutes / 12;
    const { heap, nodes, listeners } = await held(client);
    console.log(`${passed().toFixed(1)} min: ${MiB(heap)} MiB of heap, ${nodes} nodes, ${listeners} listeners`);
  }
  if (seen.faults.length > 0) throw new Error(seen.faults.join('\n'));
}

const [figure, size] = [process.argv[2], Number(process.argv[3])];
const FIGURES = { churn };
await FIGURES[figure](size);
await tidyUp();
await closeBrowser();
