import { expect, test } from "vitest";
import { bytesContent, readPart, readWhole } from "./content.ts";
import type { MediaContent } from "./media-store.ts";

const BYTES = Buffer.from("abcdefghij");

/** Content that arrives in these pieces, whatever part is asked for. */
function inPieces(...pieces: string[]): MediaContent {
  return {
    bytes: BYTES.length,
    async *read() {
      for (const piece of pieces) yield Buffer.from(piece);
    },
  };
}

test.each([
  ["one piece", bytesContent(BYTES)],
  ["several pieces", inPieces("abc", "", "defghi", "j")],
  ["an empty piece and all of it", inPieces("", "abcdefghij", "")],
])("content of %s is read as it is", async (_what, content) => {
  expect((await readWhole(content)).toString()).toBe("abcdefghij");
});

test("a part in one piece is not copied", async () => {
  const part = await readPart(bytesContent(BYTES), 2, 5);
  expect(part.toString()).toBe("cde");
  expect([part.buffer, part.byteOffset]).toEqual([BYTES.buffer, BYTES.byteOffset + 2]);
});

test.each([
  ["less", inPieces("abc")],
  ["more", inPieces("abcdefghij", "k")],
  ["more in one piece", inPieces("abcdefghijk")],
  ["nothing", inPieces()],
])("content that gives %s than its length is refused", async (_what, content) => {
  await expect(readWhole(content)).rejects.toThrow("A part of media from 0 to 10 has");
});

test("content without bytes is read", async () => {
  expect(await readWhole(bytesContent(Buffer.alloc(0)))).toHaveLength(0);
});
