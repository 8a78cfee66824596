import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import { expect, test } from "vitest";
import { ensureTemplate, provisionCluster } from "./cluster-template.ts";
import { withClient } from "./database-admin.ts";
import { EmbeddedPostgres } from "./embedded-postgres.ts";

const bin = requirePostgresBin(locateTools({ program_url: import.meta.url, postgres_bin: process.env.SERVICE_PG_BIN }));

test("concurrent callers make one readable template, and copies are private", {
  timeout: 180_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-template-"));
  try {
    // an old leftover of a killed process, and a folder in progress
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
    // the database and the frozen template database
    expect(readdirSync(join(folder, "two", "base"))).toHaveLength(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a copy killed right after its start accepts this run's passwords again", { timeout: 180_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-template-"));
  const data = join(folder, "data");
  const open = () =>
    new EmbeddedPostgres({
      bin,
      folder: data,
      runtime_folder: join(folder, "run"),
      log_file: join(folder, "postgres.log"),
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      template_folder: join(folder, "18"),
    });
  try {
    await ensureTemplate(bin, join(folder, "18"));
    // the first start prepares the copy and syncs it
    await using first = open();
    await first.start();
    await first.stop();
    await using postgres = open();
    await postgres.start();
    const pid = () => Number(readFileSync(join(data, "18", "postmaster.pid"), "utf8").split("\n")[0]);
    const killed = pid();
    process.kill(killed, "SIGKILL");
    await expect.poll(() => postgres.state() === "up" && pid() !== killed).toBe(true);
    for (const dsn of [postgres.dsn("main"), postgres.superuserDsn("main")]) {
      expect(await withClient(dsn, async (client) => (await client.query("select 1 as one")).rows)).toEqual([
        { one: 1 },
      ]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
