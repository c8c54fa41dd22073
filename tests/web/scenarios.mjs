// What a person does with the web interface, in a real browser against the real controller.

import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { appPage, appPageConfined, appPageKeys } from './app-page.mjs';
import { keys, revoked } from './keys.mjs';
import { log } from './log-page.mjs';
import { ratesPage } from './rates-page.mjs';
import { reports } from './reports-page.mjs';
import { aldis, atEnd, axe, controller, folder, network, page, PATIENCE_MS, proxy, run, until } from './world.mjs';

const DRAWS = '--apps static-flows,topology,hosts,arp-proxy,nd-proxy,routing,route-flow,spanning'.split(' ');
const PLACES = ['topology', 'switches', 'hosts', 'performance', 'apps', 'static-flows', 'acl', 'events', 'log', 'reports', 'settings'];
/** A link that is cut is drawn so within this time. */
const CUT_MS = 1000;
/** In a name, this runs where a page takes text for markup. */
const HOSTILE = `"><img src=x onerror="globalThis.caught=1"><script>globalThis.caught=1</script>`;

/** The example of the SDK, which the suite builds before. */
const PACKAGE = new URL('../../target/sdk/simple-switch.app', import.meta.url).pathname;

const see = (where, text) => where.getByText(text, { exact: false }).first().waitFor();
const stage = (where) => where.locator('.stage');

async function withoutFaults(where) {
  assert.deepEqual(where.faults, []);
  assert.equal(await where.evaluate(() => globalThis.caught), undefined);
}

async function nothingConnected() {
  const { url } = await controller();
  const seen = await page();
  await seen.goto(url);
  await see(seen, 'No switch is connected yet');
  await see(seen, 'sudo mn --controller remote,ip=127.0.0.1');
  assert.ok(seen.asked.every((asked) => asked.startsWith(url)), seen.asked.join('\n'));
  await withoutFaults(seen);
}

async function fatTree() {
  const made = await controller(DRAWS);
  await network(made, 'fat-tree,4', 20, ['--pingall=40', '--for', '300', '--load', '10', '--at', '12s link-down s5 s7']);
  const seen = await page();
  await seen.goto(made.url);
  await see(seen, 'fat tree');
  await stage(seen).and(seen.locator('[aria-label*="20 switches (fat tree), 32 links of which 0 are down"]')).waitFor();
  const drawn = seen.locator('.hud-bottom .down').waitFor({ timeout: 4 * PATIENCE_MS }).then(() => Date.now());
  const at = await drawn;
  const events = await made.ask('api/v1/events/recent');
  const cut = events.items.find((event) => event.kind === 'link-down');
  const took = at - Date.parse(cut.at);
  console.log(`      drawn ${took} ms after the event`);
  assert.ok(took <= CUT_MS, `drawn after ${took} ms`);
  await see(seen, 's5 – s7');
  await withoutFaults(seen);
}

async function shapes() {
  for (const [topology, switches, shape] of [['ring,8', 8, 'ring'], ['torus,4,5', 20, 'torus'], ['tree,3,2', 7, 'tree']]) {
    const made = await controller(DRAWS);
    await network(made, topology, switches);
    const seen = await page();
    await seen.goto(made.url);
    await seen.locator('.shape', { hasText: shape }).waitFor({ timeout: 2 * PATIENCE_MS });
  }
}

/** A new size empties what sigma has taken in, until the next frame. */
async function resized() {
  const made = await controller(DRAWS);
  await network(made, 'ring,4', 4);
  const seen = await page();
  await seen.goto(made.url);
  await seen.locator('.shape', { hasText: 'ring' }).waitFor();
  await seen.evaluate(async () => {
    const [scene, stage] = [globalThis.aldisScene, document.querySelector('.stage')];
    const { looks } = scene;
    const other = (look) => ({ ...look, color: '#123456' });
    await new Promise((done) => {
      // It is told of a size behind the observer of the picture.
      new ResizeObserver(() => {
        if (stage.offsetWidth !== 500) return;
        setTimeout(done, 300);
        scene.look({ ...looks, node: (id) => other(looks.node(id)), edge: (edge) => other(looks.edge(edge)) });
      }).observe(stage);
      stage.style.width = '500px';
    });
  });
  await withoutFaults(seen);
}

async function packet() {
  const made = await controller(DRAWS);
  await network(made, 'linear,3', 3, ['--pingall', '--for', '300', '--load', '50', '--peers', '2']);
  await until(async () => (await made.ask('api/v1/hosts')).total === 3, 'hosts');
  const leads = (flow) => flow.match.eth_src === '00:00:00:00:00:01' && flow.match.eth_dst === '00:00:00:00:00:03';
  for (const at of [1, 2, 3]) {
    await until(async () => (await made.ask(`api/v1/switches/${at}/flows`)).items.some(leads), 'the flows of a way');
  }
  const seen = await page();
  await seen.goto(made.url);
  await stage(seen).and(seen.locator('[aria-label*="3 hosts"]')).waitFor();
  await seen.keyboard.press('p');
  await seen.getByLabel('From').fill('10.0.0.1');
  await seen.getByLabel('To', { exact: true }).fill('10.0.0.3');
  await see(seen, 'It arrives at 10.0.0.3');
  assert.equal(await seen.locator('.hops li').count(), 3);
  assert.equal(await seen.locator('.badges i').count(), 3);
  // What drops a packet is found and removed on the page alone.
  await made.ask('api/v1/switches/2/flows', 'POST', { flows: [{ priority: 60_000, match: { eth_dst: '00:00:00:00:00:03' } }] });
  await seen.getByRole('button', { name: 'Ask again' }).click();
  await see(seen, 's2 drops it');
  await seen.locator('.hops a', { hasText: 's2' }).click();
  await seen.getByLabel('Filter flows of').fill('drop 60000');
  await seen.getByLabel('Filter flows of').fill('60000');
  await seen.getByRole('row', { name: '60000' }).getByRole('button', { name: 'Remove this flow' }).click();
  await seen.getByRole('button', { name: 'Remove', exact: true }).click();
  await see(seen, 'The flow is removed: the switch said so.');
  const left = await made.ask('api/v1/switches/2/flows');
  assert.ok(left.items.every((flow) => flow.priority !== 60_000));
  await withoutFaults(seen);
}

async function flows() {
  const made = await controller(DRAWS);
  await network(made, 'single,2', 1);
  const seen = await page();
  await seen.goto(`${made.url}#/switches/0000000000000001/flows`);
  await seen.getByRole('button', { name: 'Add a flow' }).click();
  await seen.getByLabel('Which packets').fill('in_port=1, ipv4_dst=10.0.0.0/33');
  await seen.getByRole('button', { name: 'Check only' }).click();
  await see(seen, 'flows[0].match');
  await seen.getByLabel('Which packets').fill('in_port=1, ipv4_dst=10.9.9.7/24');
  await seen.getByLabel('What is done').fill('group:77');
  await seen.getByRole('button', { name: 'Check only' }).click();
  await see(seen, 'It can be sent: nothing was sent yet.');
  await seen.getByLabel('What is done').fill('output:2');
  await seen.getByLabel('Priority').fill('1234');
  await seen.getByRole('button', { name: 'Add', exact: true }).click();
  await see(seen, 'The switch has done it, and said so.');
  const flow = (await made.ask('api/v1/switches/1/flows')).items.find((one) => one.priority === 1234);
  assert.deepEqual(flow.actions, ['output:2']);
  assert.ok(flow.match.ipv4_dst.startsWith('10.9.9.0/'), JSON.stringify(flow.match));
  await seen.getByLabel('Filter flows of').fill('10.9.9.0');
  const [file] = await Promise.all([seen.waitForEvent('download'), seen.getByRole('button', { name: 'Export as CSV' }).click()]);
  const lines = readFileSync(await file.path(), 'utf8').split('\r\n');
  assert.equal(lines.length, 2, lines.join('|'));
  assert.ok(lines[1].includes('1234') && lines[1].includes('output:2'), lines[1]);
  await withoutFaults(seen);
}

async function knobs() {
  const made = await controller(DRAWS);
  const seen = await page();
  await seen.goto(`${made.url}#/performance`);
  const field = seen.getByLabel('ibt', { exact: true });
  await field.fill('0');
  await seen.getByRole('button', { name: 'Set ibt' }).click();
  await see(seen, 'knobs.ibt');
  await field.fill('321');
  await seen.getByRole('button', { name: 'Set ibt' }).click();
  await see(seen, 'ibt is 321 from now on.');
  assert.equal((await made.ask('api/v1/design')).knobs.ibt, '321');
  await seen.getByRole('radiogroup', { name: 'shed' }).first().getByRole('radio', { name: 'off' }).click();
  await see(seen, 'shed is false from now on.');
  assert.equal((await made.ask('api/v1/design')).knobs.shed, 'false');
  await withoutFaults(seen);
}

async function weights() {
  const made = await controller(DRAWS);
  await network(made, 'linear,2', 2);
  const seen = await page();
  await seen.goto(`${made.url}#/performance`);
  const slider = seen.getByLabel('Weight of s2');
  await slider.waitFor();
  await slider.fill('5');
  await until(async () => (await made.ask('api/v1/switches/2')).weight === 5, 'the weight');
  assert.equal((await made.ask('api/v1/switches/1')).weight, 1);
  await seen.getByRole('button', { name: /weights of the configuration/ }).click();
  await until(async () => (await made.ask('api/v1/switches/2')).weight === 1, 'the old weight');
  await withoutFaults(seen);
}

async function curves() {
  const made = await controller(DRAWS);
  const seen = await page();
  await seen.addInitScript(() => {
    const { clearRect } = CanvasRenderingContext2D.prototype;
    window.drawn = 0;
    CanvasRenderingContext2D.prototype.clearRect = function (...where) {
      window.drawn += 1;
      return clearRect.apply(this, where);
    };
  });
  await seen.goto(`${made.url}#/performance`);
  await seen.locator('.chart canvas').nth(2).waitFor();
  const now = async () => ({ drawn: await seen.evaluate(() => window.drawn), asked: seen.asked.filter((url) => url.includes('statistics')).length });
  // By then the charts have their size.
  await until(async () => (await now()).asked >= 2, 'a second moment');
  const before = await now();
  await until(async () => (await now()).asked >= before.asked + 4, 'four more moments', 30_000);
  const after = await now();
  const [drawn, moments] = [after.drawn - before.drawn, after.asked - before.asked + 1];
  assert.ok(drawn > 0 && drawn <= 3 * moments, `three curves were drawn ${drawn} times in ${moments} moments`);
  await withoutFaults(seen);
}

async function hostile() {
  const made = await controller(['--apps', 'acl,static-flows,topology,hosts,arp-proxy,routing,route-flow,spanning']);
  await network(made, 'linear,2', 2, ['--pingall', '--for', '300', '--load', '5']);
  await made.ask('api/v1/names/1', 'PUT', { name: HOSTILE });
  const kept = encodeURIComponent(HOSTILE);
  await made.ask(`api/v1/static-flows/${kept}`, 'PUT', { switch: '*', match: { in_port: 1 }, actions: ['output:2'] });
  await made.ask(`api/v1/acl/${kept}`, 'PUT', { action: 'deny', match: { eth_type: '0x1234' } });
  const seen = await page();
  // What a switch, an old controller or a proxy could say of itself, in every place of an answer.
  await seen.route('**/api/v1/**', async (route) => {
    if (/events|follow|openapi/.test(route.request().url()) || route.request().method() !== 'GET') return route.continue();
    const answer = await route.fetch();
    const text = await answer.text();
    const spoilt = text.replace(/"(s\d-eth\d|0x0|up|1\.3|output:\d|127\.0\.0\.1:\d+|fixed|hosts|parallel)"/g, () => JSON.stringify(HOSTILE));
    await route.fulfill({ response: answer, body: spoilt });
  });
  const parts = ['', 'ports', 'flows', 'groups', 'tables', 'events'].map((part) => `switches/0000000000000001/${part}`);
  for (const place of [...PLACES, ...parts]) {
    await seen.goto(`${made.url}#/${place}?q=${place === 'topology' ? kept : ''}`);
    await seen.waitForTimeout(250);
    await withoutFaults(seen);
  }
  await seen.keyboard.press('/');
  await seen.getByRole('combobox').fill('<img');
  await see(seen, 'onerror');
  await withoutFaults(seen);
}

async function countsHosts() {
  const made = await controller(DRAWS);
  await network(made, 'single,6', 1, ['--pingall', '--for', '300', '--load', '5']);
  await until(async () => (await made.ask('api/v1/hosts?limit=1')).total === 6, 'hosts');
  const seen = await page();
  await seen.goto(`${made.url}#/performance`);
  const pulse = (name) => seen.locator('.pulse a', { hasText: name }).locator('b');
  await until(async () => (await pulse('hosts').textContent()) === '6', 'the number of hosts');
  await seen.waitForTimeout(1000);
  const lists = () => seen.asked.filter((asked) => /v1\/(hosts|links)$/.test(asked));
  assert.deepEqual(lists(), [], 'a page that shows neither asks for whole lists');
  await seen.keyboard.press('/');
  await seen.getByRole('combobox').fill('00:00:00:00:00:05');
  await seen.getByRole('option', { name: '10.0.0.5' }).waitFor();
  assert.ok(lists().length > 0);
  await withoutFaults(seen);
}

async function accessible() {
  const made = await controller(['--apps', 'acl,static-flows,topology,hosts,arp-proxy,routing,route-flow,spanning']);
  await network(made, 'tree,2,2', 3, ['--pingall', '--for', '300', '--load', '5']);
  for (const [dark, width] of [[true, 1280], [false, 390]]) {
    const seen = await page({ dark, width, height: 800 });
    for (const place of [...PLACES, 'switches/0000000000000001', 'switches/0000000000000001/flows']) {
      await seen.goto(`${made.url}#/${place}`);
      await seen.waitForTimeout(150);
      await seen.addScriptTag({ path: axe }).catch(() => seen.evaluate(readAxe()));
      const found = await seen.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      const serious = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact));
      const said = serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`);
      assert.deepEqual(said, [], `${place}, ${dark ? 'dark' : 'light'}, ${width}`);
      const isWide = await seen.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.ok(!isWide, `${place} is wider than ${width}`);
    }
  }
}

const readAxe = () => readFileSync(axe, 'utf8');

async function restart() {
  const first = await controller(DRAWS);
  await network(first, 'ring,4', 4);
  const seen = await page();
  await seen.goto(first.url);
  await seen.locator('.shape', { hasText: 'ring' }).waitFor();
  await first.stop();
  await see(seen, 'does not answer');
  await controller(DRAWS, first.ports);
  await seen.locator('.offline').waitFor({ state: 'detached', timeout: 2 * PATIENCE_MS });
  await seen.locator('.shape', { hasText: 'ring' }).waitFor({ timeout: 2 * PATIENCE_MS });
  await withoutFaults(seen);
}

async function behindProxy() {
  const made = await controller(DRAWS);
  await network(made, 'linear,2', 2);
  const url = await proxy(made.url, '/net/aldis/');
  const seen = await page();
  await seen.goto(url);
  await stage(seen).and(seen.locator('[aria-label*="2 switches"]')).waitFor();
  await seen.goto(`${url}#/settings`);
  await see(seen, 'fair-rounds');
  assert.ok(seen.asked.every((asked) => asked.startsWith(url)), seen.asked.join('\n'));
  await withoutFaults(seen);
}

async function largeTable() {
  const made = await controller(DRAWS);
  await network(made, 'single,2', 1);
  const seen = await page();
  const flow = (at) => ({ table: 0, priority: at, match: { tcp_dst: String(at) }, actions: ['output:2'], cookie: '0x0', age_s: 1, idle_timeout_s: 0, hard_timeout_s: 0 });
  const items = Array.from({ length: 10_000 }, (_, at) => flow(at));
  await seen.route('**/flows', (route) => route.fulfill({ json: { items, total: items.length } }));
  await seen.goto(`${made.url}#/switches/0000000000000001/flows`);
  await see(seen, '9999');
  assert.ok((await seen.locator('tbody tr').count()) < 120, 'all rows are in the page');
  await seen.locator('.rows').evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await seen.getByRole('cell', { name: 'TCP to 0', exact: true }).waitFor();
  await seen.getByLabel('Filter flows of').fill('tcp_dst=4242');
  await see(seen, '1 of 10000');
}

async function broken() {
  const made = await controller(DRAWS);
  await network(made, 'single,2', 1);
  const seen = await page();
  const problem = { type: 'urn:aldis:no-memory', title: 'Service Unavailable', status: 503, detail: 'there is no memory for this answer' };
  await seen.route('**/api/v1/switches', (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(problem) }));
  await seen.route('**/api/v1/apps', (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"apps": [' }));
  await seen.goto(`${made.url}#/switches`);
  await see(seen, 'there is no memory for this answer');
  await seen.goto(`${made.url}#/apps`);
  await see(seen, 'Not shown');
  await seen.unroute('**/api/v1/switches');
  await seen.goto(`${made.url}#/switches`);
  await seen.getByRole('link', { name: 's1' }).waitFor();
  await withoutFaults(seen);
}

async function applications() {
  const made = await controller(['--apps', 'hub']);
  await network(made, 'single,3', 1);
  const seen = await page();
  await seen.goto(`${made.url}#/apps`);
  const card = (name) => seen.locator('article.card', { has: seen.getByRole('button', { name, exact: true }) });
  const state = async (name) => (await made.ask('api/v1/apps')).apps.find((app) => app.name === name)?.state;
  await card('hub').getByRole('button', { name: 'Stop' }).click();
  await card('hub').getByText('stopped', { exact: true }).waitFor();
  await card('learning-switch').getByRole('button', { name: 'Start' }).click();
  await card('learning-switch').getByText('runs', { exact: true }).waitFor();
  assert.deepEqual([await state('hub'), await state('learning-switch')], ['stopped', 'running']);
  await seen.getByLabel('Install: the package').setInputFiles(PACKAGE);
  await see(seen, 'simple-switch.app is installed, and runs.');
  await card('simple-switch').getByText('0.1.0').waitFor();
  await seen.getByRole('button', { name: 'Change the order for flow-request' }).click();
  await seen.getByRole('button', { name: 'learning-switch earlier' }).click();
  await seen.getByRole('button', { name: 'Use this order' }).click();
  const order = async () => (await made.ask('api/v1/apps')).sequences.find((one) => one.on === 'flow-request').apps;
  await until(async () => (await order())[0] === 'learning-switch', 'another order');
  await seen.getByLabel('Replace: the package').setInputFiles(PACKAGE);
  await see(seen, 'simple-switch was replaced');
  await seen.getByLabel('Install: the package').setInputFiles({ name: 'broken.app', mimeType: '', buffer: Buffer.from('none') });
  await see(seen, 'the package is refused');
  await card('simple-switch').getByRole('button', { name: 'Shadow' }).click();
  await seen.getByLabel('Choose its package: the package').setInputFiles(PACKAGE);
  const shadow = seen.getByLabel('In the shadow of simple-switch');
  await shadow.getByText('0.1.0').waitFor();
  await shadow.getByRole('button', { name: 'Give it up' }).click();
  await shadow.waitFor({ state: 'detached' });
  await card('simple-switch').getByRole('button', { name: 'Shadow' }).click();
  await seen.getByLabel('so many equal batches').fill('1000000');
  await seen.getByLabel('Choose its package: the package').setInputFiles(PACKAGE);
  await shadow.getByRole('button', { name: 'Promote' }).click();
  await see(seen, 'simple-switch is 0.1.0 now.');
  await shadow.waitFor({ state: 'detached' });
  await card('simple-switch').getByRole('button', { name: 'Log' }).click();
  await see(seen, 'No line yet');
  await seen.keyboard.press('Escape');
  await card('simple-switch').getByRole('button', { name: 'Remove' }).click();
  await seen.getByRole('button', { name: 'Remove it' }).click();
  await card('simple-switch').waitFor({ state: 'detached' });
  assert.equal(await state('simple-switch'), undefined);
  await withoutFaults(seen);
}

/** A newcomer's first minutes with Mininet, on a stage of their own: `newcomer.mjs`. */
async function newcomer() {
  const [stage, script] = ['stage.py', 'newcomer.mjs'].map((name) => new URL(name, import.meta.url).pathname);
  // The system's Python has Mininet's library.
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ALDIS_CONTROLLER: process.env.ALDIS_CONTROLLER ?? `${aldis} run` };
  const child = spawn('/usr/bin/python3', [stage, script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  atEnd(() => child.kill('SIGKILL'));
  let said = '';
  for (const from of [child.stdout, child.stderr]) from.on('data', (piece) => (said += piece));
  const status = await new Promise((done) => child.once('close', done));
  if (said !== '') console.log(said.trimEnd().replaceAll(/^/gm, '      '));
  assert.equal(status, 0, 'the stage says why');
}

/** By the sentence that each proves. */
export const SCENARIOS = [
  ['with Mininet, a network is shown, a link cut, traffic moved, and a flow that drops found and removed', newcomer],
  ['a page without switches says how to connect one, and asks no other server', nothingConnected],
  ['a fat tree is drawn as one, and a link that is cut is drawn so within a second', fatTree],
  ['rings, tori and trees are recognised', shapes],
  ['the picture bears a new size and new colours at one moment', resized],
  ['a packet is followed hop by hop, and the flow that drops it is found and removed', packet],
  ['a flow is checked, refused and added with the answer of the controller and the switch', flows],
  ['a weight that is moved counts at once', weights],
  ['curves are drawn once a moment', curves],
  ['a knob of the design is turned, or refused with its reason', knobs],
  ['names and answers that hold markup are shown as text', hostile],
  ['a page that shows no host asks how many there are, and the search for all of them', countsHosts],
  ['every page is accessible, in dark and light, wide and narrow', accessible],
  ['the page comes back by itself when the controller does', restart],
  ['applications are started, stopped, installed, replaced, reordered and removed', applications],
  ['the page of an application asks its routes, behind a prefix, and is accessible', appPage],
  ['the page of an application reaches nothing but its routes', appPageConfined],
  ['the key of the person before the screen decides what the page of an application may do', appPageKeys],
  ['the page of the rate monitor draws what ports carry', ratesPage],
  ['a key is asked for, and its role decides', keys],
  ['a key that is taken away is asked for again, and nothing that was typed is lost', revoked],
  ['the results of the laboratory are shown in a frame without scripts', reports],
  ['the log is followed, by level and by text, and what stands in it is text', log],
  ['the page works behind a proxy with a prefix', behindProxy],
  ['ten thousand flows scroll', largeTable],
  ['an answer that fails or breaks is said and recovered from', broken],
];
