import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createOutput } from "./output.ts";
import { sayIfSlow } from "./slow-wait.ts";

function captured() {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  return { written, out: createOutput(stream, stream, true) };
}

test("work that takes long is named on stderr, once", async () => {
  const { out, written } = captured();
  const work = sleep(50, "done");
  expect(await sayIfSlow({ out, json: false, slow_ms: 1 }, "comparing the tables", work)).toBe("done");
  expect(written).toEqual(["comparing the tables\n"]);
});

test("quick work and programs get no line", async () => {
  const { out, written } = captured();
  await sayIfSlow({ out, json: false }, "comparing the tables", Promise.resolve());
  await sayIfSlow({ out, json: true, slow_ms: 1 }, "comparing the tables", sleep(20));
  const failing = sayIfSlow({ out, json: false }, "comparing the tables", Promise.reject(new Error("refused")));
  await expect(failing).rejects.toThrow("refused");
  expect(written).toEqual([]);
});
