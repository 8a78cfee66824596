import { expect, test } from "vitest";
import { splitFrames } from "./split-frames.ts";
import { splitLines } from "./split-lines.ts";

const HOSTED = { body_bytes: 10, raise_bodies: "raise SERVICE_MAX_BODY_MB of the server" };

async function* bodyOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function readAll(parts: AsyncIterable<unknown>): Promise<void> {
  for await (const _part of parts);
}

/** A frame with one line. */
function frameOf(line: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(4 + line.length, 0);
  return Buffer.concat([head, Buffer.from(line)]);
}

test.each([
  ["line", (limit: typeof HOSTED) => splitLines(bodyOf(Buffer.from(`{}\n${"x".repeat(11)}\n`)), limit), 2],
  ["row of a frame", (limit: typeof HOSTED) => splitFrames(bodyOf(frameOf("x".repeat(11))), limit), 1],
])("a %s that is too long gets an error that names what raises the limit", async (_what, split, line) => {
  await expect(readAll(split(HOSTED))).rejects.toMatchObject({
    code: "payload_too_large",
    hint: expect.stringMatching(/, or raise SERVICE_MAX_BODY_MB of the server\.$/),
    meta: { line, limit: "body_bytes", value: 10 },
  });
});
