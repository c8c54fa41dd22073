// Runs the scenarios, or those whose sentence holds one of the words given; the last line counts them.

import { SCENARIOS } from './scenarios.mjs';
import { closeBrowser, sight, tidyUp } from './world.mjs';

// As many that fail are tried once more: on a machine that does other things too a deadline passes
// without a fault of the code. What fails twice is no accident, and what needed a second try is said.
const AGAIN_MAX = 3;

/** Runs one, says how it went, and returns whether it failed. */
async function fails([name, scenario]) {
  const start = performance.now();
  let error = null;
  let seen = '';
  try {
    await scenario();
  } catch (problem) {
    error = problem;
    seen = await sight();
  }
  await tidyUp();
  const took = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${error === null ? 'ok  ' : 'FAIL'}  ${name} (${took} s)`);
  if (error !== null) console.log(`      ${seen}\n      ${String(error.stack ?? error).split('\n').slice(0, 14).join('\n      ')}`);
  return error !== null;
}

/** Runs them one after the other, and returns those that failed. */
async function failing(scenarios) {
  const failed = [];
  for (const scenario of scenarios) if (await fails(scenario)) failed.push(scenario);
  return failed;
}

const words = process.argv.slice(2);
const chosen = SCENARIOS.filter(([name]) => words.length === 0 || words.some((word) => name.includes(word)));
let failed = await failing(chosen);
if (failed.length > 0 && failed.length <= AGAIN_MAX) {
  const first = failed;
  console.log(`once more: ${first.map(([name]) => name).join('; ')}`);
  failed = await failing(first);
  const mended = first.filter((scenario) => !failed.includes(scenario)).map(([name]) => name);
  console.log(`passed at the second try, to be mended: ${mended.join('; ') || 'none'}`);
}
await closeBrowser();
console.log(`${chosen.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 && chosen.length > 0 ? 0 : 1;
