import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { locateProgram } from "../program.ts";
import { readAhead } from "./read-ahead.ts";

test("an unreadable application fails only for callers that need it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-test-"));
  try {
    const node = { ...process, env: { SERVICE_HOME: join(folder, "home") }, cwd: () => folder } as NodeJS.Process;
    const program = locateProgram(import.meta.url, process);
    const signal = new AbortController().signal;
    const ahead = readAhead({ file: "app.py", python: undefined }, { node, program, signal });
    const told: string[] = [];
    ahead.listen((text) => told.push(text));
    await new Promise((resolve) => setImmediate(resolve)); // an unhandled rejection would end the test run here
    await expect(ahead.reading).rejects.toMatchObject({ code: "app_file_not_found" });
    expect(told).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("recognizes an error of another bundle of the command", async () => {
  // The query makes vitest load the module again, as a second bundle has its own copy.
  const copy: typeof import("@appdb/contract/errors") = await import(
    "../../../../packages/contract/src/errors.ts?copy" as string
  );
  const error = appError("app_invalid", { detail: "x" });
  expect(copy.AppError).not.toBe(error.constructor);
  expect(error instanceof copy.AppError).toBe(true);
  for (const other of [new Error("x"), undefined, null, "AppError", { name: "AppError" }]) {
    expect(other instanceof copy.AppError).toBe(false);
  }
});
