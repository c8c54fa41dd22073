// The page of the SDK's rate monitor: a line for each port, drawn by its own script.

import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { axe, controller, network, page, until } from './world.mjs';

const PACKAGE = new URL('../../target/sdk/rate-monitor.app', import.meta.url).pathname;

/** A host floods the network: its rate stands in the table, and is drawn. */
export async function ratesPage() {
  const made = await controller(['--apps', 'hub']);
  const headers = { 'Content-Type': 'application/octet-stream' };
  const answer = await fetch(`${made.url}api/v1/apps`, { method: 'POST', headers, body: readFileSync(PACKAGE) });
  assert.equal(answer.status, 200, await answer.text());
  await network(made, 'single,2', 1, ['--at', '0s storm h1 1000', '--for', '300']);
  const seen = await page();
  await seen.goto(`${made.url}#/apps`);
  await seen.getByRole('link', { name: 'Page of rate-monitor' }).click();
  const frame = seen.frameLocator('iframe[title="The page of rate-monitor"]');
  await frame.getByText(/^\d{3} kbit\/s$/).first().waitFor();
  const inside = seen.frames().find((one) => one.url().includes('/@pages/'));
  const drawn = () => inside.evaluate(() => {
    const canvases = [...document.querySelectorAll('canvas')];
    const marked = (one) => one.getContext('2d').getImageData(0, 0, one.width, one.height).data.some((byte) => byte > 0);
    return canvases.length === 2 && canvases.every(marked);
  });
  await until(drawn, 'a line for each port');
  await inside.evaluate(readFileSync(axe, 'utf8'));
  const found = await inside.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'], iframes: false, preload: false }));
  const serious = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact));
  assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes[0].target} ${one.nodes[0].failureSummary}`), []);
  assert.deepEqual(seen.faults, []);
}
