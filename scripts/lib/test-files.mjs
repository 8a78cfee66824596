/**
 * The long form, `npm run test:faults`: parts of the names of its test files, by vitest's project. A file with `.long.` in
 * its name has no other form. scripts/test-files.test.ts finds files that have a long form and are missing here.
 */
export const LONG_RUNS = [
  {
    project: "e2e",
    names: [
      ".long.",
      "attacks",
      "examples.e2e",
      "kills",
      "library.e2e",
      "program-leases",
      "psql.e2e",
      "small-memory",
      "source-values",
    ],
  },
  {
    project: "unit",
    // 10,000 random trees of links and random environments, unpacked on disk
    names: ["project-files", "random-answers", "random-files", "random-forms", "random-trees"],
  },
  {
    project: "db",
    names: ["killed-databases", "killed-services", "older-writers", "sql-forms", "view-rebuilds"],
    env: { FORM_CASES: "20000" },
  },
  { project: "e2e", names: ["query-oracle"], env: { QUERY_CASES: "2000" } },
];

/** vitest's project of a test file, by its suffix. */
export function projectOf(file) {
  return /\.(db|contract|e2e)\.test\.ts$/.exec(file)?.[1] ?? "unit";
}
