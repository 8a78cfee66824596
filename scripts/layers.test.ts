import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { APART, findLayerViolations, LAYERS } from "./lib/layers.mjs";
import { ROOT } from "./lib/paths.mjs";

const IS_TEST = /\.test\.ts$|\/testing\//;

function readPackages(): Map<string, string> {
  const args = ["ls-files", "-co", "--exclude-standard", "--", ...Object.keys(LAYERS)];
  const paths = execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).split("\n");
  const code = paths.filter((path) => /\.tsx?$/.test(path) && !IS_TEST.test(path) && existsSync(join(ROOT, path)));
  return new Map(code.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
}

test("every import goes to a lower layer", () => {
  const files = readPackages();
  expect(files.size).toBeGreaterThan(300);
  expect(findLayerViolations(files)).toEqual([]);
});

describe.each(Object.entries(LAYERS))("in %s", (root, layers) => {
  const fileIn = (folder: string) => (folder === "." ? `${root}/planted.ts` : `${root}/${folder}/planted.ts`);
  const specifierOf = (from: string, to: string) =>
    `${from === "." ? "." : ".."}/${to === "." ? "x.ts" : `${to}/x.ts`}`;
  const plant = (from: string, to: string, word: string) =>
    findLayerViolations(new Map([[fileIn(from), `${word} { x } from "${specifierOf(from, to)}";\n`]]));
  const upwards = layers.flatMap((lower, at) =>
    layers.slice(at + 1).flatMap((higher) => lower.flatMap((from) => higher.map((to) => [from, to] as const))),
  );
  const within = layers.flatMap((folders) =>
    folders.flatMap((from) => folders.filter((to) => to !== from).map((to) => [from, to] as const)),
  );
  const apart = Object.entries(APART[root as keyof typeof APART] ?? {}).flatMap(([from, others]) =>
    others.map((to) => [from, to] as const),
  );

  test.each([...upwards, ...within, ...apart])("%s does not import %s", (from, to) => {
    for (const word of ["import", "import type", "export"]) {
      expect(plant(from, to, word)).toEqual([`${fileIn(from)}: ${from} does not import ${to}`]);
    }
  });

  test("a dynamic import counts", () => {
    const [lowest, highest] = [layers[0]?.[0] ?? "", layers.at(-1)?.[0] ?? ""];
    const text = `const { x } = await import("${specifierOf(lowest, highest)}");\n`;
    expect(findLayerViolations(new Map([[fileIn(lowest), text]]))).toHaveLength(1);
  });

  test("allows imports of lower layers and requires a layer for new folders", () => {
    const [lowest, next] = [layers[0]?.at(-1) ?? "", layers[1]?.[0] ?? ""];
    expect(plant(next, lowest, "import")).toEqual([]);
    expect(findLayerViolations(new Map([[`${root}/unknown/x.ts`, ""]]))).toEqual([
      `${root}/unknown/x.ts: the folder unknown has no layer`,
    ]);
  });
});
