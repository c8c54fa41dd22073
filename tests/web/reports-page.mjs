// The page of the laboratory's results.

import { strict as assert } from 'node:assert';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { controller, folder, page } from './world.mjs';

const see = (where, text) => where.getByText(text, { exact: false }).first().waitFor();
/** A file may come from anywhere: what it holds does nothing to the page around it. */
const HOSTILE = `<script>globalThis.caught=1;parent.caught=1</script><img src=x onerror="globalThis.caught=1">`;

export async function reports() {
  const results = join(folder(), 'results');
  const made = await controller(['--http-reports', results]);
  const seen = await page();
  await seen.goto(`${made.url}#/reports`);
  await see(seen, 'The folder has no results yet');
  mkdirSync(join(results, 'maestro/figure-7'), { recursive: true });
  writeFileSync(join(results, 'report.html'), `<!doctype html><style>h1 { color: rgb(1, 2, 3) }</style><h1>What was found</h1>${HOSTILE}`);
  writeFileSync(join(results, 'maestro/figure-7/points.csv'), 'series,x\nours,1\n');
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>globalThis.caught=1</script><text x="2" y="15">drawn</text></svg>`;
  writeFileSync(join(results, 'maestro/figure-7/plot.svg'), svg);
  await seen.reload();
  await seen.getByRole('link', { name: 'report.html' }).click();
  const frame = seen.frameLocator('iframe');
  await frame.getByRole('heading', { name: 'What was found' }).waitFor();
  assert.equal(await frame.locator('h1').evaluate((one) => getComputedStyle(one).color), 'rgb(1, 2, 3)');
  await seen.getByRole('link', { name: 'All results' }).click();
  await seen.getByRole('link', { name: 'maestro/figure-7/points.csv' }).click();
  await frame.getByText('ours,1').waitFor();
  await seen.goBack();
  await seen.getByRole('link', { name: 'maestro/figure-7/plot.svg' }).click();
  await frame.getByText('drawn').waitFor();
  for (const one of seen.frames()) assert.equal(await one.evaluate(() => globalThis.caught), undefined);
  // Scripts of the files are what the browser refuses, and nothing else.
  assert.ok(seen.faults.every((fault) => /script/i.test(fault) || /img-src/.test(fault)), seen.faults.join('\n'));
  const { place } = await made.ask('api/v1/reports');
  for (const path of [`${place}..%2f..%2fetc/passwd`, `${place}maestro`, place.replace(/.\/$/, '!/') + 'report.html', 'reports/none/report.html']) {
    assert.equal((await fetch(made.url + path)).status, 404, path);
  }
}
