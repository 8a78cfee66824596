import { execFileSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findTreeProblem, listTreePart, type TreeEntry } from "@appdb/contract/control/project-tree";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { Random } from "@appdb/engine/expressions/testing/random";
import { fileOf, linkOf, NAMES, randomTree } from "@appdb/system/files/testing/random-trees";
import { OPEN, writeEntries } from "@appdb/system/files/write-entries";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeProjectFiles } from "./project-files.ts";

const DOCUMENTS = process.env.APPDB_FAULTS === "long" ? 10_000 : 250;
const CANARY = "canary-6b1f0e";
const signal = new AbortController().signal;

/** The server's home, with the unpacked project and the draft of an image. */
let home: string;
let tree: string;
let draft: string;

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "appdb-project-files-")));
  tree = join(home, "a/b/c/tree");
  draft = join(home, "b/c/d/draft");
  for (const folder of [tree, draft]) mkdirSync(folder, { recursive: true });
  mkdirSync(join(home, "out"));
  for (const name of NAMES) plant(join(home, "out", name));
  for (const folder of ["", "a", "a/b", "a/b/c", "b", "b/c", "b/c/d"]) {
    for (const name of [...NAMES, "master-key"]) plant(join(home, folder, name));
  }
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function plant(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined)
    writeFileSync(path, `${CANARY} ${path}`, { mode: 0o600 });
}

const documentOf = (files: EnvironmentDocument["files"]): EnvironmentDocument => ({
  source: "requirements.txt",
  python_version: null,
  system_packages: [],
  uv_options: null,
  files: [{ path: "requirements.txt", text: "./x\n" }, ...files],
});

const read = async function* ({ path }: TreeEntry) {
  yield Buffer.from(`text of ${path}`);
};

async function unpack(entries: readonly TreeEntry[]): Promise<void> {
  const unpacked = entries.map((entry) => ({ ...entry, bytes: () => read(entry) }));
  await writeEntries(unpacked, tree, OPEN, signal);
}

/** Unpacks a project and writes the parts that a document lists into the draft. */
async function take(entries: readonly TreeEntry[], document: EnvironmentDocument): Promise<void> {
  await unpack(entries);
  await writeProjectFiles(document, { entries, read }, draft, signal);
}

/** Lists paths below a folder with their types. Follows no link and does not enter `left_out`. */
function look(folder: string, leftOut: readonly string[] = [], below = ""): [string, string][] {
  return readdirSync(join(folder, below)).flatMap((name): [string, string][] => {
    const path = join(folder, below, name);
    if (leftOut.includes(path)) return [];
    const stats = lstatSync(path);
    const text = stats.isFile() ? readFileSync(path, "utf8") : "";
    const what = stats.isSymbolicLink() ? `-> ${readlinkSync(path)}` : text;
    const inner = stats.isDirectory() ? look(folder, leftOut, join(below, name)) : [];
    return [[join(below, name), `${stats.mode.toString(8)} ${what}`], ...inner];
  });
}

const outside = () => look(home, [tree, draft]);

/** Checks that the draft contains nothing of the machine and that no link leads out of it. */
function expectClean(what: string): void {
  for (const [name, is] of look(draft)) {
    expect(is, `${name} after ${what}`).not.toContain(CANARY);
    const path = join(draft, name);
    if (!lstatSync(path).isSymbolicLink()) continue;
    const end = realOf(path);
    expect(end === undefined || end.startsWith(`${draft}/`) || end === draft, `${name} after ${what}`).toBe(true);
  }
}

test("writes listed entries and texts, and drops links with missing targets", async () => {
  const entries = [
    fileOf("libs/x/setup.py"),
    { ...fileOf("libs/x/run.sh"), is_executable: true },
    fileOf("secret.py"),
    linkOf("libs/x/same.py", "setup.py"),
    linkOf("libs/x/here", "."),
    linkOf("libs/x/away.py", "../../secret.py"),
    linkOf("libs/x/away-too", "away.py"),
  ];
  const parts = [{ path: "libs/x/", text: listTreePart(entries, "libs/x") ?? "" }];
  await take(entries, documentOf([...parts, { path: "libs/x/setup.py", text: "older" }]));
  expect(look(draft).sort()).toEqual([
    ["libs", "40755 "],
    ["libs/x", "40755 "],
    ["libs/x/here", "120777 -> ."],
    ["libs/x/run.sh", "100755 text of libs/x/run.sh"],
    ["libs/x/same.py", "120777 -> setup.py"],
    ["libs/x/setup.py", "100644 text of libs/x/setup.py"],
    ["requirements.txt", "100644 ./x\n"],
  ]);
});

test("reads no file of the server through a chain of links", async () => {
  const entries = [linkOf("a/b/c/d/l", "../../../.."), linkOf("t", "a/b/c/d/l/../../..")];
  expect(findTreeProblem(entries)).toContain("is a link out of the project");
  const document = documentOf([{ path: "t/master-key/", text: "" }]);
  await expect(take(entries, document)).rejects.toMatchObject({ code: "environment_refused" });
  expectClean("reading");
});

test("writes no file outside the draft through a folder alias", async () => {
  // in the tree, `s` leads to its folder `out`; in the draft, to the server's folder
  const entries = [
    fileOf("out/zz"),
    linkOf("deep/1/2/3/4/q/s", "../../../../../../out"),
    linkOf("t", "deep/1/../1/2/3/4"),
  ];
  expect(findTreeProblem(entries)).toBeUndefined();
  const before = outside();
  const document = documentOf([
    { path: "t/q/", text: "" },
    { path: "t/q/s/zz/", text: "" },
  ]);
  await expect(take(entries, document)).rejects.toMatchObject({ code: "environment_refused" });
  expect(outside()).toEqual(before);
  expectClean("writing");
});

test("does not open or wait for a pipe", async () => {
  execFileSync("mkfifo", [join(home, "a/b/c/pipe")]);
  const entries = [linkOf("l/m", ".."), linkOf("t", "l/m/..")];
  const document = documentOf([{ path: "t/pipe/", text: "" }]);
  await expect(take(entries, document)).rejects.toMatchObject({ code: "environment_refused" });
  rmSync(join(home, "a/b/c/pipe"));
});

test.each<[string, string, string]>([
  ["a listing of other files", "libs/", "libs/x "],
  ["a listing that lacks files", "libs/x/", ""],
  ["a part that is a link", "l/", "->libs l\n"],
  ["a part below a link", "l/x/", ""],
  ["a part that is not there", "nothing/", ""],
])("refuses %s before writing anything", async (_what, path, text) => {
  const entries = [fileOf("libs/x/setup.py"), linkOf("l", "libs")];
  await expect(take(entries, documentOf([{ path, text }]))).rejects.toMatchObject({ code: "environment_refused" });
  expect(look(draft)).toEqual([]);
});

test("refuses a text below a project link before writing anything", async () => {
  const entries = [fileOf("libs/x/setup.py"), linkOf("libs/l", "x")];
  const parts = [{ path: "libs/", text: listTreePart(entries, "libs") ?? "" }];
  const document = documentOf([...parts, { path: "libs/l/evil", text: "evil" }]);
  await expect(take(entries, document)).rejects.toMatchObject({ code: "environment_refused" });
  expect(look(draft)).toEqual([]);
});

test(`${DOCUMENTS} random environments read and change nothing outside the draft`, async () => {
  const random = new Random(17);
  const before = outside();
  const seen = { written: 0, refused: 0 };
  while (seen.written + seen.refused < DOCUMENTS) {
    const entries = randomTree(random);
    if (findTreeProblem(entries) !== undefined) continue;
    await unpack(entries);
    const document = randomDocument(random, entries);
    const what = JSON.stringify({ entries, document });
    try {
      await writeProjectFiles(document, { entries, read }, draft, signal);
      seen.written += 1;
    } catch (error) {
      expect(error, what).toMatchObject({ code: "environment_refused" });
      seen.refused += 1;
    }
    expect(outside(), what).toEqual(before);
    expectClean(what);
    for (const folder of [tree, draft]) {
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
    }
  }
  // the run covered both outcomes
  expect(Math.min(seen.written, seen.refused)).toBeGreaterThan(DOCUMENTS / 50);
}, 900_000);

/** Correctly listed parts, parts reached through links, and texts that collide with them. */
function randomDocument(random: Random, entries: readonly TreeEntry[]): EnvironmentDocument {
  const files = new Map<string, string>();
  let former = "";
  for (let left = random.int(1, 4); left > 0; left--) {
    const start = random.pick([former, "", random.pick(entries).path, random.pick(entries).path]);
    const part = random.next() < 0.9 ? walk(random, start) : start;
    if (part === "") continue;
    former = part;
    if (random.next() < 0.1) files.set(`${part}/${random.pick(NAMES)}`, "text");
    else files.set(`${part}/`, listTreePart(entries, part) ?? "");
  }
  return documentOf([...files].map(([path, text]) => ({ path, text })));
}

/** An existing path below `start`, following links on the disk. */
function walk(random: Random, start: string): string {
  let path = start;
  for (let left = random.int(1, 3); left > 0; left--) {
    const folder = join(tree, path);
    if (!isFolder(folder)) break;
    const names = readdirSync(folder);
    if (names.length > 0) path = join(path, random.pick(names));
  }
  return path;
}

function isFolder(path: string): boolean {
  const real = realOf(path);
  return real !== undefined && lstatSync(real).isDirectory();
}

/** Undefined for a broken link. */
function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}
