// Measures what the page costs and how soon it shows what happens. Run from the top, one figure at a time:
//     node tests/web/figures.mjs first 1347     # until the first picture of so many switches and their links, and what was loaded
//     node tests/web/figures.mjs cut 100        # from a cut link to the picture of it, so many times
//     node tests/web/figures.mjs churn 60       # memory of the page over so many minutes in which links come and go
//     node tests/web/figures.mjs events 5000    # whether the page bears so many events a second
//     node tests/web/figures.mjs pages 10       # what so many open pages cost the controller's workers
//     node tests/web/figures.mjs pages 10 4000000     # the same with so many requests offered a second; options of `aldis run` may follow
// `ALDIS` names the command to measure, the debug build where it is absent.

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { aldis, atEnd, browserProcesses, closeBrowser, controller, executable, folder, network, page, tidyUp, until } from './world.mjs';

const APPS = '--apps static-flows,topology,hosts,arp-proxy,nd-proxy,routing,route-flow,spanning'.split(' ');

/** What the page itself is; the rest is what the controller says of the network. */
const ASSETS = ['/', '/app.js', '/app.css', '/icon.svg'];
/** Turns in which what asks goes on, each of a second as are the pauses between them. */
const [TURNS, WINDOW_MS] = [60, 1000];
/** Seconds until a load has settled. */
const SETTLES_S = 5;
/** Cores: of the controller, and of the load. */
const [WORKER, LOAD] = [0, 1];
/** The network that asks. */
const NETWORK = ['-s', '16', '-M', '1000'];
/** Milliseconds in a tick of the kernel's account of processes. */
const TICK_MS = 10;

const quantile = (values, part) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))];
/** What else the machine does: processes that run or wait, of the last minute. */
const load = () => readFileSync('/proc/loadavg', 'utf8').split(' ')[0];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const percent = (part) => `${(100 * part).toFixed(2)} %`;
const MiB = (bytes) => (bytes / 2 ** 20).toFixed(2);

/** A page that was never open before, until its picture is there, with the links. */
async function first(switches) {
  const made = await controller(APPS);
  await network(made, `preferential,${switches},3`, switches, ['--for', '900']);
  await until(async () => (await made.ask('api/v1/links?limit=1')).total > 2.9 * switches, 'every link', 300_000);
  const there = (await made.ask('api/v1/links?limit=1')).total;
  const all = [];
  for (let time = 0; time < 7; time += 1) {
    const seen = await page();
    const sizes = [];
    seen.on('requestfinished', (asked) => {
      if (ASSETS.includes(new URL(asked.url()).pathname)) sizes.push(asked.sizes());
    });
    await seen.goto(made.url, { waitUntil: 'commit' });
    const drawn = await seen.evaluate(async (all) => {
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      const shown = () => /^(\d+) switches .* (\d+) links/.exec(document.querySelector('.stage')?.ariaLabel ?? '') ?? [];
      while (!all.every((count, at) => Number(shown()[at + 1]) >= count)) {
        if (performance.now() > 60_000) throw new Error(`after a minute the picture has ${shown().slice(1)} of ${all} switches and links`);
        await frame();
      }
      await frame();
      await frame();
      return performance.now();
    }, [switches, there]);
    await until(() => sizes.length === ASSETS.length, 'all of the page');
    const loaded = (await Promise.all(sizes)).reduce((sum, one) => sum + one.responseBodySize, 0);
    all.push(drawn);
    console.log(`picture after ${drawn.toFixed(0)} ms; ${(loaded / 1024).toFixed(1)} KiB of page; load ${load()}`);
    await seen.context().close();
  }
  console.log(`${switches} switches: median ${quantile(all, 0.5).toFixed(0)} ms, longest ${Math.max(...all).toFixed(0)} ms`);
}

/** The links of a ring go down one after the other, and come back. */
async function cut(times) {
  const made = await controller(APPS);
  const script = join(folder(), 'cuts.txt');
  const lines = Array.from({ length: times }, (_, time) => {
    const link = `s${1 + (time % 7)} s${2 + (time % 7)}`;
    return [`${15_000 + 2500 * time}ms link-down ${link}`, `${16_200 + 2500 * time}ms link-up ${link}`];
  });
  writeFileSync(script, lines.flat().join('\n'));
  await network(made, 'ring,8', 8, ['--for', String(30 + 3 * times), '--load', '50', '--script', script]);
  const seen = await page();
  await seen.goto(made.url);
  await seen.locator('.stage[aria-label*="8 links of which 0 are down"]').waitFor();
  const drawn = [];
  await seen.exposeFunction('drawn', (at) => drawn.push(at));
  await seen.evaluate(() => {
    let was = 0;
    new MutationObserver(() => {
      const now = Number(/of which (\d+) are down/.exec(document.querySelector('.stage').ariaLabel)?.[1]);
      // What is in the document now is on the screen with the next frame.
      if (now > was) requestAnimationFrame(() => globalThis.drawn(Date.now()));
      was = now;
    }).observe(document.querySelector('.stage'), { attributes: true });
  });
  await until(() => drawn.length >= times, `${times} cuts`, (60 + 3 * times) * 1000);
  const events = (await made.ask('api/v1/events/recent')).items.filter((event) => event.kind === 'link-down');
  const at = events.map((event) => Date.parse(event.at));
  const took = drawn.map((moment) => moment - Math.max(...at.filter((begun) => begun <= moment)));
  const [median, p99] = [0.5, 0.99].map((part) => quantile(took, part));
  console.log(`${took.length} cuts, from the event to its frame: median ${median} ms, p99 ${p99} ms, longest ${Math.max(...took)} ms; load ${load()}`);
}

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

/** A stream of our own making beside the controller's: so many events a second, each of a link that went or came. */
async function streaming(rate, links) {
  let count = 0;
  const event = () => {
    count += 1;
    const link = links[Math.floor(count / 2) % links.length];
    const [kind, state] = count % 2 === 0 ? ['link-up', 'up'] : ['link-down', 'gone'];
    const made = { id: `ab-${count}`, at: new Date().toISOString(), kind, text: `event ${count}`, dpid: link.a.dpid, link: { a: link.a, b: link.b, state } };
    return `id: ab-${count}\nevent: ${kind}\ndata: ${JSON.stringify(made)}\n\n`;
  };
  const server = createServer((_, answer) => {
    answer.writeHead(200, { 'Content-Type': 'text/event-stream', 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*' });
    const start = performance.now();
    let sent = 0;
    const timer = setInterval(() => {
      let text = '';
      for (const due = ((performance.now() - start) * rate) / 1000; sent < due; sent += 1) text += event();
      answer.write(text);
    }, 20);
    answer.on('close', () => clearInterval(timer));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}/`, count: () => count };
}

/** Whether the page keeps up with so many events a second, drawn as links that go and come. */
async function events(rate) {
  const made = await controller(APPS);
  await network(made, 'torus,5,5', 25, ['--for', '900']);
  await until(async () => (await made.ask('api/v1/links?limit=1')).total === 50, 'every link');
  const stream = await streaming(rate, (await made.ask('api/v1/links')).items);
  const seen = await page({ bypassCSP: true });
  // The page asks for the stream as ever, and is led to ours.
  await seen.addInitScript((to) => {
    const usual = globalThis.fetch;
    globalThis.fetch = (what, how) => usual(String(what).includes('api/v1/events') ? to : what, how);
  }, stream.url);
  await seen.goto(made.url);
  await seen.locator('.stage[aria-label*="25 switches"]').waitFor();
  await sleep(3000);
  const start = { count: stream.count(), at: performance.now() };
  const [frames, longest] = await seen.evaluate((ms) => new Promise((done) => {
    const begun = performance.now();
    let [count, gap, before] = [0, 0, begun];
    const step = (now) => {
      count += 1;
      gap = Math.max(gap, now - before);
      before = now;
      if (now - begun < ms) requestAnimationFrame(step);
      else done([count, gap]);
    };
    requestAnimationFrame(step);
  }), 20_000);
  const passed = (performance.now() - start.at) / 1000;
  const came = (stream.count() - start.count) / passed;
  await seen.evaluate(() => (location.hash = '#/events'));
  const newest = seen.locator('tbody tr', { hasText: 'event ' }).first();
  await newest.waitFor();
  const behind = await seen.evaluate(() => {
    const rows = [...document.querySelectorAll('tbody tr')].map((row) => Number(/event (\d+)/.exec(row.textContent)?.[1] ?? 0));
    return Math.max(...rows);
  });
  const lag = (stream.count() - behind) / rate;
  console.log(`${came.toFixed(0)} events/s for ${passed.toFixed(0)} s: ${(frames / passed).toFixed(1)} frames/s, the longest gap ${longest.toFixed(0)} ms, the list ${(lag * 1000).toFixed(0)} ms behind; load ${load()}`);
}

/** Milliseconds of processors that the threads of a process took that are named so. */
function threadsMs(pid, name) {
  const tasks = readdirSync(`/proc/${pid}/task`).map((id) => readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8'));
  const of = (stat) => stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 13).reduce((sum, ticks) => sum + Number(ticks), 0);
  return tasks.filter((stat) => stat.includes(`(${name}`)).reduce((sum, stat) => sum + TICK_MS * of(stat), 0);
}

/** What a page asks again and again, with the seconds in between; the page of performance asks the most. */
const ASKED = [['statistics', 1], ['switches', 2], ['health', 3], ['weights', 5], ['design', 10], ['hosts?limit=1', 20], ['links?limit=1', 20], ['me', 30]];

/** Asks as an open page does, and draws nothing: a browser on another machine. */
function asks(url) {
  const ends = new AbortController();
  const ask = (path) => fetch(`${url}api/v1/${path}`, { signal: ends.signal }).then((answer) => answer.arrayBuffer()).catch(() => {});
  void ask('events?after=oldest');
  const timers = ASKED.map(([path, seconds]) => setInterval(() => void ask(path), seconds * 1000));
  return () => {
    ends.abort();
    timers.forEach(clearInterval);
  };
}

async function opened(made, at) {
  const seen = await page();
  // A browser that starts cold, with idle priority, takes its time for ten pages at once.
  await seen.goto(`${made.url}#/${['topology', 'performance', 'switches', 'events'][at % 4]}`, { timeout: 60_000 });
  return seen;
}

/** Has the browser on the core of the load, with what that leaves of it. */
function browserAside() {
  const aside = join(folder(), 'browser');
  writeFileSync(aside, `#!/bin/sh\nexec taskset -c ${LOAD} chrt --idle 0 ${executable()} "$@"\n`);
  chmodSync(aside, 0o755);
  process.env.CHROMIUM = aside;
}

/** A second controller with a network of the same size, on the core of the load, whose pages cost the first one nothing. */
async function elsewhere(options) {
  const other = await controller(['--workers', '1', ...options]);
  spawnSync('taskset', ['-acp', String(LOAD), String(other.pid)]);
  const teaches = spawn('taskset', ['-c', String(LOAD), aldis, 'bench', `127.0.0.1:${other.ports.openflow}`, ...NETWORK, '-l', '3', '-m', '1000', '-w', '1']);
  await new Promise((done) => teaches.once('exit', done));
  const trickle = [...NETWORK, '--rate', '1000', '-l', '3600', '-m', '1000', '-w', '0'];
  const kept = spawn('taskset', ['-c', String(LOAD), aldis, 'bench', `127.0.0.1:${other.ports.openflow}`, ...trickle], { stdio: 'ignore' });
  atEnd(() => kept.kill());
  return other;
}

/** Sends a signal to a process, if it is there. */
function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It ended meanwhile: the browser has a process for each of its tasks.
  }
}

/**
 * Flow requests answered, and processor time of the worker for each: asked as by so many pages, beside them, and beside as many of
 * another controller, which show what the browser costs that draws on the other core. Under one load, what asks is halted and goes on
 * by turns of a second, and each second in which it goes on is read against those before and behind it, so that the moments of the
 * machine drop out. The load goes before the browser on their core, for which it has to be started as root.
 */
async function pages(many) {
  browserAside();
  const options = process.argv.slice(4);
  const offered = /^\d+$/.test(options[0]) ? options.shift() : undefined;
  const made = await controller(['--workers', '1', ...options]);
  const other = await elsewhere(options);
  for (const [core, pid] of [[WORKER, made.pid], [LOAD, process.pid]]) spawnSync('taskset', ['-acp', String(core), String(pid)]);
  const all = Array.from({ length: many }, (_, at) => at);
  for (const [kind, shown] of Object.entries({ open: made, asked: undefined, elsewhere: other })) {
    const seen = shown ? await Promise.all(all.map((at) => opened(shown, at))) : [];
    const pids = browserProcesses().map(({ pid }) => pid);
    let asking = [];
    const script = (does) => (asking = does ? all.map(() => asks(made.url)) : asking.forEach((end) => end()) ?? []);
    const browser = (does) => pids.forEach((pid) => signal(pid, does ? 'SIGCONT' : 'SIGSTOP'));
    atEnd(() => browser(true));
    const its = await underLoad(made, offered, shown ? browser : script);
    (shown ? browser : script)(Boolean(shown));
    await Promise.all(seen.map((one) => one.context().close()));
    const text = (what, shown) => spread(its.map((turn) => turn[what]), shown);
    const ratio = (value) => value.toFixed(3);
    console.log(`${many} ${kind} against none: rate ${text('rate', ratio)}, processor time of the worker a request ${text('cost', ratio)}, the worker has ${text('worker', percent)} and the server ${text('server', percent)} of the core; ${its.length} turns, without ${text('alone', (rate) => (rate / 1e6).toFixed(2))} M requests/s; load ${load()}`);
  }
}

/** The median of values, and their quartiles. */
function spread(values, shown) {
  const [median, low, high] = [0.5, 0.25, 0.75].map((part) => shown(quantile(values, part)));
  return `${median} (quartiles ${low} and ${high})`;
}

/** What a controller does in the seconds in which something `goesOn`, against those in which it does not. */
async function underLoad(made, offered, goesOn) {
  const asks = offered ? ['--outstanding', '400', '--rate', offered] : ['-t'];
  // Longer than it is needed: it is ended then.
  const lasts = String(4 * TURNS);
  const args = [`127.0.0.1:${made.ports.openflow}`, ...NETWORK, ...asks, '-l', lasts, '-m', '1000', '-w', '1'];
  const load = spawn('chrt', ['--fifo', '1', 'taskset', '-c', String(LOAD), aldis, 'bench', ...args], { stdio: 'ignore' });
  const ended = new Promise((done) => load.once('exit', done));
  goesOn(false);
  await sleep(SETTLES_S * 1000);
  const spent = async () => {
    const { total } = await made.ask('api/v1/statistics');
    return [total.requests, threadsMs(made.pid, 'worker'), threadsMs(made.pid, 'http'), performance.now()];
  };
  const second = async (does) => {
    goesOn(does);
    const before = await spent();
    await sleep(WINDOW_MS);
    const [answered, worker, server, passed] = (await spent()).map((now, what) => now - before[what]);
    return { rate: (answered * 1000) / passed, cost: (worker * 1e6) / answered, worker: worker / passed, server: server / passed };
  };
  const [turns, pauses] = [[], [await second(false)]];
  while (turns.length < TURNS) {
    const its = await second(true);
    pauses.push(await second(false));
    const [before, behind] = pauses.slice(-2);
    const ratio = (what) => (2 * its[what]) / (before[what] + behind[what]);
    turns.push({ ...its, rate: ratio('rate'), cost: ratio('cost'), alone: behind.rate });
  }
  load.kill('SIGINT');
  await ended;
  return turns;
}

const [figure, size] = [process.argv[2], Number(process.argv[3])];
const FIGURES = { first, cut, churn, events, pages };
try {
  await FIGURES[figure](size);
} finally {
  await tidyUp();
  await closeBrowser();
}
