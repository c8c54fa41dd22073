// What a newcomer does in the first minutes: start a network with the line that the page offers, cut a
// link, watch traffic move, find the flow that drops a packet and take it away. `stage.py` is its
// stage: this page runs beside Open vSwitch and the controller, and types into Mininet's terminal.

import { strict as assert } from 'node:assert';
import { createInterface } from 'node:readline';
import { closeBrowser, page, PATIENCE_MS, sight, tidyUp, until } from './world.mjs';

/** Where a controller without options serves. */
const URL_HERE = 'http://127.0.0.1:8080/';
/** From an empty page to the network on the screen. */
const SHOWN_MS = 120_000;
/** A link that is cut is drawn so within this time. */
const CUT_MS = 1000;
/** After which time a flow that is kept is on its switch, or gone from it. */
const KEPT_MS = 2 * PATIENCE_MS;

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Types a line into the terminal; what it printed. */
async function type(line) {
  process.stdout.write(`${JSON.stringify({ type: line })}\n`);
  const { value, done } = await answers.next();
  assert.ok(!done, `the terminal is gone: ${line}`);
  return JSON.parse(value).said;
}

const see = (where, text, timeout = PATIENCE_MS) => where.getByText(text, { exact: false }).first().waitFor({ timeout });
const picture = (where, words) => where.locator('.stage').and(where.locator(`[aria-label*="${words}"]`));
const ask = async (path) => (await fetch(URL_HERE + path)).json();
const lost = (said) => said.match(/(\d+)% (?:packet loss|dropped)/)?.[1];

/**
 * The switches that the panel names, in order, once flows lead the packet the whole way. In the first
 * seconds of a network packets pass by the controller, without flows: then the packet is sent again.
 */
async function hops(seen) {
  const verdict = seen.locator('.way .verdict');
  const arrives = async () => {
    await type('h1x1 ping -c 1 -W 1 h1x2');
    await seen.getByRole('button', { name: 'Ask again' }).click();
    await verdict.waitFor();
    return (await verdict.textContent()).includes('It arrives at 10.0.0.2');
  };
  await until(arrives, 'a way by flows to 10.0.0.2', KEPT_MS);
  return (await seen.locator('.hops .hop-head a').allTextContents()).map((name) => name.trim());
}

async function shown(seen) {
  const start = performance.now();
  await seen.goto(URL_HERE);
  await see(seen, 'No switch is connected yet');
  await seen.getByRole('button', { name: 'Copy this line' }).first().click();
  await see(seen, 'Copied');
  const line = await seen.evaluate(() => navigator.clipboard.readText());
  assert.match(line, /^sudo mn --controller remote,ip=127\.0\.0\.1 /);
  await type(line);
  await picture(seen, '9 switches (torus), 18 links of which 0 are down').waitFor({ timeout: SHOWN_MS });
  console.log(`the network was on the screen after ${((performance.now() - start) / 1000).toFixed(1)} s`);
  assert.ok(performance.now() - start < SHOWN_MS);
  await until(async () => lost(await type('pingall')) === '0', 'all hosts reach all', KEPT_MS);
  await picture(seen, '9 hosts').waitFor();
}

/** The link between the first two switches is cut: drawn so within a second, and traffic goes around it. */
async function moved(seen) {
  await seen.keyboard.press('p');
  await seen.getByLabel('From').fill('10.0.0.1');
  await seen.getByLabel('To', { exact: true }).fill('10.0.0.2');
  assert.deepEqual(await hops(seen), ['s257', 's258']);
  const start = performance.now();
  const drawn = seen.locator('.hud-bottom .down').waitFor().then(() => performance.now() - start);
  const [, took] = await Promise.all([type('link s1x1 s1x2 down'), drawn]);
  console.log(`a link that was cut was drawn so after ${took.toFixed(0)} ms`);
  assert.ok(took <= CUT_MS, `drawn after ${took} ms`);
  assert.equal(lost(await type('h1x1 ping -c 3 -W 5 h1x2')), '0');
  const around = await hops(seen);
  assert.ok(around.length > 2 && around[0] === 's257' && around.at(-1) === 's258', around.join());
}

/** A flow that a colleague keeps drops packets: the page finds it, and takes it away. */
async function found(seen) {
  const dropping = { switch: '*', priority: 60_000, match: { eth_dst: (await ask('api/v1/hosts')).items.find((one) => one.ips.includes('10.0.0.2')).mac }, actions: [] };
  const headers = { 'Content-Type': 'application/json' };
  const put = await fetch(`${URL_HERE}api/v1/static-flows/quarantine`, { method: 'PUT', headers, body: JSON.stringify(dropping) });
  assert.equal(put.status, 200);
  await until(async () => lost(await type('h1x1 ping -c 1 -W 1 h1x2')) === '100', 'the packets are dropped', KEPT_MS);
  await seen.getByRole('button', { name: 'Ask again' }).click();
  await see(seen, 's257 drops it: the flow below decides');
  await seen.locator('.hops').getByText('priority 60000').waitFor();
  await seen.locator('.hops').getByText('static-flows').waitFor();
  await seen.locator('.hops a', { hasText: 's257' }).click();
  await seen.getByLabel('Filter flows of').fill('60000');
  await seen.getByRole('row', { name: '60000' }).getByRole('button', { name: 'Remove this flow' }).click();
  await see(seen, 'It is kept as “quarantine”');
  await seen.getByRole('button', { name: 'Keep it no more', exact: true }).click();
  await see(seen, '“quarantine” is kept no more');
  await until(async () => lost(await type('h1x1 ping -c 1 -W 2 h1x2')) === '0', 'packets pass again', KEPT_MS);
  await seen.getByRole('row', { name: '60000' }).waitFor({ state: 'detached' });
  // The way back leads to the packet that was followed.
  await seen.goBack();
  assert.ok((await hops(seen)).length > 2);
}

try {
  const seen = await page({ permissions: ['clipboard-read', 'clipboard-write'] });
  await shown(seen);
  await moved(seen);
  await found(seen);
  assert.deepEqual(seen.faults, []);
} catch (problem) {
  console.log(`${await sight()}\n${problem.stack ?? problem}`);
  process.exitCode = 1;
} finally {
  await tidyUp();
  await closeBrowser();
  process.exit();
}
