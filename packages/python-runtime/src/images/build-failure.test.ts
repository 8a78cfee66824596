import { expect, test } from "vitest";
import { buildFailure } from "./build-failure.ts";
import { BUILD_LIMITS } from "./build-steps.ts";

const exit = { code: 1, signal: null, is_out_of_memory: false, exceeded: null } as const;
const failure = (output: string) =>
  buildFailure({ exit, output, building: undefined, python: "3.12.8", limits: BUILD_LIMITS });
const failureOf = (said: string) => failure(said).message;

test("names the operator's setting when a build cannot reach its index", () => {
  const said =
    "error: Failed to fetch: `https://index.internal/simple/`\n  Caused by: dns error: failed to lookup address";
  expect(failure(said).hint).toContain("SERVICE_BUILD_HOSTS");
});

test.each([
  "RuntimeError: can't start new thread",
  "gcc: fork: Resource temporarily unavailable",
  "BlockingIOError: [Errno 11] Resource temporarily unavailable",
])("recognizes a build with too many processes by its output: %s", (said) => {
  expect(failureOf(`first\n${said}\nlast`)).toContain("needed more than 512 processes");
});

test("ignores process messages in another order or on separate lines", () => {
  expect(failureOf("Resource temporarily unavailable in fork")).not.toContain("processes");
  expect(failureOf("fork\nResource temporarily unavailable")).not.toContain("processes");
});

test.each(["fork", "thread spawn ", "not find ", "fatal error: ", "command 'a/", " ", "Building ", "error: "])(
  "handles many lines that repeat %j quickly",
  (word) => {
    const said = Array(400).fill(word.repeat(4_000).slice(0, 4_000)).join("\n");
    // a pattern with quadratic backtracking would exceed the test's timeout
    expect(failureOf(said)).toContain("could not be built");
  },
);
