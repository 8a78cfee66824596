import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";

const PACKAGING = join(ROOT, "scripts", "packaging");
const PROGRAM = `const greet = (name) => "Hello " + name; console.log(greet("Ann"), process.argv[2]);\n`;

let folder: string;
let compiled: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-compiled-"));
  compiled = join(folder, "own-program.compiled");
  const door = readFileSync(join(PACKAGING, "program-door.cjs"), "utf8").replaceAll("@PROGRAM@", "own-program");
  writeFileSync(join(folder, "own.js"), door);
  writeFileSync(join(folder, "own-program.js"), PROGRAM);
  cpSync(join(PACKAGING, "read-compiled.cjs"), join(folder, "read-compiled.cjs"));
  run(join(PACKAGING, "keep-compiled.cjs"), join(folder, "own-program.js"), "now");
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(...args: string[]): string {
  return execFileSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
const runDoor = () => run(join(folder, "own.js"), "then");
/** Whether the door uses the file. */
const isUsed = () =>
  run(
    "-p",
    `require(${JSON.stringify(join(folder, "read-compiled.cjs"))}).readCompiled(${JSON.stringify(join(folder, "own-program.js"))}) !== undefined`,
  ) === "true\n";

test("a program runs with its compiled code, and without it", () => {
  expect([existsSync(compiled), isUsed(), runDoor()]).toEqual([true, true, "Hello Ann then\n"]);
  rmSync(compiled);
  expect([isUsed(), runDoor()]).toEqual([false, "Hello Ann then\n"]);
});

test.each<readonly [string, (bytes: Buffer) => Buffer]>([
  ["empty", () => Buffer.alloc(0)],
  ["cut in its header", (bytes) => bytes.subarray(0, 20)],
  ["cut in its code", (bytes) => bytes.subarray(0, bytes.length - 100)],
  ["changed in its header", (bytes) => flip(bytes, 3)],
  ["changed at its start", (bytes) => flip(bytes, 40)],
  ["changed in its middle", (bytes) => flip(bytes, Math.trunc(bytes.length / 2))],
  ["changed at its end", (bytes) => flip(bytes, bytes.length - 1)],
  ["longer", (bytes) => Buffer.concat([bytes, Buffer.from("more")])],
])("compiled code that is %s is ignored", (_how, damage) => {
  writeFileSync(compiled, damage(readFileSync(compiled)));
  expect([isUsed(), runDoor()]).toEqual([false, "Hello Ann then\n"]);
});

test("compiled code of another program of the same length is ignored", () => {
  writeFileSync(join(folder, "own-program.js"), PROGRAM.replace("Hello", "Adieu"));
  expect([isUsed(), runDoor()]).toEqual([false, "Adieu Ann then\n"]);
});

function flip(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
  return changed;
}
