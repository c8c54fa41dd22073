// Runs the scenarios, or those whose sentence holds one of the words given; the last line counts them.

import { SCENARIOS } from './scenarios.mjs';
import { closeBrowser, sight, tidyUp } from './world.mjs';

const words = process.argv.slice(2);
const chosen = SCENARIOS.filter(([name]) => words.length === 0 || words.some((word) => name.includes(word)));
let failed = 0;
for (const [name, scenario] of chosen) {
  const start = performance.now();
  let error = null;
  let seen = '';
  try {
    await scenario();
  } catch (problem) {
    error = problem;
    seen = await sight();
    failed += 1;
  }
  await tidyUp();
  const took = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${error === null ? 'ok  ' : 'FAIL'}  ${name} (${took} s)`);
  if (error !== null) console.log(`      ${seen}\n      ${String(error.stack ?? error).split('\n').slice(0, 14).join('\n      ')}`);
}
await closeBrowser();
console.log(`${chosen.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 && chosen.length > 0 ? 0 : 1;
