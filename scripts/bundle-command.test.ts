import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bundleIntoFiles } from "./lib/bundle-command.mjs";

/** Each module prints its name when it is loaded. */
const MODULES = {
  "main.ts": `import { sep } from "node:path";
import { shared } from "./shared.ts";
console.log("main", shared, sep);
const load = { often: () => import("./often.ts"), seldom: () => import("./seldom.ts") };
const names = process.argv.slice(2) as (keyof typeof load)[];
names.reduce((done, name) => done.then(async () => console.log(await (await load[name]()).run())), Promise.resolve());
`,
  "shared.ts": `console.log("load shared");\nexport const shared = "SHARED";\n`,
  "often.ts": `import { basename } from "node:path";
import { both } from "./both.ts";
import { shared } from "./shared.ts";
console.log("load often");
export const run = async () => [basename("/folder/often"), both(), shared].join();
`,
  "both.ts": `console.log("load both");\nexport const both = () => "BOTH";\n`,
  "seldom.ts": `import { both } from "./both.ts";
console.log("load seldom");
export const run = async () => [both(), (await import("./other-bundle.js")).name, require("node:os").EOL.length].join();
`,
};
const FILES = [
  { name: "first", modules: ["main.ts"] },
  { name: "second", modules: ["often.ts"] },
  { name: "third", modules: [] },
];
const OPTIONS = {
  bundle: true,
  platform: "node",
  target: "node20.19",
  supported: { "dynamic-import": false },
  banner: { js: "// a banner" },
  external: ["./other-bundle.js"],
  minifyIdentifiers: true,
  minifySyntax: true,
  minifyWhitespace: true,
};

let folder: string;
let target: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-bundle-"));
  target = mkdtempSync(join(tmpdir(), "appdb-bundled-"));
  for (const [name, text] of Object.entries(MODULES)) writeFileSync(join(folder, name), text);
  writeFileSync(join(target, "package.json"), '{ "type": "commonjs" }\n');
  writeFileSync(join(target, "other-bundle.js"), 'exports.name = "OTHER";\n');
});
afterEach(() => {
  for (const path of [folder, target]) rmSync(path, { recursive: true });
});

const bundle = (files = FILES) => bundleIntoFiles(target, { root: folder, entry: "main.ts", files, ...OPTIONS });
const run = (...words: string[]) =>
  execFileSync(process.execPath, [join(target, "first.js"), ...words], { encoding: "utf8" })
    .trim()
    .split("\n");

test("a part is in the first file whose modules need it, and in no other", async () => {
  await bundle();
  const texts = ["first", "second", "third"].map((name) => readFileSync(join(target, `${name}.js`), "utf8"));
  const places = Object.keys(MODULES).map((file) => {
    const mark = `"${file === "main.ts" ? "main" : `load ${file.slice(0, -3)}`}"`;
    return [file, texts.flatMap((text, at) => (text.split(mark).length === 2 ? [at + 1] : []))];
  });
  expect(Object.fromEntries(places)).toEqual({
    "main.ts": [1],
    "shared.ts": [1],
    "often.ts": [2],
    "both.ts": [2],
    "seldom.ts": [3],
  });
  expect(texts.every((text) => text.startsWith("// a banner\n"))).toBe(true);
  expect(readdirSync(target).filter((name) => name.endsWith(".new"))).toEqual([]);
});

test("each part is loaded once, at its first use, and other names are those of Node", async () => {
  await bundle();
  const start = ["load shared", "main SHARED /"];
  expect(run()).toEqual(start);
  expect(run("seldom", "often", "seldom")).toEqual([
    ...start,
    "load both",
    "load seldom",
    "BOTH,OTHER,1",
    "load often",
    "often,BOTH,SHARED",
    "BOTH,OTHER,1",
  ]);
});

test("a file is read when one of its parts is used", async () => {
  await bundle();
  rmSync(join(target, "third.js"));
  expect(run("often").at(-1)).toBe("often,BOTH,SHARED");
  rmSync(join(target, "second.js"));
  expect(run()).toHaveLength(2);
});

test("a module that no import() loads is refused by name", async () => {
  const files = [{ name: "first", modules: ["main.ts", "both.ts"] }, ...FILES.slice(1)];
  await expect(bundle(files)).rejects.toThrow("first.js: no import() loads both.ts.");
});

test("compiled code of the previous files is removed", async () => {
  for (const name of ["first", "second"]) writeFileSync(join(target, `${name}.compiled`), "old");
  await bundle();
  expect(readdirSync(target).filter((name) => name.endsWith(".compiled"))).toEqual([]);
});
