import { expect, test } from "vitest";
import { requestCodeSchema } from "./data-queries.ts";

const POOL = { name: "openai", max_concurrent: 1, per_minute: null, retries: 3 };
const FUNCTION = {
  id: "functions:summarize",
  module: "functions",
  name: "summarize",
  parameters: [],
  result: { type: { kind: "string" }, nullable: false },
  digest: "",
  source: { file: "functions.py", line: 1 },
};

test("refuses a function whose id names another module", () => {
  expect(requestCodeSchema.safeParse({ functions: [FUNCTION] }).success).toBe(true);
  const { error } = requestCodeSchema.safeParse({ functions: [{ ...FUNCTION, module: "platform" }] });
  expect(error?.issues).toMatchObject([
    { path: ["functions", 0, "id"], message: expect.stringMatching(/begins with its module/) },
  ]);
});

test("refuses names of resource pools that the library refuses", () => {
  const isTaken = (name: string) => requestCodeSchema.safeParse({ resource_pools: [{ ...POOL, name }] }).success;
  for (const name of ["openai", "my pool", "größe", "x".repeat(100), "\u{1F680}".repeat(100)])
    expect(isTaken(name)).toBe(true);
  for (const name of ["", "x".repeat(101), "a\nb", "a\u0000", "a\u2028b", "a\u00a0b"])
    expect(isTaken(name)).toBe(false);
});
