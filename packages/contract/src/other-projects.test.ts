import { expect, test } from "vitest";
import { unsupportedHint } from "./other-projects.ts";
import type { SchemaPlan } from "./plan.ts";

function planOf(project: string | undefined): SchemaPlan {
  const ops = [{ severity: "unsupported", description: "the key would change" }];
  return { app_file: "app.py", target: "main", tables: [{ path: "main/docs", project, ops }] } as unknown as SchemaPlan;
}

test("suggests a separate database for another project's table", () => {
  expect(unsupportedHint(planOf("/other"))).toContain("cli schema update app.py <name>");
});

test("points to the file for a table of the same project", () => {
  expect(unsupportedHint(planOf(undefined))).toBe("Change the file as the plan says, or restore its previous content.");
});
