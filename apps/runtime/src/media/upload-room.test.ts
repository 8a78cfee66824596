import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { createUploadRoom } from "./upload-room.ts";

const MB = 1 << 20;

function pieces(count: number): { readonly body: AsyncIterable<Uint8Array>; read(): number } {
  let read = 0;
  const body = Readable.from(
    (function* () {
      for (; read < count; read += 1) yield new Uint8Array(MB);
    })(),
    { highWaterMark: 1 },
  );
  return { body, read: () => read };
}

async function takeAll(body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const piece of body) bytes += piece.length;
  return bytes;
}

test("an upload without room is refused before it is read", async () => {
  const admit = createUploadRoom(async () => 3 * MB, "mediafs://acme:main/home");
  const { body, read } = pieces(4);
  await expect(takeAll(admit(body, 4 * MB))).rejects.toMatchObject({
    code: "media_store_full",
    status: 507,
    message: `The upload has ${4 * MB} bytes, and the disk of the database has room for ${3 * MB}.`,
    hint: expect.stringContaining("cli media du mediafs://acme:main/home"),
  });
  expect(read()).toBe(0);
  expect(await takeAll(admit(pieces(3).body, 3 * MB))).toBe(3 * MB);
});

test("uploads at the same time share the room, and one that is cut frees its part", async () => {
  const admit = createUploadRoom(async () => 5 * MB, "mediafs://acme:main/home");
  const first = admit(pieces(3).body, 3 * MB)[Symbol.asyncIterator]();
  await first.next();
  // two of its pieces have not arrived
  await expect(takeAll(admit(pieces(4).body, 4 * MB))).rejects.toMatchObject({ meta: { room_bytes: 3 * MB } });
  await first.return?.();
  expect(await takeAll(admit(pieces(4).body, 4 * MB))).toBe(4 * MB);
});

test("uploads of unknown length, small ones and those of a database without a limit pass", async () => {
  const admit = createUploadRoom(async () => 0, "mediafs://acme:main/home");
  expect(await takeAll(admit(pieces(2).body, undefined))).toBe(2 * MB);
  expect(await takeAll(admit(pieces(1).body, 1_000))).toBe(MB);
  const unlimited = createUploadRoom(async () => undefined, "mediafs://acme:main/home");
  expect(await takeAll(unlimited(pieces(2).body, 2 * MB))).toBe(2 * MB);
});
