import { openTestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { readPrintedSteps, withoutComment } from "./support/pages/printed-steps.ts";
import { saidBy, walkPrintedTour } from "./support/pages/printed-tour.ts";

test("the tour of README.md works as printed", async () => {
  await using project = openTestProject();
  const said = await walkPrintedTour(project, "README.md");
  const answers = saidBy(said, "curl");
  expect(JSON.parse(answers[0] ?? "")).toMatchObject({ title_upper: "HELLO", summary: "Hello" });
  expect(JSON.parse(answers[1] ?? "")).toEqual({ title_upper: "COMPUTED, NOT STORED" });
  expect(JSON.parse(answers[2] ?? "")).toMatchObject({ status: 422, code: "invalid_request" });
  const [listed] = saidBy(said, "cli service list");
  expect(listed).toContain("main/ingest");
  expect(listed).toContain("AVAILABLE");
  expect(project.processes()).toEqual([]);
}, 180_000);

test("the guide's local steps are part of the README's tour", () => {
  const linesOf = (page: string) => readPrintedSteps(page, "tour").flatMap(({ lines }) => lines.map(withoutComment));
  const tour = linesOf("README.md");
  const guide = linesOf("docs/guide.md");
  expect(guide.length).toBeGreaterThan(3);
  expect(guide.filter((line) => !tour.includes(line))).toEqual([]);
});
