// Takes a picture of every page in its four forms (dark and light, wide and a phone's width), to be
// looked at before a page is called done. Run from the top, with a folder for the pictures:
//     node tests/web/pictures.mjs target/pictures [PAGE…]

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { closeBrowser, controller, network, page, tidyUp, until } from './world.mjs';

const [to = 'target/pictures', ...chosen] = process.argv.slice(2);
/** Until a page has asked for what it shows, and its charts have a few points. */
const SETTLE_MS = 3000;
const FORMS = [
  { name: 'dark-wide', dark: true, width: 1280, height: 800 },
  { name: 'light-wide', dark: false, width: 1280, height: 800 },
  { name: 'dark-narrow', dark: true, width: 390, height: 844 },
  { name: 'light-narrow', dark: false, width: 390, height: 844 },
];

const made = await controller();
await network(made, 'fat-tree,4', 20, ['--for', '600', '--load', '200', '--peers', '2']);
await until(async () => (await made.ask('api/v1/hosts?limit=1')).total >= 16, 'sixteen hosts', 60_000);
const pages = [
  'topology', 'switches', 'hosts', 'performance', 'apps', 'static-flows', 'acl', 'events', 'log', 'reports', 'settings',
  ...['', 'ports', 'flows', 'groups', 'meters', 'tables', 'events'].map((part) => `switches/1/${part}`),
];
mkdirSync(to, { recursive: true });
for (const { name, ...form } of FORMS) {
  const seen = await page(form);
  for (const path of pages.filter((path) => chosen.length === 0 || chosen.includes(path))) {
    await seen.goto(`${made.url}#/${path}`);
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    const file = join(to, `${path.replaceAll(/[^a-z0-9-]+/g, '-')}.${name}.png`);
    await seen.screenshot({ path: file, fullPage: true });
    console.log(file);
  }
  for (const fault of seen.faults) console.log(`${name}: ${fault}`);
}
await tidyUp();
await closeBrowser();
