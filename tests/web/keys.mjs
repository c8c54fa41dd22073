// Keys and roles, as a person meets them.

import { strict as assert } from 'node:assert';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { controller, folder, page, run, until } from './world.mjs';

const see = (where, text) => where.getByText(text, { exact: false }).first().waitFor();

/** A controller with a key for each role, and how to log in with one of them. */
async function locked() {
  const file = join(folder(), 'access.toml');
  const token = (role) => run(['http', 'token', role, '--role', role, '--to', file]).match(/(\w+\.[\w-]+)\s*$/m)[1];
  const [reader, writer, admin] = ['read', 'write', 'admin'].map(token);
  const made = await controller(['--http-access', file]);
  const seen = await page();
  await seen.goto(made.url);
  const enter = async (key) => {
    await seen.locator('.login input').fill(key);
    await seen.getByRole('button', { name: 'Log in' }).click();
  };
  await see(seen, 'Log in to this controller');
  return { file, reader, writer, admin, made, seen, enter };
}

export async function keys() {
  const { reader, writer, admin, made, seen, enter } = await locked();
  await enter('read.wrong');
  await see(seen, 'no such token or password is known');
  await enter(reader);
  await see(seen, 'No switch is connected yet');
  await seen.getByRole('button', { name: 'Log out read' }).getByText('read').waitFor();
  await seen.goto(`${made.url}#/static-flows`);
  await seen.locator('[aria-disabled=true]', { hasText: 'Keep a flow' }).waitFor();
  // Whoever tries all the same is told why.
  await seen.getByRole('button', { name: 'Keep a flow' }).click({ force: true });
  await see(seen, 'This needs the role write; your key has the role read.');
  assert.equal(await seen.locator('dialog').count(), 0);
  await seen.goto(`${made.url}#/performance`);
  assert.ok(await seen.getByLabel('bdu-us', { exact: true }).or(seen.getByLabel('ibt', { exact: true })).first().isDisabled());
  await seen.goto(`${made.url}#/log`);
  await see(seen, 'The log is for administrators');
  await seen.getByRole('button', { name: 'Log out' }).click();
  await enter(writer);
  await seen.goto(`${made.url}#/static-flows`);
  await seen.locator(':not([aria-disabled])', { hasText: 'Keep a flow' }).first().waitFor();
  await until(async () => (await seen.locator('[aria-disabled]').count()) === 0, 'the role of the new key');
  await seen.getByRole('button', { name: 'Keep a flow' }).click();
  await seen.getByLabel('Name').fill('mine');
  await seen.getByRole('button', { name: 'Keep it' }).click();
  await see(seen, '“mine” is kept');
  await seen.getByRole('button', { name: 'Log out' }).click();
  await enter(admin);
  await seen.goto(`${made.url}#/log`);
  made.signal('SIGHUP');
  await seen.locator('.log-line', { hasText: 'SIGHUP' }).first().waitFor();
  assert.deepEqual(seen.faults, []);
}

/** The key goes while a form is filled in; with another one it is sent as it is. */
export async function revoked() {
  const { file, writer, admin, made, seen, enter } = await locked();
  await enter(writer);
  await see(seen, 'No switch is connected yet');
  await seen.goto(`${made.url}#/static-flows`);
  await seen.getByRole('button', { name: 'Keep a flow' }).click();
  await seen.getByLabel('Name').fill('half typed');
  await seen.getByLabel('Which packets').fill('in_port=7');
  const tables = readFileSync(file, 'utf8').split(/(?=^\[\[)/m);
  writeFileSync(file, tables.filter((table) => !table.includes('"write"')).join(''));
  made.signal('SIGHUP');
  await see(seen, 'Your key is not known any more');
  assert.equal(await seen.locator('.login').evaluate((box) => box.contains(document.elementFromPoint(innerWidth / 2, innerHeight / 2))), true);
  await enter(admin);
  await seen.locator('.login').waitFor({ state: 'detached' });
  assert.equal(await seen.getByLabel('Name').inputValue(), 'half typed');
  await seen.getByRole('button', { name: 'Keep it' }).click();
  await see(seen, '“half typed” is kept');
  assert.deepEqual(seen.faults, []);
}
