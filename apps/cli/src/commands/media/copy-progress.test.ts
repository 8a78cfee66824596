import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CopyProgress, inGroups, inLanes } from "./copy-progress.ts";

let said: string[];
const out = { note: (text: string) => void said.push(text), status: (text: string) => void said.push(text) };

beforeEach(() => {
  said = [];
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

test("a copy that takes longer than a second says how far it is, once a second", () => {
  using progress = new CopyProgress(out, false);
  progress.moved(2048);
  progress.copied();
  vi.advanceTimersByTime(999);
  expect(said).toEqual([]);
  vi.advanceTimersByTime(1);
  progress.moved(-1024);
  progress.skipped();
  vi.advanceTimersByTime(1_000);
  expect(said).toEqual(["copying: 1 file, 2.0 KiB", "copying: 2 files, 1.0 KiB"]);
});

test("programs get it as JSON lines", () => {
  using progress = new CopyProgress(out, true);
  progress.copied();
  vi.advanceTimersByTime(1_000);
  expect(said.map((line) => JSON.parse(line))).toEqual([
    { event: "copy", copied: 1, skipped: 0, bytes: 0, stored_bytes: 0 },
  ]);
});

test("after a failure no further item begins", async () => {
  const begun: number[] = [];
  const items = Array.from({ length: 20 }, (_, at) => at);
  const work = async (item: number) => {
    begun.push(item);
    if (item === 2) throw new Error("it failed");
  };
  await expect(inLanes(items, work)).rejects.toThrow("it failed");
  expect(begun.length).toBeLessThan(10);
});

test("groups keep the order, and the last may be smaller", async () => {
  const groups: number[][] = [];
  for await (const group of inGroups([1, 2, 3, 4, 5], 2)) groups.push(group);
  expect(groups).toEqual([[1, 2], [3, 4], [5]]);
});
