import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "./paths.mjs";

const PAGE = join(ROOT, "docs", "spec-coverage.md");
/** A row: the sentence, and its tests (``file`: name`, separated by `<br>`) or the reason for having none. */
const ROW = /^\| (?<sentence>[^|]+) \| (?<held>[^|]+) \|$/;
const TEST = /^`(?<file>[^`]+)`: (?<name>.+)$/;
/**
 * Allowed reasons for a sentence without a test: the product lacks the feature, or the sentence is advice of a page.
 */
const KEYS = /<!--((?: [0-9a-f]{6})+) -->/g;
const NO_TEST = /^(Not yet: (media|data access)|Advice: \[[^\]]+\.md\]\([^)]+\.md\) gives it)$/;

/**
 * Problems of docs/spec-coverage.md, one per line: a sentence without a test, or a test that did not run or pass in
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

/**
 * Compares the page with the specification (Markdown) by sentence. A row lists the sentences that it covers by key, in
 * comments (`<!-- 3f2a91 -->`). Returns the sentences without a row, and the keys without a sentence.
 */
export function compareWithSpec(spec, page = readFileSync(PAGE, "utf8")) {
  const sentences = readSentences(spec);
  const keys = new Set([...page.matchAll(KEYS)].flatMap(([, list]) => list.trim().split(" ")));
  return {
    uncovered: sentences.filter(({ key }) => !keys.has(key)),
    unknown: [...keys].filter((key) => !sentences.some((sentence) => sentence.key === key)),
  };
}

/**
 * The sentences of a document below its headings, each with a key made of its text. A row of a table is read with the name in its
 * first cell; heads of tables, and what the document says that it does not show, are left out.
 * @param {string} markdown
 * @returns {{ text: string, key: string }[]}
 */
export function readSentences(markdown) {
  const lines = markdown.split("\n");
  return lines
    .filter((line, index) => !/^(#|\s*$|\|[\s:|-]+\|$)/.test(line) && !/^\|[\s:|-]+\|$/.test(lines[index + 1] ?? ""))
    .flatMap((line) => (line.startsWith("|") ? readCells(line) : splitSentences(line.replace(/^\s*(\d+\.|-)\s*/, ""))))
    .filter((text) => !/\b(not shown|none stated)\.?$/.test(text))
    .map((text) => ({ text, key: createHash("sha256").update(text).digest("hex").slice(0, 6) }));
}

function readCells(line) {
  const [name, ...cells] = line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
  return cells.flatMap((cell) => splitSentences(cell).map((sentence) => `${name}: ${sentence}`));
}

const splitSentences = (text) => text.split(/(?<=[.;]) (?=\S)/).map((sentence) => sentence.trim());

/** The rows of all tables of the page. A bar inside a sentence or a name is written `\\|`. */
function readRows(page) {
  return page.split("\n").flatMap((line) => {
    const row = ROW.exec(line.replaceAll("\\|", "\0"))?.groups;
    if (row === undefined || row.sentence === "Sentence" || /^:?-+:?$/.test(row.sentence)) return [];
    return [{ sentence: row.sentence.replaceAll("\0", "|").trim(), held: row.held.replaceAll("\0", "|").trim() }];
  });
}
