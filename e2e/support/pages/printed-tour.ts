import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { freePort } from "@appdb/testkit/free-ports";
import type { Finished, Started, TestProject } from "@appdb/testkit/test-project";
import { expect } from "vitest";
import { printedExit, readPrintedSteps, withoutComment } from "./printed-steps.ts";

interface Step {
  readonly kind: "type" | "serve" | "edit";
  readonly lines: readonly string[];
}

/** Output of each line of a tour. */
type Said = ReadonlyMap<string, Finished>;

/**
 * Runs the lines of a page below `<!-- tour -->` in order, and fails when one exits differently than printed. Replaces
 * port 8000 by a free one. `onServed` runs after the first `cli service update`.
 */
export async function walkPrintedTour(
  project: TestProject,
  page: string,
  onServed?: (port: number) => Promise<void>,
): Promise<Said> {
  const port = await freePort();
  const said = new Map<string, Finished>();
  let serving: Started | undefined;
  let wantsLook = onServed !== undefined;
  for (const { kind, lines } of readTour(page, port)) {
    if (kind === "edit") editApplication(project, lines);
    if (kind === "serve") serving = await serve(project, lines[0] ?? "");
    for (const line of kind === "type" ? lines : []) {
      const isUpdate = line.startsWith("cli service update");
      if (isUpdate && serving !== undefined) {
        expect(await serving.interrupt(), serving.output()).toBe(130);
        serving = undefined;
      }
      const done = await project.type(line);
      expect(done.code, `${line}\n${done.stdout}${done.stderr}`).toBe(printedExit(line));
      said.set(line, done);
      if (isUpdate && wantsLook) await onServed?.(port);
      if (isUpdate) wantsLook = false;
    }
  }
  return said;
}

/** Output of the lines with this beginning, in order. */
export function saidBy(said: Said, beginning: string): string[] {
  return [...said.entries()].filter(([line]) => line.startsWith(beginning)).map(([, { stdout }]) => stdout);
}

/** The steps of the tour with a free port. */
function readTour(page: string, port: number): Step[] {
  const steps = readPrintedSteps(page, "tour");
  expect(steps.length).toBeGreaterThan(4);
  return steps.map(({ mark, language, lines }) => ({
    kind: kindOf(language, mark),
    lines: lines.map((line) => line.replaceAll("8000", String(port))),
  }));
}

function kindOf(language: string, mark: string): Step["kind"] {
  if (language === "python") return "edit";
  return mark.includes("until") ? "serve" : "type";
}

function editApplication(project: TestProject, lines: readonly string[]): void {
  const file = join(project.folder, "app.py");
  const before = readFileSync(file, "utf8");
  const after = before.replace(/^ {4}title_upper = .*\n/m, (line) => `${line}${lines.join("\n")}\n`);
  expect(after).not.toBe(before);
  writeFileSync(file, after);
}

async function serve(project: TestProject, line: string): Promise<Started> {
  const serving = project.start(withoutComment(line));
  const port = /--port (\d+)/.exec(line)?.[1];
  await eventually(async () => {
    expect(serving.child.exitCode, serving.output()).toBe(null);
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
  });
  return serving;
}
