import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { PodLine } from "./pod-driver.ts";
import { boundOutput, hasFullHeap, openOutput, readLastLines, readPodLog } from "./pod-log.ts";

let folder: string;
const never = new AbortController().signal;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pod-log-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

const entry = (second: number, msg: string, more: object = {}) =>
  `${JSON.stringify({ level: "info", time: `2026-03-01T10:00:${String(second).padStart(2, "0")}.000Z`, pid: 7, ...more, msg })}\n`;

function write(name: string, ...texts: string[]): void {
  appendFileSync(join(folder, name), texts.join(""));
}

async function read(input: { tail?: number; since?: Date } = {}): Promise<string[]> {
  const lines: string[] = [];
  for await (const { line } of readPodLog(folder, { ...input, follow: false, signal: never })) lines.push(line);
  return lines;
}

/** Lines that a follower has received so far. */
function follow(tail?: number): PodLine[] {
  const heard: PodLine[] = [];
  const stopping = new AbortController();
  const input = { follow: true, signal: stopping.signal, ...(tail === undefined ? {} : { tail }) };
  const reading = (async () => {
    for await (const line of readPodLog(folder, input)) heard.push(line);
  })();
  onTestFinished(async () => {
    stopping.abort();
    await reading;
  });
  return heard;
}

const texts = (heard: readonly PodLine[]) => heard.map(({ line }) => line);

test("reads lines in order across rotations with time and level", async () => {
  write("pod.log.2", entry(1, "one"));
  write("pod.log.1", entry(2, "two", { level: "warn", rows: 3 }));
  write("pod.log", entry(3, "three", { level: 50 }), "a print\n", '{"not": "pino"}\n', '{"cut', "\n", "no end");
  const lines: PodLine[] = [];
  for await (const line of readPodLog(folder, { follow: false, signal: never })) lines.push(line);
  expect(lines).toEqual([
    { at: "2026-03-01T10:00:01.000Z", level: "info", line: "one" },
    { at: "2026-03-01T10:00:02.000Z", level: "warn", line: 'two {"rows":3}' },
    { at: "2026-03-01T10:00:03.000Z", level: "error", line: "three" },
    { at: "2026-03-01T10:00:03.000Z", level: "info", line: "a print" },
    { at: "2026-03-01T10:00:03.000Z", level: "info", line: '{"not": "pino"}' },
    { at: "2026-03-01T10:00:03.000Z", level: "info", line: '{"cut' },
    { at: "2026-03-01T10:00:03.000Z", level: "info", line: "no end" },
  ]);
});

test("finds the last lines across files at any length", async () => {
  write("pod.log.1", ...Array.from({ length: 50 }, (_, at) => entry(1, `old ${at}`)));
  write("pod.log", ...Array.from({ length: 30 }, (_, at) => entry(2, `new ${at} ${"x".repeat(10_000)}`)));
  const found = await read({ tail: 32 });
  expect(found).toHaveLength(32);
  expect(found.map((line) => line.slice(0, 6))).toEqual([
    "old 48",
    "old 49",
    ...Array.from({ length: 30 }, (_, at) => `new ${at} `.slice(0, 6)),
  ]);
  expect(await read({ tail: 0 })).toEqual([]);
  expect(await read({ tail: 1000 })).toHaveLength(80);
});

test("omits lines before a given time", async () => {
  write("pod.log", entry(1, "one"), entry(2, "two"), "print of two\n", entry(3, "three"));
  expect(await read({ since: new Date("2026-03-01T10:00:02Z") })).toEqual(["two", "print of two", "three"]);
  expect(await read({ since: new Date("2026-03-01T10:00:02Z"), tail: 1 })).toEqual(["three"]);
});

test("treats a missing log as empty and waits for it when following", async () => {
  expect(await read()).toEqual([]);
  expect(await read({ tail: 5 })).toEqual([]);
  const heard = follow(5);
  write("pod.log", entry(1, "first"));
  await eventually(() => expect(texts(heard)).toEqual(["first"]));
});

test("a follower gets each complete line once across rotations", async () => {
  write("pod.log", entry(1, "before"), entry(1, "last"));
  const heard = follow(1);
  await eventually(() => expect(texts(heard)).toEqual(["last"]));
  const expected = ["last"];
  for (let round = 0; round < 30; round++) {
    const [start, end] = [entry(2, `${round}`).slice(0, 20), entry(2, `${round}`).slice(20)];
    write("pod.log", start);
    // rotates as the writer does, several times between two reads
    if (round % 3 === 2) {
      write("pod.log", end, entry(2, `last of ${round}`));
      for (const number of [3, 2, 1]) rename(number === 1 ? "pod.log" : `pod.log.${number - 1}`, `pod.log.${number}`);
      expected.push(`${round}`, `last of ${round}`);
    } else {
      write("pod.log", end);
      expected.push(`${round}`);
    }
    if (round % 6 === 5) await eventually(() => expect(texts(heard)).toEqual(expected));
  }
  await eventually(() => expect(texts(heard)).toEqual(expected));
});

test("reads a truncated log from its beginning", async () => {
  write("pod.log", entry(1, "a long line that is gone soon"));
  const heard = follow();
  await eventually(() => expect(heard).toHaveLength(1));
  writeFileSync(join(folder, "pod.log"), "");
  write("pod.log", entry(2, "new"));
  await eventually(() => expect(texts(heard).at(-1)).toBe("new"));
});

test("returns the last words of the latest start only", async () => {
  write("pod.log", entry(1, "former start"), entry(5, "started"), entry(6, "broken"));
  write("output.log", "Error: of the former\n");
  writeFileSync(openOutput(folder), "Error: it broke\n\n  at here\n");
  expect(await readLastLines(folder, new Date("2026-03-01T10:00:05Z"), 10)).toEqual([
    "started",
    "broken",
    "Error: it broke",
    "  at here",
  ]);
  expect(await readLastLines(folder, new Date("2026-03-01T10:00:05Z"), 1)).toEqual(["  at here"]);
});

test("last words have no stack traces of our own program", async () => {
  const stack = 'Error: no space\n    at write (node:fs:1:2)\n    at more "x" (a.js:3:4)';
  write("pod.log", entry(5, "it failed", { err: { type: "Error", message: "no space", stack } }));
  writeFileSync(
    openOutput(folder),
    "Error: no space\n    at write (node:fs:1:2)\n    at async run (file:///a.js:3:4)\n",
  );
  expect(await readLastLines(folder, new Date("2026-03-01T10:00:00Z"), 10)).toEqual([
    'it failed {"err":{"type":"Error","message":"no space"}}',
    "Error: no space",
  ]);
});

test("bounds the output file while the program keeps printing", async () => {
  const file = openOutput(folder);
  writeFileSync(file, "x".repeat(5_000_000));
  boundOutput(folder);
  writeFileSync(file, "after\n");
  expect(await readLastLines(folder, new Date(), 5)).toEqual(["after"]);
});

function rename(from: string, to: string): void {
  try {
    renameSync(join(folder, from), join(folder, to));
  } catch (error) {
    // there are fewer files in the first rounds
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

test("never reads, truncates or writes targets of links in the log folder", async () => {
  const secret = join(folder, "secret");
  const log = join(folder, "log");
  const texts = entry(1, "of the machine") + "x".repeat(5_000_000);
  writeFileSync(secret, texts);
  mkdirSync(log);
  for (const name of ["pod.log", "pod.log.1", "output.log", "output.log.old"]) symlinkSync(secret, join(log, name));
  execFileSync("mkfifo", [join(log, "pod.log.2")]);
  const words = async (place: string) => {
    const lines: string[] = [];
    for await (const { line } of readPodLog(place, { tail: 5, follow: false, signal: never })) lines.push(line);
    return [...lines, ...(await readLastLines(place, new Date(0), 5))];
  };
  expect(await words(log)).toEqual([]);
  boundOutput(log);
  closeSync(openOutput(log));
  expect(lstatSync(join(log, "output.log"))).toMatchObject({ size: 0, nlink: 1 });
  writeFileSync(join(log, "output.log"), "y".repeat(4_000_001));
  boundOutput(log);
  expect(readFileSync(join(log, "output.log.old"), "utf8")).toBe("y".repeat(4_000_000));

  const elsewhere = join(folder, "elsewhere");
  mkdirSync(elsewhere);
  for (const name of ["pod.log", "output.log"]) writeFileSync(join(elsewhere, name), texts);
  const linked = join(folder, "linked");
  symlinkSync(elsewhere, linked);
  expect(await words(linked)).toEqual([]);
  boundOutput(linked);
  expect(() => openOutput(linked)).toThrow("it is not a folder");
  for (const path of [secret, join(elsewhere, "pod.log"), join(elsewhere, "output.log")])
    expect(readFileSync(path, "utf8")).toBe(texts);
  expect(readdirSync(elsewhere).sort()).toEqual(["output.log", "pod.log"]);
});

test("leaves a folder in place of old output and bounds the output", () => {
  const inside = join(folder, "output.log.old", "of the pod");
  mkdirSync(inside, { recursive: true });
  writeFileSync(join(folder, "output.log"), "y".repeat(4_000_001));
  boundOutput(folder);
  expect(lstatSync(join(folder, "output.log")).size).toBe(0);
  expect(lstatSync(inside).isDirectory()).toBe(true);
});

test("reads a log from a bounded number of files", async () => {
  for (let at = 1; at <= 99; at += 1) write(`pod.log.${at}`, entry(1, `old ${at}`));
  for (let at = 100; at <= 500; at += 1) write(`pod.log.${at}`, entry(0, `too old ${at}`));
  write("pod.log", entry(2, "new"));
  const lines = await read();
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([100, "old 99", "new"]);
});

test("excludes answered requests from a pod's last words", async () => {
  const requests = Array.from({ length: 30 }, (_, at) => entry(6 + at, "request", { status: 200 }));
  write("pod.log", entry(5, "its disk is full"), ...requests);
  expect(await readLastLines(folder, new Date("2026-03-01T10:00:05Z"), 5)).toEqual(["its disk is full"]);
});

test("tells the end of a program whose heap was full", () => {
  expect(hasFullHeap(join(folder, "none"))).toBe(false);
  write("output.log", "Error: something else\n");
  expect(hasFullHeap(folder)).toBe(false);
  write("output.log", "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n");
  expect(hasFullHeap(folder)).toBe(true);
});
