import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { createLogLines } from "./log-lines.ts";

const said = (reader: PassThrough) => String(reader.read() ?? "");

test("keeps the last thousand lines for the next reader and gives them once", () => {
  const lines = createLogLines();
  for (let line = 0; line < 1_200; line += 1) lines.write(`${line}\n`);
  const [first, second] = [new PassThrough(), new PassThrough()];
  lines.follow(first);
  lines.follow(second);
  lines.write("now\n");
  const read = said(first).split("\n");
  expect([read[0], read.at(-3), read.at(-2), read.length]).toEqual(["200", "1199", "now", 1_002]);
  expect(said(second)).toBe("now\n");
});

test("keeps lines after a reader leaves, and disconnects a stalled reader", async () => {
  const lines = createLogLines();
  const stuck = new PassThrough();
  lines.follow(stuck);
  const line = `${"x".repeat(1024 * 1024)}\n`;
  for (let count = 0; count < 10; count += 1) lines.write(line);
  expect(stuck.destroyed).toBe(true);
  lines.write("later\n");
  const next = new PassThrough();
  lines.follow(next);
  next.end();
  expect((await text(next)).split("\n").slice(-3)).toEqual([line.trim(), "later", ""]);
});
