import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mediaUsageSchema } from "@appdb/contract/routes/media-files";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { nestTooDeep } from "@appdb/testkit/deep-folder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { DiskGuard, type DiskGuardDeps, diskLimits, measureFolders, nextLook, roomOf } from "./disk-guard.ts";

const MB = 1024 * 1024;
const GB = 1024 * MB;
const NOBODY = 65_534;
const NO_RESERVE = { check: () => undefined, admit: async () => undefined };
const codeOf = (error: NodeJS.ErrnoException) => error.code;

/** A guard of 1 GB whose time does not pass. */
function guardOf(folder: string, given: Partial<DiskGuardDeps> = {}): DiskGuard {
  const usual: DiskGuardDeps = {
    folders: [folder],
    uri: "cloud://acme:main",
    media_uri: "mediafs://acme:main/home",
    resources: { disk_gb: 1 },
    log: createSilentLog(),
    clock: { now: () => 0 },
    usedAt: () => 0,
    spools: { bytes: 0 },
    refuseWrites: async () => undefined,
    tellRoom: async () => undefined,
    reserve: NO_RESERVE,
    readMedia: async () => ({ bytes: 0, objects: 0 }),
    is_media_in_bucket: false,
    media_limit_bytes: undefined,
  };
  return new DiskGuard({ ...usual, ...given });
}

test("reserves the write-ahead log's budget or its larger actual size", () => {
  const limits = diskLimits({ disk_gb: 10 });
  const dataBytes = 8 * GB;
  const room = roomOf({ data_bytes: dataBytes, wal_bytes: 0 }, limits);
  expect(room).toBe(roomOf({ data_bytes: dataBytes, wal_bytes: limits.wal_bytes }, limits));
  expect(roomOf({ data_bytes: dataBytes, wal_bytes: limits.wal_bytes + MB }, limits)).toBe(room - MB);
  expect(dataBytes + limits.wal_bytes + room).toBeLessThan(limits.limit_bytes);
});

test.each([1, 10, 1_000])("a new database of %i GB has most of its disk available", (diskGb) => {
  expect(roomOf({ data_bytes: 30 * MB, wal_bytes: 16 * MB }, diskLimits({ disk_gb: diskGb }))).toBeGreaterThan(
    diskGb * GB * 0.75,
  );
});

test.each([1, 2, 3, 4, 6, 7, 8, 9, 17])(
  "a disk of %i GB has whole bytes of room, as the usage of media shows",
  (diskGb) => {
    const room = roomOf({ data_bytes: 30 * MB, wal_bytes: 16 * MB }, diskLimits({ disk_gb: diskGb }));
    expect(mediaUsageSchema.shape.room_bytes.parse(room)).toBe(room);
  },
);

test("checks again before the fastest disk could fill the space", () => {
  expect(nextLook(2 * GB)).toBeLessThanOrEqual(11_000);
  expect([nextLook(100 * GB), nextLook(0), nextLook(-GB)]).toEqual([30_000, 1_000, 1_000]);
});

test("a media store in the bucket of the operator uses no disk, and its size is shown", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-disk-"));
  using guard = guardOf(folder, {
    readMedia: async () => ({ objects: 3, bytes: 5 * GB }),
    is_media_in_bucket: true,
    media_limit_bytes: 7 * GB,
  });
  const begun = Date.now();
  expect(guard.describe().measured_at).toBeNull();
  try {
    await guard.admit();
    expect(guard.describe()).toMatchObject({
      is_disk_full: false,
      disk_bytes: 0,
      media_bytes: 5 * GB,
      media_objects: 3,
      is_media_in_bucket: true,
      media_limit_bytes: 7 * GB,
    });
    expect(Date.parse(guard.describe().measured_at ?? "")).toBeGreaterThanOrEqual(begun);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("counts a media store without visiting its files, and keeps its last size", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-disk-"));
  const answers = [{ objects: 3, bytes: GB }, new Error("PostgreSQL restarts")];
  let now = 0;
  const refused: boolean[] = [];
  using guard = guardOf(folder, {
    clock: { now: () => now },
    usedAt: () => now,
    spools: { bytes: 0 },
    refuseWrites: async (isFull) => void refused.push(isFull),
    async readMedia() {
      const answer = answers.shift();
      if (answer === undefined || answer instanceof Error) throw answer;
      return answer;
    },
  });
  try {
    await guard.watch();
    expect(guard.describe()).toMatchObject({ is_disk_full: true, disk_bytes: GB, media_bytes: GB, media_objects: 3 });
    now += 1_000;
    await expect.poll(() => answers).toEqual([]);
    expect([guard.describe().media_bytes, refused]).toEqual([GB, [true]]);
    expect(() => guard.check()).toThrow(
      expect.objectContaining({
        code: "disk_full",
        message:
          "The disk of cloud://acme:main is full: 1.00 GB are used, 1.00 GB of them by 3 media files, disk_gb is 1. Rows can be read, but writes are refused.",
        hint: "See what its files use: cli media du mediafs://acme:main/home. Raise disk_gb in the database's entry (cli db update cloud://acme:main), or drop tables. Files of deleted rows free their space after two days.",
      }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  [1, Math.floor(roomOf({ data_bytes: 600 * MB, wal_bytes: 0 }, diskLimits({ disk_gb: 1 })) / (8 * MB)) * 8 * MB],
  [100, undefined],
])("tells clients the room of a disk of %i GB, in steps", async (diskGb, room) => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-disk-"));
  const rooms: (number | undefined)[] = [];
  using guard = new DiskGuard({
    folders: [folder],
    uri: "cloud://acme:main",
    media_uri: "mediafs://acme:main/home",
    resources: { disk_gb: diskGb },
    log: createSilentLog(),
    clock: { now: () => 0 },
    usedAt: () => 0,
    spools: { bytes: 0 },
    refuseWrites: async () => undefined,
    tellRoom: async (bytes) => void rooms.push(bytes),
    reserve: NO_RESERVE,
    is_media_in_bucket: false,
    media_limit_bytes: undefined,
    readMedia: async () => ({ objects: 3, bytes: 600 * MB }),
  });
  try {
    await guard.watch();
    expect(rooms).toEqual([room]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("measures disk usage with separate log files and without upgrade copies", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-disk-"));
  try {
    mkdirSync(join(folder, "18", "pg_wal", "archive_status"), { recursive: true });
    writeFileSync(join(folder, "18", "table"), Buffer.alloc(3 * MB, 1));
    writeFileSync(join(folder, "18", "pg_wal", "archive_status", "segment"), Buffer.alloc(2 * MB, 1));
    mkdirSync(join(folder, "postgres", "before-upgrade", "0.9.0", "pg_wal"), { recursive: true });
    writeFileSync(join(folder, "postgres", "before-upgrade", "0.9.0", "table"), Buffer.alloc(3 * MB, 1));
    writeFileSync(join(folder, "postgres", "before-upgrade", "0.9.0", "pg_wal", "segment"), Buffer.alloc(3 * MB, 1));
    const { data_bytes: dataBytes, wal_bytes: walBytes } = await measureFolders([folder]);
    expect([Math.round(dataBytes / MB), Math.round(walBytes / MB)]).toEqual([3, 2]);
    expect(await measureFolders([join(folder, "none")])).toEqual({ data_bytes: 0, wal_bytes: 0 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("counts folders without permissions and skips other users' folders", async () => {
  const [folder, before] = [mkdtempSync(join(tmpdir(), "appdb-disk-")), process.cwd()];
  const isRoot = process.geteuid?.() === 0;
  try {
    // root can read everything, so another user measures, from inside because parent folders may be closed to it
    process.chdir(folder);
    for (const name of ["own", "foreign"]) {
      mkdirSync(join(name, "below"), { recursive: true });
      writeFileSync(join(name, "below", "file"), Buffer.alloc(3 * MB, 1));
      chmodSync(name, name === "own" ? 0 : 0o700);
    }
    if (isRoot) for (const path of [".", "own", "own/below", "own/below/file"]) chownSync(path, NOBODY, NOBODY);
    if (isRoot) process.seteuid?.(NOBODY);
    const { data_bytes: dataBytes } = await measureFolders(["."]);
    expect(Math.round(dataBytes / MB)).toBe(isRoot ? 3 : 6);
  } finally {
    if (isRoot) process.seteuid?.(0);
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
});

test.runIf(process.platform === "linux")(
  "a folder that a process closes again and again is not passed over",
  async () => {
    const [folder, before] = [mkdtempSync(join(tmpdir(), "appdb-disk-")), process.cwd()];
    const isRoot = process.geteuid?.() === 0;
    mkdirSync(join(folder, "own"));
    if (isRoot) for (const path of [folder, join(folder, "own")]) chownSync(path, NOBODY, NOBODY);
    const close = "const fs = require('fs'); for (;;) fs.chmodSync(process.argv[1], 0);";
    const closing = spawn(process.execPath, ["-e", close, join(folder, "own")]);
    try {
      process.chdir(folder);
      if (isRoot) process.seteuid?.(NOBODY);
      const failure = async () => measureFolders(["."]).then(() => undefined, codeOf);
      await expect.poll(failure, { interval: 1 }).toBe("EACCES");
    } finally {
      if (isRoot) process.seteuid?.(0);
      process.chdir(before);
      closing.kill("SIGKILL");
      await once(closing, "exit");
      await removeFolder(folder);
    }
  },
);

test.runIf(process.platform === "linux")("a folder too deep for a path counts as a full disk", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-disk-"));
  nestTooDeep(folder);
  using guard = guardOf(folder);
  try {
    await guard.watch();
    expect(guard.describe()).toMatchObject({ is_disk_full: true });
  } finally {
    await removeFolder(folder);
  }
});
