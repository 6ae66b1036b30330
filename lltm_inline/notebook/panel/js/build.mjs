// Bundle the panel: `npm ci && node build.mjs [DIRECTORY]`, or `make bundle`. The same inputs give the same bytes.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = process.argv[2] ?? join(HERE, "..", "static");

// Whatever decides the bytes of the bundle. tests/notebook/test_bundle.py computes the same digest without node.
function inputs() {
  const sources = readdirSync(join(HERE, "src")).map((name) => `src/${name}`);
  return ["build.mjs", "package.json", "package-lock.json", ...sources].sort();
}

function digest() {
  const hash = createHash("sha256");
  for (const name of inputs()) {
    const bytes = readFileSync(join(HERE, name));
    hash.update(`${name}\n${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}

// The packages of which something is in the bundle, by name, each with its directory.
function packagesIn(metafile) {
  const found = new Map();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(input.split(sep).join("/"));
    if (match) found.set(match[2], join(HERE, match[1]));
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

function licences(packages) {
  const texts = packages.map(([name, directory]) => {
    const { version, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
    const file = readdirSync(directory).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} ${version} comes without the text of its licence`);
    const text = readFileSync(join(directory, file), "utf8").replaceAll("\r\n", "\n").trim();
    return `${name} ${version} (${license})\n${"-".repeat(72)}\n${text}\n`;
  });
  const head = "panel.js holds, besides lltm_inline's own code, the packages below, each under its own licence.\n";
  return [head, ...texts].join(`\n${"=".repeat(72)}\n`);
}

async function bundle(entry, outfile, banner) {
  const result = await build({
    absWorkingDir: HERE,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none", // they stand in THIRD_PARTY.txt, whole
    outfile: join(OUT, outfile),
  });
  writeFileSync(join(OUT, outfile), `${banner}\n${result.outputFiles[0].text}`);
  return result.metafile;
}

const banner = `/* Made by \`make bundle\` from notebook/panel/js; sha256 of its inputs: ${digest()} */`;
mkdirSync(OUT, { recursive: true });
const metafile = await bundle("src/panel.js", "panel.js", banner);
await bundle("src/panel.css", "panel.css", banner);
writeFileSync(join(OUT, "THIRD_PARTY.txt"), licences(packagesIn(metafile)));
for (const name of ["panel.js", "panel.css", "THIRD_PARTY.txt"]) {
  const size = readFileSync(join(OUT, name)).length;
  console.log(`${relative(process.cwd(), join(OUT, name))}: ${Math.round(size / 1024)} KiB`);
}
