import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findTreeProblem } from "@appdb/contract/control/project-tree";
import { Random } from "@appdb/engine/expressions/testing/random";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NAMES, randomTree } from "./testing/random-trees.ts";
import { OPEN, writeEntries } from "./write-entries.ts";

const TREES = process.env.APPDB_FAULTS === "long" ? 10_000 : 1_000;
const signal = new AbortController().signal;

let base: string;
/** Folder four levels deep. Each level above has files and folders with names that the trees use. */
let above: string;
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "appdb-random-trees-")));
  above = base;
  for (const name of NAMES) {
    for (const other of NAMES) if (other !== name) writeFileSync(join(above, other), "outside");
    above = join(above, name);
    mkdirSync(above);
  }
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

test(`keeps every path of ${TREES} random accepted trees inside the tree`, async () => {
  const random = new Random(20261123);
  const seen = { accepted: 0, refused: 0, links: 0 };
  for (let left = TREES; left > 0; left--) {
    const entries = randomTree(random);
    if (findTreeProblem(entries) !== undefined) {
      seen.refused += 1;
      continue;
    }
    seen.accepted += 1;
    const tree = join(above, `tree-${left}`);
    mkdirSync(tree);
    await writeEntries(
      entries.map((entry) => ({ ...entry, bytes: () => [] })),
      tree,
      OPEN,
      signal,
    );
    for (const { link, path } of entries) {
      const real = realOf(join(tree, path));
      if (real === undefined) continue;
      if (link !== null) seen.links += 1;
      expect(real === tree || real.startsWith(`${tree}/`), `${path} of ${JSON.stringify(entries)}`).toBe(true);
    }
    rmSync(tree, { recursive: true });
  }
  // the run covered accepted and refused trees, and links to existing entries
  expect(Math.min(seen.accepted, seen.refused, seen.links)).toBeGreaterThan(TREES / 20);
}, 300_000);

/** Undefined for a broken or circular link. */
function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}
