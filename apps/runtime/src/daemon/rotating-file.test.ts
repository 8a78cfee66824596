import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RotatingFile } from "./rotating-file.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-log-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test("rotates a full log and keeps only the newest files", () => {
  const path = join(folder, "logs", "daemon.log");
  {
    using file = new RotatingFile({ path, max_bytes: 20, keep: 2 });
    for (let number = 0; number < 10; number++) file.write(`line ${number} is here\n`);
  }
  expect(readdirSync(join(folder, "logs")).sort()).toEqual(["daemon.log", "daemon.log.1", "daemon.log.2"]);
  expect(readFileSync(path, "utf8")).toBe("line 9 is here\n");
  expect(readFileSync(`${path}.2`, "utf8")).toBe("line 7 is here\n");
});

test("a later owner continues the log of the previous one", () => {
  const path = join(folder, "daemon.log");
  for (const text of ["one\n", "two\n"]) {
    using file = new RotatingFile({ path, max_bytes: 100, keep: 1 });
    file.write(text);
  }
  expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
});

test("keeps a text larger than the limit in a separate file", () => {
  const path = join(folder, "daemon.log");
  using file = new RotatingFile({ path, max_bytes: 10, keep: 1 });
  file.write("a\n");
  file.write(`${"x".repeat(50)}\n`);
  expect(readFileSync(path, "utf8")).toHaveLength(51);
  expect(readFileSync(`${path}.1`, "utf8")).toBe("a\n");
});

test("reports lost lines and the reason once it can write again", () => {
  const path = join(folder, "logs", "daemon.log");
  writeFileSync(join(folder, "logs"), "a file where the folder of the log should be");
  using file = new RotatingFile({ path, max_bytes: 1_000, keep: 1 });
  file.write("one\n");
  file.write("two\n");
  rmSync(join(folder, "logs"));
  file.write("three\n");
  file.write("four\n");
  const [empty, note, ...lines] = readFileSync(path, "utf8").split("\n");
  expect(empty).toBe("");
  expect(JSON.parse(note ?? "")).toMatchObject({ level: "warn", lost: 2, reason: expect.stringContaining("logs") });
  expect(lines).toEqual(["three", "four", ""]);
});

test("batches delayed lines in order and loses none at the end", async () => {
  const path = join(folder, "daemon.log");
  const read = () => (existsSync(path) ? readFileSync(path, "utf8") : "");
  {
    using file = new RotatingFile({ path, max_bytes: 1_000, keep: 1 });
    file.writeSoon("one\n");
    file.writeSoon("two\n");
    expect(read()).toBe("");
    file.write("three\n");
    expect(read()).toBe("one\ntwo\nthree\n");
    file.writeSoon("four\n");
    await eventually(() => expect(read()).toContain("four"));
    file.writeSoon("five\n");
  }
  expect(read()).toBe("one\ntwo\nthree\nfour\nfive\n");
});
