import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openControlGroups } from "@appdb/pods/sandbox/open-groups";
import { checkSandbox } from "@appdb/pods/sandbox/sandbox-check";
import { afterAll, test } from "vitest";

/**
 * The setup of a test file with sandboxes: a separate control group, which is removed with its children after the
 * tests. Undefined if this machine lacks something; then a skipped test names it. With SANDBOX=required, which CI sets
 * where it installs everything, the tests run and fail.
 */
export async function useSandbox(): Promise<{ readonly group: string } | undefined> {
  const group = `/appdb-test-${process.pid}-${Date.now().toString(36)}`;
  const folder = mkdtempSync(join(tmpdir(), "sandbox-check-"));
  const missing = await checkSandbox({ folder, group }).finally(() => rmSync(folder, { recursive: true, force: true }));
  if (missing.length > 0 && process.env.SANDBOX !== "required") {
    test.skip(`sandboxes: ${missing.map(({ remedy, what }) => `${what} (${remedy})`).join("; ")}`);
    return undefined;
  }
  afterAll(() => removeGroup(group));
  return { group };
}

async function removeGroup(group: string): Promise<void> {
  if (await openControlGroups(group).remove("")) return;
  throw new Error(`The control group ${group} cannot be removed: processes are left in it.`);
}
