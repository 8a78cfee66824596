#!/usr/bin/env node
// Compares docs/spec-coverage.md with a specification, sentence by sentence: node scripts/compare-spec.mjs SPEC.md
import { readFileSync } from "node:fs";
import { compareWithSpec } from "./lib/spec-coverage.mjs";

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error("Usage: node scripts/compare-spec.mjs SPEC.md");
  process.exit(2);
}
const { uncovered, unknown } = compareWithSpec(readFileSync(file, "utf8"));
for (const { key, text } of uncovered) console.log(`no row: ${key}  ${text}`);
for (const key of unknown) console.log(`no sentence: ${key}`);
process.exitCode = uncovered.length + unknown.length === 0 ? 0 : 1;
