import { expect, test } from "vitest";
import { workerEndHint } from "./worker-end.ts";

test.each(["signal SIGKILL", "exit code 137"])("a worker that ended with %s may have had too little memory", (how) => {
  expect(workerEndHint(`the worker process ended (${how}) while it ran this row`)).toContain("memory_mb");
});

test.each(["exit code 3", "exit code 1370", "signal SIGSEGV"])(
  "a worker that ended with %s had another reason",
  (how) => {
    expect(workerEndHint(how)).toBe("A function must return or raise; it must not end its process.");
  },
);
