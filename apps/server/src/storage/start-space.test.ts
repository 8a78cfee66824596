import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { START_RESERVE } from "@appdb/postgres/cluster/start-reserve";
import { diskSpace } from "@appdb/system/files/disk-space";
import { expect, test } from "vitest";
import { explainFailedStart, requireStartSpace } from "./start-space.ts";

const GB = 1024 ** 3;
const withFree = (free: number) => ({
  config: { home: "/srv/appdb" },
  readSpace: async (folder: string) => {
    expect(folder).toBe("/srv/appdb");
    return diskSpace(100 * GB, free);
  },
});
const ENOUGH = withFree(GB);
const FULL = withFree(12.5 * 1024 ** 2);

test("a restart is refused on a full disk, with its free space and the next step", async () => {
  await expect(requireStartSpace(FULL)).rejects.toMatchObject({
    code: "disk_full",
    message: "The disk of the server has 12 MB left, and PostgreSQL could not start again. Nothing was restarted.",
    hint: expect.stringContaining("Ask the operator of the server to free space on its disk"),
    meta: { free_bytes: 13_107_200 },
  });
  await requireStartSpace(ENOUGH);
});

test("a cluster is restarted on a full disk with the space of its reserve", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-reserve-"));
  try {
    await expect(requireStartSpace(FULL, "PostgreSQL", folder)).rejects.toMatchObject({ code: "disk_full" });
    writeFileSync(join(folder, START_RESERVE), Buffer.alloc(16 * 1024 ** 2));
    await requireStartSpace(FULL, "PostgreSQL", folder);
    expect(existsSync(join(folder, START_RESERVE))).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the last words of a pod that met a full disk are left out, and a service names its own command", async () => {
  const failed = appError("pod_failed", {
    detail: "The pod of <service_uri> did not start: exit code 1. It said last:\n  Error: ENOSPC",
  });
  expect(await explainFailedStart(FULL, failed, "service")).toMatchObject({
    code: "disk_full",
    message:
      "The disk of the server has 12 MB left, and the service needs more to start. The pod of <service_uri> did not start: exit code 1.",
    hint: expect.stringContaining("cli service retry <service_uri>"),
  });
  await expect(requireStartSpace(FULL, "the service")).rejects.toMatchObject({
    message: "The disk of the server has 12 MB left, and the service could not start again. Nothing was restarted.",
  });
});

test("a pod that did not start on a full disk names the disk first", async () => {
  const failed = appError("pod_failed", { detail: "The database's pod did not start: exit code 1." });
  expect(await explainFailedStart(FULL, failed)).toMatchObject({
    code: "disk_full",
    message:
      "The disk of the server has 12 MB left, and PostgreSQL needs more to start. The database's pod did not start: exit code 1.",
    hint: expect.stringContaining("cli db retry <db_uri>"),
  });
  expect(await explainFailedStart(ENOUGH, failed)).toBe(failed);
  const other = new Error("other");
  expect(await explainFailedStart(FULL, other)).toBe(other);
});
