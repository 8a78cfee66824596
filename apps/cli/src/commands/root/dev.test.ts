import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SchemaPlan } from "@appdb/contract/plan";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCli } from "../../testing/fake-context.ts";

let project: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "appdb-dev-"));
  writeFileSync(join(project, "service.toml"), "");
  writeFileSync(join(project, "app.py"), "");
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

/** One round of `cli dev` with this plan; then Ctrl-C. */
async function follow(plan: SchemaPlan) {
  const ending = new AbortController();
  const onPrint = (text: string) => {
    if (text.startsWith("watching the files")) ending.abort();
  };
  const client = { schemaPlan: async () => plan };
  return await runCli("dev app.py main", { cwd: project, client, onPrint, context: { signal: ending.signal } });
}

test.each([
  [
    { unsupported: 1 },
    "Nothing was changed: main cannot be changed to what app.py declares. Change what is marked [UNSUPPORTED].",
  ],
  [{ destructive: 1 }, "Not done automatically: cli schema update app.py main --allow-destructive"],
])("does not apply %j and names the alternative", async (summary, note) => {
  const ran = await follow(schemaPlan({ in_agreement: false, summary }));
  expect(ran.exit).toBe(130);
  expect(ran.stderr).toContain(note);
  expect(ran.stderr.includes("--allow-destructive")).toBe("destructive" in summary);
});
