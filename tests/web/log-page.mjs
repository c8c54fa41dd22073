// The page of the controller's log.

import { strict as assert } from 'node:assert';
import { controller, network, page } from './world.mjs';

const lines = (where) => where.locator('.log-line');

export async function log() {
  const made = await controller();
  const seen = await page();
  await seen.goto(`${made.url}#/log`);
  await network(made, 'ring,4', 4);
  await lines(seen).filter({ hasText: 'switch 0000000000000004 is up' }).waitFor();
  await seen.getByRole('radio', { name: 'Warnings' }).click();
  await lines(seen).filter({ hasText: 'is up' }).first().waitFor({ state: 'detached' });
  await seen.getByRole('radio', { name: 'All' }).click();
  await seen.getByLabel('Filter log').fill('switch 0000000000000003');
  await lines(seen).nth(1).waitFor({ state: 'detached' });
  assert.match(await lines(seen).first().textContent(), /switch 0000000000000003 is up/);
  assert.deepEqual(seen.faults, []);
  await hostile(made);
}

/** What a switch calls itself may stand in a line. */
async function hostile(made) {
  const text = `"><img src=x onerror="globalThis.caught=1">\u001b[31m\u202eevil\n2026-01-01 forged`;
  const line = { id: 'ab-1', at: '2026-11-26T01:00:00.000Z', level: 'warn', text };
  const odd = { id: 'ab-2', at: 'never', level: text, text: 'x'.repeat(4000) };
  const seen = await page();
  const body = [line, odd].map((one) => `id: ${one.id}\ndata: ${JSON.stringify(one)}\n\n`).join('');
  await seen.route('**/api/v1/log/follow*', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
  await seen.goto(`${made.url}#/log`);
  await lines(seen).filter({ hasText: '<img src=x' }).first().waitFor();
  const shown = await lines(seen).filter({ hasText: '<img src=x' }).first().textContent();
  assert.ok(shown.includes('\\u{1b}[31m\\u{202e}evil\\u{a}2026-01-01 forged'), shown);
  assert.equal(await seen.evaluate(() => globalThis.caught), undefined);
  assert.equal(await seen.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
  assert.deepEqual(seen.faults, []);
}
