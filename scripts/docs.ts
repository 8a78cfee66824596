// `npm run docs`: writes the pages of docs/ and the stubs of the Python library that are printed from code.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./lib/paths.mjs";
import { referencePages } from "./lib/reference-pages.ts";
import { pythonStubs } from "./lib/stubs.ts";

const pages = Object.entries(referencePages()).map(([name, text]) => [`docs/${name}`, text] as const);

for (const [path, text] of [...pages, ...Object.entries(pythonStubs())]) {
  writeFileSync(join(ROOT, path), text);
  console.log(path);
}
