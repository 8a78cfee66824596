import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SpoolRoom } from "./spool-room.ts";

const MB = 1_000_000;

test("spools of a database share the room of its disk", async () => {
  const folder = mkdtempSync(join(tmpdir(), "spools-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const place = { folder, uri: "cloud://acme:main", room: async () => 20 * MB - spools.bytes };
  const spools: SpoolRoom = new SpoolRoom(place);
  const piece = Buffer.alloc(5 * MB);
  await using second = spools.open();
  await second.write(piece);
  {
    await using first = spools.open();
    for (let count = 0; count < 3; count++) await first.write(piece);
    // the other's five are in memory
    expect(spools.bytes).toBe(15 * MB);
    await expect(second.write(piece)).rejects.toMatchObject({
      code: "disk_full",
      message: expect.stringContaining("cloud://acme:main has no room for 25000000 bytes"),
    });
    expect(first.bytes).toBe(15 * MB);
  }
  expect(spools.bytes).toBe(10 * MB);
  for (let count = 0; count < 3; count++) await second.write(piece);
  let bytes = 0;
  for await (const read of second.read()) bytes += read.length;
  expect([bytes, readdirSync(folder)]).toEqual([20 * MB, []]);
});

test("small responses need no room", async () => {
  const spools = new SpoolRoom({ folder: "/none", uri: "cloud://acme:main", room: async () => -1 });
  await using spool = spools.open();
  await spool.write("x".repeat(MB));
  expect([spool.bytes, spools.bytes]).toEqual([MB, 0]);
});
