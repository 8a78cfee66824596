// `npm run docs`: writes the pages of docs/ that are printed from code.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./lib/paths.mjs";
import { referencePages } from "./lib/reference-pages.ts";

for (const [name, text] of Object.entries(referencePages())) {
  writeFileSync(join(ROOT, "docs", name), text);
  console.log(`docs/${name}`);
}
