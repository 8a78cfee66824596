import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleScript } from "@appdb/testkit/built-programs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { markAlive, readMarks, removeMark } from "./live-marks.ts";

let root: string;
let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "appdb-marks-"));
  // longer than the path of a socket may be
  folder = join(root, "ü ".repeat(30), "b".repeat(100));
  mkdirSync(folder, { recursive: true });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(root, { recursive: true, force: true });
});

/** A process that holds a mark until it is killed. */
async function hold(name: string, command: readonly string[] = []): Promise<ChildProcess> {
  const module = await bundleScript(join(import.meta.dirname, "live-marks.ts"));
  const script = `const { markAlive } = await import(${JSON.stringify(module)});
    globalThis.mark = markAlive(${JSON.stringify(folder)}, ${JSON.stringify(name)});
    process.stdout.write("held");
    setInterval(() => {}, 1000);`;
  const [program = "", ...args] = [...command, process.execPath, "--input-type=module", "-e", script];
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  if (child.stdout !== null) await once(child.stdout, "data");
  return child;
}

const marks = async () => [...(await readMarks(folder))].sort();

test("a mark lives as long as its process, and ends with a kill", async () => {
  const child = await hold("a");
  using _own = markAlive(folder, "b");
  expect(await marks()).toEqual([
    ["a", true],
    ["b", true],
  ]);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await marks()).toEqual([
    ["a", false],
    ["b", true],
  ]);
  removeMark(folder, "a");
  expect(await marks()).toEqual([["b", true]]);
});

test("a mark that its process gives back leaves nothing", async () => {
  markAlive(folder, "a")[Symbol.dispose]();
  expect(readdirSync(folder)).toEqual([]);
});

test("other files of the folder are not marks, and a file in the place of a mark is dead", async () => {
  writeFileSync(join(folder, "a.live"), '{"pid":1,"started":"never"}');
  writeFileSync(join(folder, "b"), "");
  expect(await marks()).toEqual([["a", false]]);
});

test("a folder that does not take sockets is reported", () => {
  const longest = "n".repeat(250);
  expect(() => markAlive(folder, longest)).toThrow(expect.objectContaining({ code: "home_not_writable" }));
});

test("many ask at once", async () => {
  using _own = markAlive(folder, "a");
  const answers = await Promise.all(Array.from({ length: 200 }, () => marks()));
  expect(new Set(answers.map(([first]) => first?.[1]))).toEqual(new Set([true]));
});

function hasPidNamespaces(): boolean {
  try {
    execFileSync("unshare", ["--user", "--map-root-user", "--pid", "--fork", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

test.runIf(process.platform === "linux" && hasPidNamespaces())(
  "a process of another namespace of process ids is seen",
  async () => {
    const child = await hold("a", ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]);
    expect(await marks()).toEqual([["a", true]]);
    child.kill("SIGKILL");
    await once(child, "exit");
    await expect.poll(marks).toEqual([["a", false]]);
  },
);
