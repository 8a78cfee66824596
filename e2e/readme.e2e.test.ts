import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { type Finished, freePort, makePlace, type Place, type Started } from "./support/place.ts";
import { printedExit, readPrintedSteps, withoutComment } from "./support/printed-steps.ts";

interface Step {
  readonly kind: "type" | "serve" | "edit";
  readonly lines: readonly string[];
}

test("the tour of README.md works as it is printed", async () => {
  const steps = readTour(await freePort());
  await using place = makePlace();
  const said = new Map<string, Finished>();
  let serving: Started | undefined;
  for (const { kind, lines } of steps) {
    if (kind === "edit") editApplication(place, lines);
    if (kind === "serve") serving = await serve(place, lines[0] ?? "");
    for (const line of kind === "type" ? lines : []) {
      if (line.startsWith("cli service update") && serving !== undefined) {
        expect(await serving.interrupt(), serving.output()).toBe(130);
        serving = undefined;
      }
      const done = await place.type(line);
      expect(done.code, `${line}\n${done.stdout}${done.stderr}`).toBe(printedExit(line));
      said.set(line, done);
    }
  }
  const all = [...said.entries()];
  const answers = all.filter(([line]) => line.startsWith("curl")).map(([, { stdout }]) => stdout);
  expect(JSON.parse(answers[0] ?? "")).toMatchObject({ title_upper: "HELLO", summary: "Hello" });
  expect(JSON.parse(answers[1] ?? "")).toEqual({ title_upper: "COMPUTED, NOT STORED" });
  expect(JSON.parse(answers[2] ?? "")).toMatchObject({ status: 422, code: "invalid_request" });
  const listed = all.find(([line]) => line.startsWith("cli service list"))?.[1].stdout;
  expect(listed).toContain("main/ingest");
  expect(listed).toContain("AVAILABLE");
  expect(place.processes()).toEqual([]);
}, 180_000);

test("what the guide does on one's own machine is part of the README's tour", () => {
  const linesOf = (page: string) => readPrintedSteps(page, "tour").flatMap(({ lines }) => lines.map(withoutComment));
  const tour = linesOf("README.md");
  const guide = linesOf("docs/guide.md");
  expect(guide.length).toBeGreaterThan(3);
  expect(guide.filter((line) => !tour.includes(line))).toEqual([]);
});

/** The steps of the tour, their port exchanged for a free one. */
function readTour(port: number): Step[] {
  const steps = readPrintedSteps("README.md", "tour");
  expect(steps.length).toBeGreaterThan(6);
  return steps.map(({ mark, language, lines }) => ({
    kind: language === "python" ? "edit" : mark.includes("until") ? "serve" : "type",
    lines: lines.map((line) => line.replaceAll("8000", String(port))),
  }));
}

function editApplication(place: Place, lines: readonly string[]): void {
  const file = join(place.project, "app.py");
  const before = readFileSync(file, "utf8");
  const after = before.replace(/^ {4}title_upper = .*\n/m, (line) => `${line}${lines.join("\n")}\n`);
  expect(after).not.toBe(before);
  writeFileSync(file, after);
}

async function serve(place: Place, line: string): Promise<Started> {
  const serving = place.start(withoutComment(line));
  const port = /--port (\d+)/.exec(line)?.[1];
  await eventually(async () => {
    expect(serving.child.exitCode, serving.output()).toBe(null);
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
  });
  return serving;
}
