import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "./paths.mjs";

const PAGE = join(ROOT, "docs", "spec-coverage.md");
/** A row: sentence, and the tests that hold it (``file`: name`, several divided by `<br>`) or why there is none. */
const ROW = /^\| (?<sentence>[^|]+) \| (?<held>[^|]+) \|$/;
const TEST = /^`(?<file>[^`]+)`: (?<name>.+)$/;
/** Why a sentence has no test: what the product does not have yet, or what is advice of a page. Nothing else is a reason. */
const NO_TEST = /^(Not yet: (media|data access)|Advice: \[[^\]]+\.md\]\([^)]+\.md\) gives it)$/;

/**
 * What is wrong with docs/spec-coverage.md, a line each: a sentence without a test, a test that did not run or did not pass in
 * `report` (vitest's JSON).
 */
export function checkSpecCoverage(report, page = readFileSync(PAGE, "utf8")) {
  const passed = new Set(
    report.testResults.flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === "passed")
        .map(({ title }) => `${relative(ROOT, name).replaceAll("\\", "/")}: ${title}`),
    ),
  );
  const problems = [];
  const rows = readRows(page);
  if (rows.length === 0) problems.push("docs/spec-coverage.md has no row.");
  for (const { sentence, held } of rows) {
    if (NO_TEST.test(held)) continue;
    for (const cell of held.split("<br>")) {
      const named = TEST.exec(cell.trim())?.groups;
      if (named === undefined) problems.push(`"${sentence}" is held by no test: ${cell.trim()}`);
      else if (!passed.has(`${named.file}: ${named.name}`)) {
        problems.push(`"${sentence}": the test "${named.name}" of ${named.file} did not run, or did not pass.`);
      }
    }
  }
  return problems;
}

/** The rows of all tables of the page. A bar inside of a sentence or a name is written `\\|`. */
function readRows(page) {
  return page.split("\n").flatMap((line) => {
    const row = ROW.exec(line.replaceAll("\\|", "\0"))?.groups;
    if (row === undefined || row.sentence === "Sentence" || /^:?-+:?$/.test(row.sentence)) return [];
    return [{ sentence: row.sentence.replaceAll("\0", "|").trim(), held: row.held.replaceAll("\0", "|").trim() }];
  });
}
