// Pages of docs/ are written by hand, with regions that the code fills:
// <!-- table: NAME --> ... <!-- end -->   lines generated from code
// <!-- value: NAME -->...<!-- end -->     one number or word in a sentence or a cell
// <!-- rows: NAME --> ... <!-- end -->    a table by hand whose first column names items of the code; some cells are
// generated
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { listFunctions } from "./function-tables.ts";
import { pageTables, ROWS } from "./page-tables.ts";
import { pageValues, readValue } from "./page-values.ts";
import { ROOT } from "./paths.mjs";

const REGION = /<!-- (table|value|rows): ([\w.-]+) -->([\s\S]*?)<!-- end -->/g;
const DOCS = join(ROOT, "docs");

/**
 * The pages of docs/ with regions, filled, by file name.
 * @throws when a page names an item that the code lacks, or no page names an item of the code
 */
export function referencePages(): Record<string, string> {
  const pages = readdirSync(DOCS)
    .filter((name) => name.endsWith(".md"))
    .map((name) => [name, readFileSync(join(DOCS, name), "utf8")] as const)
    .filter(([, text]) => text.search(REGION) !== -1);
  return fillPages(Object.fromEntries(pages));
}

/** Fills the regions of the pages. Together, the pages must use every source and name every row once. */
export function fillPages(pages: Readonly<Record<string, string>>): Record<string, string> {
  const functions = listFunctions();
  const [tables, values] = [pageTables(functions), pageValues(functions)];
  const rows: Record<string, string[]> = Object.fromEntries(Object.keys(ROWS).map((name) => [name, []]));
  const unused = new Set([...Object.keys(tables), ...Object.keys(values)]);
  const fillRegion = (kind: string, name: string, inside: string) => {
    if (kind === "rows") return fillRows(name, inside, rows);
    unused.delete(kind === "table" ? name : (name.split(".")[0] ?? ""));
    if (kind === "value") return readValue(values, name);
    const lines = tables[name]?.();
    if (lines === undefined) throw new Error(`No table named '${name}' in scripts/lib/page-tables.ts.`);
    return `\n${lines.join("\n")}\n`;
  };
  const fill = (_: string, kind: string, name: string, inside: string) =>
    `<!-- ${kind}: ${name} -->${fillRegion(kind, name, inside)}<!-- end -->`;
  const filled = Object.entries(pages).map(([page, text]) => [page, text.replaceAll(REGION, fill)]);
  checkSources(unused, rows);
  return Object.fromEntries(filled);
}

function checkSources(unused: ReadonlySet<string>, rows: Readonly<Record<string, readonly string[]>>): void {
  const problems = [...unused].map((name) => `no page uses '${name}'`);
  for (const [name, { names }] of Object.entries(ROWS)) {
    const found = rows[name]?.toSorted().join(", ");
    const expected = names.toSorted().join(", ");
    if (found !== expected) problems.push(`the rows of '${name}': expected ${expected}; got ${found}`);
  }
  if (problems.length > 0) throw new Error(`The pages of docs/ do not match the code:\n${problems.join("\n")}`);
}

function fillRows(name: string, inside: string, rows: Record<string, string[]>): string {
  const [header = "", rule = "", ...lines] = inside.trim().split("\n");
  const columns = cellsOf(header);
  const filled = lines.map((line) => {
    const written = cellsOf(line);
    const key = written[0]?.replaceAll("`", "") ?? "";
    rows[name]?.push(key);
    const cells = ROWS[name]?.cells?.(key) ?? {};
    return `| ${columns.map((column, at) => cells[column] ?? written[at] ?? "").join(" | ")} |`;
  });
  return `\n${[header, rule, ...filled].join("\n")}\n`;
}

/** The cells of a table row. A bar inside a cell is written `\|`. */
function cellsOf(line: string): string[] {
  const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
  return cells.slice(1, -1);
}
