import { expect, test } from "vitest";
import type { AppError } from "./errors.ts";
import { refuseOtherProjects, unsupportedHint } from "./other-projects.ts";
import type { SchemaPlan } from "./plan.ts";

function planOf(project: string | undefined): SchemaPlan {
  const ops = [{ severity: "unsupported", description: "the key would change" }];
  return { app_file: "app.py", target: "main", tables: [{ path: "main/docs", project, ops }] } as unknown as SchemaPlan;
}

test("suggests a separate database for another project's table", () => {
  expect(unsupportedHint(planOf("/other"))).toContain("cli schema update app.py <name>");
});

test("formats the caller's command for taking tables over", () => {
  const ops = [{ severity: "additive", description: "column 'n' will be added" }];
  const table = { path: "main/docs", project: "/other", ops, destructive: false };
  const summary = { destructive: 0 };
  const plan = { app_file: "app.py", target: "main", tables: [table], summary } as unknown as SchemaPlan;
  const hintOf = (work: () => void): unknown => {
    try {
      return work();
    } catch (error) {
      return (error as AppError).hint;
    }
  };
  expect(hintOf(() => refuseOtherProjects(plan))).toMatch(/: cli schema update app\.py main --take-over$/);
  const again = (flags: readonly string[]) => ["again", ...flags, "-f"].join(" ");
  expect(hintOf(() => refuseOtherProjects(plan, again))).toMatch(/: again --take-over -f$/);
});

test("points to the file for a table of the same project", () => {
  expect(unsupportedHint(planOf(undefined))).toBe("Change the file as the plan says, or restore its previous content.");
});
