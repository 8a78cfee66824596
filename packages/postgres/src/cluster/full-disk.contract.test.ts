import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import { canMount } from "@appdb/testkit/can-mount";
import { expect, test } from "vitest";
import { withClient } from "./database-admin.ts";
import { EmbeddedPostgres } from "./embedded-postgres.ts";
import { nameRuntimeFolder } from "./runtime-folder.ts";
import { START_RESERVE } from "./start-reserve.ts";

const DISK_MB = 400;
const POLL = { timeout: 60_000, interval: 100 };
const bin = requirePostgresBin(locateTools({ program_url: import.meta.url, postgres_bin: process.env.SERVICE_PG_BIN }));

test.skipIf(!canMount())(
  "a server that a full disk ended starts again from its reserve, with every committed row",
  { timeout: 180_000 },
  async () => {
    const home = mkdtempSync(join(tmpdir(), "appdb-full-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_MB}m,mode=0700`, "tmpfs", home]);
    const errors: string[] = [];
    const warnings: string[] = [];
    const note = (into: string[]) => (_fields: object, text: string) => void into.push(text);
    const postgres = new EmbeddedPostgres({
      bin,
      folder: join(home, "postgres"),
      runtime_folder: nameRuntimeFolder(home, undefined),
      log_file: join(home, "logs", "postgres.log"),
      log: { debug: () => {}, info: () => {}, warn: note(warnings), error: note(errors) },
    });
    try {
      await postgres.ensureDatabase("main");
      const ask = async (text: string) =>
        await withClient(postgres.superuserDsn("main"), async (client) => (await client.query(text)).rows[0]);
      expect(Number.parseInt((await ask("show max_wal_size")).max_wal_size, 10)).toBeLessThanOrEqual(64);
      await ask("create table public.t (n bigint generated always as identity, v text)");
      const reserve = join(home, "postgres", START_RESERVE);
      await expect.poll(() => existsSync(reserve), POLL).toBe(true);
      fill(join(home, "filling"));
      let committed = 0;
      // until the log has no room either
      await expect
        .poll(
          async () => {
            await ask("insert into public.t (v) values (repeat('x', 1000))").then(
              () => committed++,
              () => undefined,
            );
            await ask("select pg_switch_wal()").catch(() => undefined);
            return existsSync(reserve);
          },
          { ...POLL, interval: 1 },
        )
        .toBe(false);

      await expect
        .poll(async () => Number((await ask("select count(*) as n from public.t").catch(() => undefined))?.n), POLL)
        .toBeGreaterThanOrEqual(committed);
      expect(warnings).toContain("the disk is full: PostgreSQL gets its reserve back to start");
      expect(errors).toEqual([]);
      await expect.poll(async () => (await ask("show autovacuum")).autovacuum, POLL).toBe("off");
      await ask("drop table public.t");

      rmSync(join(home, "filling"));
      await expect.poll(() => existsSync(reserve), POLL).toBe(true);
      await expect.poll(async () => (await ask("show autovacuum")).autovacuum, POLL).toBe("on");
    } finally {
      rmSync(join(home, "filling"), { force: true });
      await postgres.stop();
      execFileSync("umount", [home]);
      rmSync(home, { recursive: true });
    }
  },
);

function fill(path: string): void {
  const { bavail, bsize } = statfsSync(join(path, ".."));
  try {
    writeFileSync(path, Buffer.alloc(bavail * bsize));
    for (;;) writeFileSync(path, Buffer.alloc(bsize), { flag: "a" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
