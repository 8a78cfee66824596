import type { DatabasePlan } from "@appdb/contract/routes/control-databases";
import { expect, test } from "vitest";
import { printDatabasePlan } from "./database-plan-text.ts";
import { createOutput } from "./output.ts";

test("prints a list that the server has shortened with its number of other files", () => {
  const files = Array.from({ length: 20 }, (_, at) => `+ file${at}.py`);
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text), isTTY: false };
  printDatabasePlan(planOf([...files, "... and 106 more"]), createOutput(stream, stream, true));
  const lines = written.join("").split("\n");
  expect(lines.filter((line) => line.includes("+ file"))).toHaveLength(20);
  expect(lines.filter((line) => line.includes("more"))).toEqual(["        ... and 106 more"]);
});

function planOf(lines: string[]): DatabasePlan {
  const op = {
    target: "files",
    op: "upload",
    severity: "additive",
    description: "126 project files will be uploaded",
    lines,
    requires_restart: false,
    details: {},
  } as const;
  return {
    uri: "cloud://acme:main",
    state: "AVAILABLE",
    resolution: "update",
    ops: [op],
    summary: { ops: 1, destructive: 0 },
  } as unknown as DatabasePlan;
}
