import { appError } from "@appdb/contract/errors";
import { SqlError } from "@appdb/engine/ports";
import { diskSpace } from "@appdb/system/files/disk-space";
import { expect, test } from "vitest";
import { createMachineDisk } from "./machine-disk.ts";

const GB = 1024 ** 3;
const diskWith = (freeBytes: number) =>
  createMachineDisk({
    folder: "/data",
    name: "The disk of the home /data",
    free_it: "Free space on it",
    readSpace: async () => diskSpace(100 * GB, freeBytes),
  });
const full = diskWith(12_000_000);

test("a job's batch is refused before PostgreSQL has no space for its log", async () => {
  await expect(diskWith(GB).admit()).resolves.toBeUndefined();
  await expect(full.admit()).rejects.toMatchObject({
    code: "disk_full",
    message: "The disk of the home /data has 11 MB left, and a job needs 512 MB.",
    hint: "Free space on it, and run the command again.",
  });
});

const outage = appError("database_unavailable", {
  detail: "PostgreSQL does not accept connections (it is not running).",
});

test("an outage of PostgreSQL on a full disk names the disk", async () => {
  expect(await full.explain(outage)).toMatchObject({
    code: "disk_full",
    message: `${outage.message} The disk of the home /data has 11 MB left.`,
    hint: "Free space on it. PostgreSQL then starts automatically, and unfinished jobs continue.",
  });
  expect(await diskWith(GB).explain(outage)).toBe(outage);
});

test("a commit that a full disk broke stays unknown", async () => {
  const unknown = appError("commit_unknown", { detail: "The connection broke." });
  expect(await full.explain(unknown)).toMatchObject({
    code: "commit_unknown",
    message: expect.stringContaining("11 MB"),
  });
});

test("PostgreSQL's refusal names the disk, and a database's own limit stays", async () => {
  for (const cause of [new SqlError("could not extend file", { sqlstate: "53100" }), outage]) {
    const refusal = appError("disk_full", { detail: "The disk is full.", hint: "Wait.", cause });
    expect(await diskWith(GB).explain(refusal)).toMatchObject({
      message: "The disk is full. The disk of the home /data has 1024 MB left.",
      hint: "Free space on it, and try again.",
    });
  }
  const own = appError("disk_full", { detail: "disk_gb is 2.", hint: "Raise disk_gb." });
  expect(await full.explain(own)).toBe(own);
});
