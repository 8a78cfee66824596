import type { LocalDatabase } from "@appdb/contract/routes/local";
import { expect, test } from "vitest";
import { runCli } from "../../testing/fake-context.ts";

const MAIN: LocalDatabase = {
  name: "main",
  tables: 2,
  views: 3,
  bytes: 8_493_465,
  media_bytes: 0,
  projects: ["/home/ada/tour"],
  services: [{ name: "main/ingest", state: "AVAILABLE" }],
};
const FOUND = { name: "mian", tables: [{ path: "mian/docs", rows: 8 }], services: ["mian/desk"] };

/** A daemon that records deletions. */
function daemon() {
  const told: boolean[] = [];
  const databaseDelete = async ({ dry_run: dryRun }: { dry_run: boolean }) => {
    told.push(dryRun);
    return FOUND;
  };
  return { told, client: { databaseDelete, databaseList: async () => [MAIN] } };
}

test("list --local shows contents, project and services of each database", async () => {
  const ran = await runCli("db list --local", daemon());
  expect(ran.stdout).toBe("main  2 tables, 3 views  8.1 MiB  main/ingest AVAILABLE  /home/ada/tour\n");
  expect(JSON.parse((await runCli("db list --local --json", daemon())).stdout)).toEqual([MAIN]);
  const databaseList = async () => [{ ...MAIN, media_bytes: 1_900_000_000 }];
  expect((await runCli("db list --local", { client: { databaseList } })).stdout).toContain(
    "  8.1 MiB and 1.8 GiB of files  ",
  );
});

test("delete of a local database shows its rows and asks for its name", async () => {
  const { client, told } = daemon();
  const wrong = await runCli("db delete mian", { client, answer: true, typed: "main" });
  expect(wrong).toMatchObject({ exit: 3, stdout: "" });
  expect(wrong.stderr).toContain("- mian/docs  8 rows\n- the stopped service mian/desk is removed\n");
  expect(told).toEqual([true]);
  const right = await runCli("db delete mian", { client, answer: true, typed: "mian" });
  expect(right).toMatchObject({ exit: 0, stdout: "Deleted the local database 'mian'.\n" });
  expect(told).toEqual([true, true, false]);
});

test("delete without a terminal requires -f, which skips the question", async () => {
  const { client, told } = daemon();
  expect((await runCli("db delete mian", { client })).stderr).toContain(
    "hint: To confirm in advance: cli db delete mian -f",
  );
  expect((await runCli("db delete mian -f", { client })).exit).toBe(0);
  expect(told).toEqual([true, true, false]);
});
