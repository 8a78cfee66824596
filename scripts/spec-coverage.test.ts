import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { checkSpecCoverage, compareWithSpec, readSentences } from "./lib/spec-coverage.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const report = {
  testResults: [
    {
      name: join(ROOT, "apps/x.test.ts"),
      assertionResults: [
        { title: "an update is refused | told", status: "passed" },
        { title: "a start fails", status: "failed" },
        { title: "a stop is skipped", status: "pending" },
      ],
    },
  ],
};
const page = (...rows: string[]) => ["| Sentence | Held by |", "| --- | --- |", ...rows].join("\n");

test("accepts a sentence with a passed test, a missing feature or advice", () => {
  const rows = [
    "| It is refused. | `apps/x.test.ts`: an update is refused \\| told |",
    "| Uploads media. | Not yet: media |",
    "| Keys are for programs. | Advice: [keys.md](keys.md) gives it |",
  ];
  expect(checkSpecCoverage(report, page(...rows))).toEqual([]);
});

test("a failed, skipped, misplaced or missing test covers nothing", () => {
  const rows = [
    "| A. | `apps/x.test.ts`: a start fails |",
    "| B. | `apps/x.test.ts`: a stop is skipped |",
    "| C. | `apps/y.test.ts`: an update is refused \\| told |",
    "| D. | `apps/x.test.ts`: an update is refused \\| told<br>`apps/x.test.ts`: nobody wrote it |",
  ];
  expect(checkSpecCoverage(report, page(...rows)).map((problem) => problem.slice(0, 3))).toEqual([
    '"A.',
    '"B.',
    '"C.',
    '"D.',
  ]);
});

test("reports a sentence without test or reason and an empty page", () => {
  expect(checkSpecCoverage(report, page("| A. | soon |", "| B. | Not yet: no time |", "| C. | Advice |"))).toHaveLength(
    3,
  );
  expect(checkSpecCoverage(report, "# Nothing\n")).toHaveLength(1);
});

test("compares a specification by sentence", () => {
  const spec = [
    "# Part",
    "",
    "1. Tables hold rows. They are kept.",
    "",
    "| Command | Effect |",
    "|---|---|",
    "| `cli a` | Prints a; ends. |",
    "",
    "Limits: not shown.",
  ].join("\n");
  const sentences = readSentences(spec);
  expect(sentences.map(({ text }) => text)).toEqual([
    "Tables hold rows.",
    "They are kept.",
    "`cli a`: Prints a;",
    "`cli a`: ends.",
  ]);
  const [first, second, third, fourth] = sentences.map(({ key }) => key);
  const covering = page(
    `| Rows. <!-- ${first} ${third} ${fourth} --> | Not yet: media |`,
    "| Other. <!-- 000000 --> | x |",
  );
  expect(compareWithSpec(spec, covering)).toEqual({
    uncovered: [{ text: "They are kept.", key: second }],
    unknown: ["000000"],
  });
});
