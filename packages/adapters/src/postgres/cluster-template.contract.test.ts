import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { locateTools, requirePostgresBin } from "../tools/locate-tools.ts";
import { ensureTemplate, provisionCluster } from "./cluster-template.ts";

const bin = requirePostgresBin(locateTools({ program_url: import.meta.url, postgres_bin: process.env.SERVICE_PG_BIN }));

test("several who need the template at once make one, that everybody may read, and copies are their owners' alone", {
  timeout: 60_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-template-"));
  try {
    // what somebody who was killed left long ago, and what somebody makes now
    for (const [name, ageMs] of [
      ["18.unfinished-old", 3_600_000],
      ["18.unfinished-new", 0],
    ] as const) {
      mkdirSync(join(folder, name));
      const made = new Date(Date.now() - ageMs);
      utimesSync(join(folder, name), made, made);
    }
    const template = join(folder, "18");
    await Promise.all([
      provisionCluster(bin, template, join(folder, "one")),
      provisionCluster(bin, template, join(folder, "two")),
      ensureTemplate(bin, template),
    ]);
    expect(readdirSync(folder).sort()).toEqual(["18", "18.unfinished-new", "one", "two"]);
    const modeOf = (...path: string[]) => statSync(join(folder, ...path)).mode & 0o777;
    expect([modeOf("18"), modeOf("18", "global", "pg_control")]).toEqual([0o755, 0o644]);
    expect([modeOf("one"), modeOf("one", "global", "pg_control")]).toEqual([0o700, 0o600]);
    // the database itself, and the frozen one that others can be made of
    expect(readdirSync(join(folder, "two", "base"))).toHaveLength(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
