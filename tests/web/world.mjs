// What the scenarios stand on: a controller, an emulated network and a browser, each ended by the
// scenario that began it.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = new URL('../../', import.meta.url).pathname;
const modules = createRequire(join(root, 'web/package.json'));
const { chromium } = modules('playwright-core');
export const axe = modules.resolve('axe-core/axe.min.js');

/** The command that is tested. */
export const aldis = process.env.ALDIS ?? join(root, 'target/debug/aldis');
/** A program that says nothing of itself for so long does not start. */
const START_MS = 15_000;
export const PATIENCE_MS = 10_000;
/** Milliseconds in a tick of the kernel's account of processes. */
const TICK_MS = 10;

const ends = [];

/** Does this when the scenario is over, the newest first. */
export const atEnd = (end) => ends.push(end);

export async function tidyUp() {
  while (ends.length > 0) await ends.pop()();
}

export function folder() {
  const made = mkdtempSync(join(tmpdir(), 'aldis-web-'));
  atEnd(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/**
 * The processes of the browser begun here: those that descend from this one and are named so, with the milliseconds of processors that
 * each has taken and whether it is the one that draws.
 */
export function browserProcesses() {
  const about = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [name, rest] = [stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')), stat.slice(stat.lastIndexOf(')') + 2)];
      const fields = rest.split(' ').map(Number);
      const draws = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=gpu-process');
      about.set(pid, { pid, name, parent: fields[1], ms: (fields[11] + fields[12]) * TICK_MS, draws });
    } catch {
      // It ended meanwhile.
    }
  }
  const descends = (pid) => pid === process.pid || (about.has(pid) && descends(about.get(pid).parent));
  return [...about.values()].filter(({ pid, name }) => /chrom/.test(name) && descends(pid));
}

/** Runs a command to its end; what it printed. */
export function run(args) {
  const done = spawnSync(aldis, args, { encoding: 'utf8', timeout: START_MS });
  if (done.status !== 0) throw new Error(`aldis ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
}

/** Starts a command and waits for what each pattern finds in its output. */
async function start(args, patterns) {
  const child = spawn(aldis, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const gone = new Promise((done) => child.once('exit', done));
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
    await gone;
    clearTimeout(timer);
  };
  atEnd(stop);
  const found = new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error(`aldis ${args.join(' ')} said only: ${said}`)), START_MS);
    const look = (piece) => {
      said += piece;
      const all = patterns.map((pattern) => pattern.exec(said)?.[1]);
      if (all.every((one) => one !== undefined)) {
        clearTimeout(timer);
        done(all);
      }
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
  });
  return { found: patterns.length === 0 ? [] : await found, stop, said: () => said, pid: child.pid, signal: (name) => child.kill(name) };
}

/** A controller on free ports of this machine, or on those of one before. */
export async function controller(more = [], ports = { http: 0, openflow: 0 }) {
  const on = ['--listen', `127.0.0.1:${ports.openflow}`, '--http', `127.0.0.1:${ports.http}`];
  const patterns = [/switches on 127\.0\.0\.1:(\d+)/, /HTTP on https?:\/\/127\.0\.0\.1:(\d+)/];
  const { found, stop, pid, signal } = await start(['run', ...on, ...more], patterns);
  const [openflow, http] = found.map(Number);
  const url = `http://127.0.0.1:${http}/`;
  const ask = async (path, method = 'GET', body) => {
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
  return { url, ports: { http, openflow }, stop, ask, pid, signal };
}

/** An emulated network, once its switches are connected. */
export async function network({ ports, ask }, topology, switches, more = []) {
  const args = ['emulate', `127.0.0.1:${ports.openflow}`, '--topology', topology, '--await-links', ...more];
  const { stop } = await start(args, []);
  await until(async () => (await ask('api/v1/health')).switches >= switches, `${switches} switches`);
  return { stop };
}

export async function until(is, what, patience = PATIENCE_MS * 2) {
  const start = performance.now();
  while (!(await is())) {
    if (performance.now() - start > patience) throw new Error(`${what} did not come within ${patience} ms`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

const programs = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** One for all pages, also for those that are opened together. */
let browser = null;

export const executable = () => process.env.CHROMIUM ?? programs.find((path) => existsSync(path));

export async function page({ dark = true, width = 1280, height = 800, permissions = [], bypassCSP = false } = {}) {
  // Drawn by software, as a machine without a graphics card does.
  const args = ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'];
  browser ??= chromium.launch({ executablePath: executable(), args });
  const context = await (await browser).newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    bypassCSP,
    permissions,
  });
  atEnd(() => context.close());
  const made = await context.newPage();
  await fresh(made);
  made.setDefaultTimeout(PATIENCE_MS);
  made.faults = [];
  made.asked = [];
  made.on('pageerror', (error) => made.faults.push(error.stack ?? error.message));
  newest = made;
  made.on('dialog', (dialog) => {
    made.faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  made.on('console', (line) => {
    if (/Content Security Policy|Refused to/.test(line.text())) made.faults.push(line.text());
  });
  made.on('request', (asked) => made.asked.push(asked.url()));
  return made;
}

/** Files that were built a moment ago, in place of those in the command: to work on them. */
async function fresh(made) {
  const dist = process.env.ALDIS_DIST;
  if (dist === undefined) return;
  for (const name of ['app.js', 'app.css']) {
    await made.route(`**/${name}`, async (route) => {
      const answer = await route.fetch();
      const headers = { ...answer.headers() };
      delete headers['content-encoding'];
      delete headers['content-length'];
      await route.fulfill({ status: 200, headers, body: readFileSync(join(dist, name)) });
    });
  }
}

let newest = null;

/** What went wrong in the newest page, and what it shows: for the log of a scenario that failed. */
export async function sight() {
  const text = await newest?.evaluate(() => document.body.innerText).catch((error) => String(error));
  return [...(newest?.faults ?? []), text?.replaceAll(/\s+/g, ' ').slice(0, 900)].join('\n');
}

export const closeBrowser = async () => (await browser)?.close();

/** A reverse proxy that serves another server below a prefix. */
export async function proxy(target, prefix) {
  const to = new URL(target);
  const server = createServer((asked, answer) => {
    if (!asked.url.startsWith(prefix)) return void answer.writeHead(404).end();
    const { origin, ...headers } = asked.headers;
    const options = { host: to.hostname, port: to.port, method: asked.method, headers: { ...headers, host: to.host } };
    const passed = request({ ...options, path: asked.url.slice(prefix.length - 1) }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
      answer.on('close', () => got.destroy());
    });
    passed.on('error', () => answer.writeHead(502).end());
    asked.pipe(passed);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}${prefix}`;
}
