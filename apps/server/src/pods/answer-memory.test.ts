import { expect, test } from "vitest";
import { AnswerMemory } from "./answer-memory.ts";

const LARGE = 64_000_000;

test("documents of an organization are counted until their requests end, and one document always fits", () => {
  const memory = new AnswerMemory();
  const ended = [new AbortController(), new AbortController(), new AbortController()] as const;
  const [first, second, third] = ended.map(({ signal }) => memory.open("acme", signal));
  for (const bytes of [1_000, LARGE / 2, LARGE]) first?.(bytes);
  second?.(LARGE);
  expect(() => third?.(300_000)).toThrow(expect.objectContaining({ code: "rate_limited" }));
  // short documents, and other organizations
  memory.open("acme", new AbortController().signal)(200_000);
  memory.open("other", new AbortController().signal)(2 * LARGE + 1);
  for (const one of ended) one.abort();
  memory.open("acme", new AbortController().signal)(2 * LARGE);
});
