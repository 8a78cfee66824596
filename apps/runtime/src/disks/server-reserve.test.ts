import type { FullDisk } from "@appdb/postgres/client/refuse-writes";
import type { DiskReserve } from "@appdb/system/files/disk-reserve";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { nextReserveLook, ServerReserve, type ServerReserveDeps, shareRefusal } from "./server-reserve.ts";

const GB = 1024 ** 3;

function space(freeBytes: number, given: Partial<DiskReserve> = {}): DiskReserve {
  return {
    bytes: 100 * GB,
    free_bytes: freeBytes,
    floor_bytes: GB,
    free_files: 1_000_000,
    is_short_of_files: false,
    is_reached: freeBytes < GB,
    ...given,
  };
}

function reserveOf(given: Partial<ServerReserveDeps>): ServerReserve {
  return new ServerReserve({
    folder: "/data",
    floor_bytes: GB,
    log: createSilentLog(),
    refuseWrites: async () => undefined,
    ...given,
  });
}

test("refuses writes below the reserve of the server, and takes them again when there is space", async () => {
  const spaces = [space(2 * GB), space(0.65 * GB), space(3 * GB)];
  const told: boolean[] = [];
  using reserve = reserveOf({
    readReserve: async () => spaces.shift() ?? space(3 * GB),
    refuseWrites: async (isReached) => void told.push(isReached),
  });
  await expect(reserve.admit()).resolves.toBeUndefined();
  await expect.poll(() => told).toEqual([false, true]);
  expect(() => reserve.check()).toThrow(
    expect.objectContaining({
      code: "disk_full",
      message:
        "The disk of the server has 0.65 GB left, and its reserve is 1 GB. Rows can be read, but writes are refused.",
      hint: "Ask the operator of the server to free space on its disk, then try again.",
    }),
  );
  await expect.poll(() => told).toEqual([false, true, false]);
  expect(() => reserve.check()).not.toThrow();
});

test("measures again before it refuses a write, and PostgreSQL takes writes when it is admitted", async () => {
  const told: boolean[] = [];
  let free = 0;
  using reserve = reserveOf({
    readReserve: async () => space(free),
    refuseWrites: async (isReached) => void told.push(isReached),
  });
  await expect(reserve.admit()).rejects.toMatchObject({ code: "disk_full" });
  free = 2 * GB;
  await reserve.admit();
  expect(told).toEqual([true, false]);
});

test("measures the disk while PostgreSQL cannot be told", async () => {
  let isBack: () => void = () => {};
  const away = new Promise<void>((resolve) => {
    isBack = resolve;
  });
  const told: boolean[] = [];
  let free = 2 * GB;
  using reserve = reserveOf({
    readReserve: async () => space(free),
    refuseWrites: async (isReached) => {
      if (isReached) await away;
      told.push(isReached);
    },
  });
  await reserve.admit();
  free = 0;
  const refused = () => {
    try {
      return reserve.check();
    } catch (error) {
      return (error as Error).message;
    }
  };
  await expect.poll(refused).toContain("0.00 GB left");
  free = 0.5 * GB;
  await expect.poll(refused).toContain("0.50 GB left");
  isBack();
  free = 2 * GB;
  await reserve.admit();
  expect(told).toEqual([false, true, false]);
});

test("names the files if the disk has too few", async () => {
  using reserve = reserveOf({
    readReserve: async () => space(9 * GB, { free_files: 12, is_short_of_files: true, is_reached: true }),
  });
  await expect(reserve.admit()).rejects.toMatchObject({ message: expect.stringContaining("has 12 files left") });
});

test("a refusal is set again until PostgreSQL has it", async () => {
  const told: boolean[] = [];
  using reserve = reserveOf({
    readReserve: async () => space(0),
    refuseWrites: async (isReached) => {
      told.push(isReached);
      if (told.length === 1) throw new Error("PostgreSQL restarts");
    },
  });
  await expect(reserve.admit()).rejects.toMatchObject({ code: "disk_full" });
  await expect.poll(() => told).toEqual([true, true]);
});

test("a server without a reserve measures nothing", async () => {
  const readReserve = () => Promise.reject(new Error("must not be measured"));
  using reserve = reserveOf({ floor_bytes: undefined, readReserve });
  await expect(reserve.admit()).resolves.toBeUndefined();
});

test("checks again before the databases of a server could use up the space", () => {
  expect([nextReserveLook(space(0)), nextReserveLook(space(GB)), nextReserveLook(space(90 * GB))]).toEqual([
    500, 500, 5_000,
  ]);
  expect(nextReserveLook(space(5 * GB))).toBe(1_000);
});

test("writes are refused until both disks have space", async () => {
  const told: (FullDisk | undefined)[] = [];
  const refuse = shareRefusal(async (full) => void told.push(full));
  await refuse("database", true);
  await refuse("server", true);
  await refuse("database", false);
  await refuse("server", false);
  expect(told).toEqual(["database", "server", "server", undefined]);
});

test("a refusal that PostgreSQL did not hear is not forgotten by the other disk", async () => {
  const told: (FullDisk | undefined)[] = [];
  let isLost = true;
  const refuse = shareRefusal(async (full) => {
    if (isLost) throw new Error("PostgreSQL restarts");
    told.push(full);
  });
  await expect(refuse("server", true)).rejects.toThrow("PostgreSQL restarts");
  isLost = false;
  await refuse("database", false);
  expect(told).toEqual(["server"]);
});
