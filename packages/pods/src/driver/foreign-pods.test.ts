import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { identifyProcess, type ProcessIdentity } from "@appdb/system/processes/process-identity";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findPodOfOther } from "./foreign-pods.ts";
import { writePodRecord } from "./pod-state.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-foreign-"));
  for (const home of ["home", "copy"]) mkdirSync(join(folder, home), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Records a pod of `home` in the folder `in`, as a copy has it too. */
function record(inHome: string, ofHome: string, process: ProcessIdentity | null): string {
  const pods = join(folder, inHome, "server", "pods");
  const labels = { organization_id: "1", database_id: "2", kind: "database" } as const;
  const logFolder = join(folder, ofHome, "server", "databases", "2", "log");
  const known = { id: "db-2", labels, spec_hash: "", started_at: "2026-03-01T10:00:00Z", run: "1" };
  writePodRecord(pods, { ...known, log_folder: logFolder, process });
  return pods;
}
const own = () => identifyProcess(process.pid) ?? null;

test("finds a running pod of the original in a copy of its home", () => {
  const pods = record("copy", "home", own());
  expect(findPodOfOther(pods, join(folder, "copy"))).toEqual({ original: join(folder, "home"), pid: process.pid });
});

test.each<readonly [string, string, string, () => ProcessIdentity | null]>([
  ["an own pod", "home", "home", own],
  ["a pod of a home that was moved here", "copy", "gone", own],
  ["a pod of the original that has ended", "copy", "home", () => ({ pid: process.pid, started: "before" })],
])("leaves %s to its home", (_what, inHome, ofHome, identity) => {
  expect(findPodOfOther(record(inHome, ofHome, identity()), join(folder, inHome))).toBeUndefined();
});
