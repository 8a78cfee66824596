import { expect, test } from "vitest";
import { buildFailure } from "./build-failure.ts";
import { BUILD_LIMITS } from "./build-steps.ts";

const exit = { code: 1, signal: null, is_out_of_memory: false, exceeded: null } as const;
const failureOf = (said: string) =>
  buildFailure({ exit, said, building: undefined, python: "3.12.8", limits: BUILD_LIMITS }).message;

test.each([
  "RuntimeError: can't start new thread",
  "gcc: fork: Resource temporarily unavailable",
  "BlockingIOError: [Errno 11] Resource temporarily unavailable",
])("a build with too many processes is told from its words: %s", (said) => {
  expect(failureOf(`first\n${said}\nlast`)).toContain("needed more than 512 processes");
});

test("words that stand in another order or in other lines say nothing of processes", () => {
  expect(failureOf("Resource temporarily unavailable in fork")).not.toContain("processes");
  expect(failureOf("fork\nResource temporarily unavailable")).not.toContain("processes");
});

test.each(["fork", "thread spawn ", "not find ", "fatal error: ", "command 'a/", " ", "Building ", "error: "])(
  "many lines that repeat %j cost little",
  (word) => {
    const said = Array(400).fill(word.repeat(4_000).slice(0, 4_000)).join("\n");
    const began = performance.now();
    failureOf(said);
    // a pattern that is tried from each of its beginnings takes seconds
    expect(performance.now() - began).toBeLessThan(1_000);
  },
);
