import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSpoolRoom } from "./spool-room.ts";

const MB = 1_000_000;

test("spools of a database share the room of its disk", async () => {
  const folder = mkdtempSync(join(tmpdir(), "spools-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const open = createSpoolRoom({ folder, uri: "cloud://acme:main", room: async () => 20 * MB });
  const piece = Buffer.alloc(5 * MB);
  await using second = open();
  {
    await using first = open();
    for (let count = 0; count < 3; count++) await first.write(piece);
    await second.write(piece);
    await expect(first.write(piece)).rejects.toMatchObject({
      code: "disk_full",
      message: expect.stringContaining("cloud://acme:main has no room for 25000000 bytes"),
    });
    expect(first.bytes).toBe(15 * MB);
  }
  for (let count = 0; count < 3; count++) await second.write(piece);
  let bytes = 0;
  for await (const read of second.read()) bytes += read.length;
  expect([bytes, readdirSync(folder)]).toEqual([20 * MB, []]);
});

test("small responses need no room", async () => {
  const open = createSpoolRoom({ folder: "/none", uri: "cloud://acme:main", room: async () => 0 });
  await using spool = open();
  await spool.write("x".repeat(MB));
  expect(spool.bytes).toBe(MB);
});
