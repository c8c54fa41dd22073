// The page of an application, in its frame: what it shows, what it may ask for, and what it may not.

import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { axe, controller, folder, network, page, PATIENCE_MS, proxy, run, until } from './world.mjs';

/** The example of the SDK, which the suite builds before. */
const PACKAGE = new URL('../../target/sdk/packet-count.app', import.meta.url).pathname;
/** In a name, this runs where a page takes text for markup. */
const HOSTILE = `"><img src=x onerror="globalThis.caught=1"><script>globalThis.caught=1</script>`;

async function install(url, key) {
  const headers = { 'Content-Type': 'application/octet-stream', ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }) };
  const answer = await fetch(`${url}api/v1/apps`, { method: 'POST', headers, body: readFileSync(PACKAGE) });
  assert.equal(answer.status, 200, await answer.text());
}

/** The page in the frame, once it is there. */
async function opened(seen) {
  const link = seen.getByRole('link', { name: 'Page of packet-count' });
  await link.click();
  const frame = seen.frameLocator('iframe[title="The page of packet-count"]');
  await frame.getByRole('heading', { name: 'Packets' }).waitFor();
  const inside = seen.frames().find((one) => one.url().includes('/@pages/'));
  await inside.waitForFunction(() => globalThis.aldis !== undefined);
  return { frame, inside };
}

async function accessible(where) {
  await where.evaluate(readFileSync(axe, 'utf8'));
  const found = await where.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'], iframes: false, preload: false }));
  const serious = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact));
  assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes[0].target} ${one.nodes[0].failureSummary}`), []);
}

/** A page talks to its own application, behind any prefix, and takes names for text. */
export async function appPage() {
  const made = await controller(['--apps', 'hub']);
  await network(made, 'single,3', 1, ['--pingall', '--for', '300']);
  await install(made.url);
  await made.ask('api/v1/names/1', 'PUT', { name: HOSTILE });
  const url = await proxy(made.url, '/net/aldis/');
  const seen = await page();
  await seen.goto(`${url}#/apps`);
  const { frame, inside } = await opened(seen);
  await frame.getByText(HOSTILE).waitFor();
  const said = frame.locator('#said');
  // A busy browser hands a click to where a new frame was before: nothing is asked, and once more.
  await until(async () => {
    await frame.getByRole('button', { name: 'Forget them' }).click();
    return (await said.textContent()) !== '';
  }, 'the page says what came of it');
  assert.equal((await said.textContent()).trim(), 'forgotten');
  await until(async () => (await frame.locator('#packets').textContent()) === '0', 'nothing is counted any more');
  await accessible(seen);
  await accessible(inside);
  assert.equal(await inside.evaluate(() => globalThis.caught), undefined);
  assert.ok(seen.asked.every((asked) => asked.startsWith(url)), seen.asked.join('\n'));
  assert.deepEqual(seen.faults, []);
  await seen.getByRole('link', { name: 'All applications' }).click();
  await seen.getByRole('link', { name: 'Page of packet-count' }).waitFor();
}

/** Whatever a page says, no other path is asked for, and the page around it is out of reach. */
export async function appPageConfined() {
  const made = await controller(['--apps', 'hub']);
  await install(made.url);
  const seen = await page();
  await seen.goto(`${made.url}#/apps`);
  const { inside } = await opened(seen);
  const before = seen.asked.length;
  const paths = [
    '../api/v1/switches', '/../api/v1/switches', '..%2fapi/v1/switches', '%2e%2e/%2e%2e/api/v1/switches', 'a/../../../api',
    '//example.com/', 'https://example.com/', '\\\\example.com\\', '@pages/', '.', 'a//b', 'a#b', 'a b', `a${'b'.repeat(3000)}`,
  ];
  const refused = await inside.evaluate(async (all) => {
    const why = [];
    for (const path of all) why.push(await globalThis.aldis.get(path).then(() => 'answered', (error) => error.message));
    return why;
  }, paths);
  refused.forEach((why, at) => assert.match(why, /routes of its own application/, paths[at]));
  // Messages that are none of ours are not answered, and break nothing.
  await inside.evaluate(() => {
    const odd = [null, 'ask', 7, {}, { aldis: 'ask' }, { aldis: 'ask', id: 1, method: 'TRACE', path: 'counts' }, { aldis: 'ask', id: {}, method: 'GET', path: 'counts' }];
    odd.forEach((message) => parent.postMessage(message, '*'));
  });
  const reached = await inside.evaluate(async () => {
    const can = (what) => {
      try {
        what();
        return true;
      } catch {
        return false;
      }
    };
    return [
      can(() => parent.document.title),
      can(() => sessionStorage.length),
      can(() => localStorage.length),
      await fetch('/api/v1/switches').then(() => true, () => false),
      window.open('/api') !== null,
    ];
  });
  assert.deepEqual(reached, [false, false, false, false, false]);
  await inside.evaluate(() => {
    try {
      top.location.href = '/api';
    } catch {
      // The browser says so at once.
    }
  });
  assert.equal(new URL(seen.url()).hash, '#/apps/packet-count');
  const many = await inside.evaluate(async () => {
    const all = Array.from({ length: 40 }, () => globalThis.aldis.get('counts').then(() => 'answered', (error) => error.message));
    return Promise.all(all);
  });
  assert.ok(many.includes('answered') && many.some((why) => why.includes('in hand already')), many.join('\n'));
  const asked = seen.asked.slice(before).map((one) => new URL(one).pathname);
  const own = asked.filter((path) => path.startsWith('/apps/packet-count/') || path === '/api/v1/apps');
  const others = asked.filter((path) => !own.includes(path) && !/^\/api\/v1\/(health|events|switches|links|hosts|version|ports|statistics|weights)/.test(path));
  assert.deepEqual(others, []);
}

/** The key of the person before the screen decides what a page may do, and the page has none. */
export async function appPageKeys() {
  const file = join(folder(), 'access.toml');
  const token = (role) => run(['http', 'token', role, '--role', role, '--to', file]).match(/(\w+\.[\w-]+)\s*$/m)[1];
  const [reader, writer, admin] = ['read', 'write', 'admin'].map(token);
  const made = await controller(['--apps', 'hub', '--http-access', file]);
  await install(made.url, admin);
  const seen = await page();
  await seen.goto(`${made.url}#/apps`);
  const enter = async (key) => {
    await seen.locator('.login input').fill(key);
    await seen.getByRole('button', { name: 'Log in' }).click();
  };
  await enter(reader);
  const first = await opened(seen);
  await until(async () => (await first.frame.locator('#packets').textContent()) === '0', 'the counts');
  await first.frame.getByRole('button', { name: 'Forget them' }).click();
  await first.frame.getByText('this needs the role write').waitFor();
  assert.equal(await first.inside.evaluate(() => document.documentElement.outerHTML.includes('read.')), false);
  await seen.getByRole('button', { name: 'Log out' }).click();
  await enter(writer);
  const { frame } = await (async () => {
    await seen.goto(`${made.url}#/apps`);
    return opened(seen);
  })();
  await frame.getByRole('button', { name: 'Forget them' }).click();
  await frame.getByText('forgotten').waitFor({ timeout: 2 * PATIENCE_MS });
  assert.deepEqual(seen.faults, []);
}
