// Puts what Vite built where the controller's crate includes it, compressed once, with a list of the
// sources that it was built from: `cargo xtask tidy` holds the list against them, without Node.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(web);
const ui = join(root, 'crates/http/ui');
/** Bytes of everything that a browser loads, compressed: the goal of the interface. */
const LOADED_MAX = 300 * 1024;

const sum = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

/** The files below a folder of this package, by their path from the top. */
function below(folder) {
  const entries = readdirSync(join(web, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? below(path) : [path];
  });
}

mkdirSync(ui, { recursive: true });
let loaded = 0;
const built = ['app.js', 'app.css', 'index.html', 'icon.svg'].map((name) => {
  const bytes = readFileSync(join(web, 'dist', name));
  const isText = name.endsWith('.js') || name.endsWith('.css');
  const packed = isText ? gzipSync(bytes, { level: 9 }) : bytes;
  // The byte that names the system of the packer is the same everywhere.
  if (isText) packed[9] = 255;
  loaded += packed.length;
  const path = `crates/http/ui/${name}${isText ? '.gz' : ''}`;
  writeFileSync(join(root, path), packed);
  return path;
});
const alone = ['index.html', 'package.json', 'package-lock.json', 'tsconfig.json', 'vite.config.ts'];
const sources = [...alone, ...['src', 'public', 'build'].flatMap(below)].map((path) => `web/${path}`);
const lines = [...sources, ...built].sort().map((path) => `${sum(join(root, path))}  ${path}`);
writeFileSync(join(ui, 'SHA256SUMS'), `${lines.join('\n')}\n`);
console.log(`${built.length} files, ${(loaded / 1024).toFixed(1)} KiB compressed`);
if (loaded > LOADED_MAX) throw new Error(`more than ${LOADED_MAX / 1024} KiB`);
