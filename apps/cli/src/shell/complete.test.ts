import { parseTarget } from "@appdb/contract/names";
import { expect, test } from "vitest";
import { LEAVES, NOUNS } from "../command-table.ts";
import { type CompletionInput, complete } from "./complete.ts";

const TABLES = [
  { path: "docs", columns: ["id", "title", "title_upper"] },
  { path: "notes", columns: ["id", "body"] },
  { path: "reports/days", columns: ["day"] },
];
const cache = (tables: Awaited<ReturnType<CompletionInput["tables"]["tables"]>>): CompletionInput["tables"] => ({
  tables: async () => tables,
  databases: async () => ["main", "other"],
  refresh: () => undefined,
});

async function at(line: string, parts: Partial<CompletionInput> = {}) {
  const commands = { leaves: LEAVES, nouns: NOUNS };
  const [found, typed] = await complete({
    before: "",
    line,
    location: parseTarget("main"),
    commands,
    tables: cache(TABLES),
    ...parts,
  });
  return { found, typed };
}

test.each([
  ["descr", ["describe "], "descr"],
  ["co", ["columns", "completions", "config", "count"], "co"],
  ["schema d", ["diff "], "d"],
  ["rows --li", ["--limit "], "--li"],
  ["rows ", ["docs", "notes", "reports/"], ""],
  ["cli rows do", ["docs "], "do"],
  ["rows reports/", ["reports/days "], "reports/"],
  ["count main/n", ["main/notes "], "main/n"],
  ["rows /", ["/main/", "/other/"], "/"],
  ["cd ", ["reports/"], ""],
  ["\\d n", ["notes "], "n"],
  ["rows docs --columns id,ti", ["title", "title_upper"], "ti"],
  ["rows docs --where 'id > 1 and title_", ["title_upper"], "title_"],
  ["mv docs r", ["reports/"], "r"],
  ["recompute docs title_", ["title_upper "], "title_"],
  ["completions z", ["zsh "], "z"],
  ["help des", ["describe "], "des"],
  ["select tit", ["title", "title_upper"], "tit"],
  ["select * from d", ["docs"], "d"],
  ["select d.t", [], "d.t"],
  ["select * from docs d where d.title_", ["d.title_upper"], "d.title_"],
  ["select * from notes where b", ["between", "body", "by"], "b"],
  ["SELECT * FROM notes WHE", ["WHEN", "WHERE"], "WHE"],
  ["select reports.", [], "reports."],
  ['select * from "rep', ['"reports/days"'], '"rep'],
])("completes %s", async (line, found, typed) => {
  const got = await at(line);
  expect(got.typed).toBe(typed);
  expect(got.found).toEqual(found);
});

test("completes a statement over several lines", async () => {
  expect((await at("from docs where title_", { before: "select id\n" })).found).toEqual(["title_upper"]);
});

test("completes a column of 500 tables within 50 ms", async () => {
  const tables = cache(
    Array.from({ length: 500 }, (_, table) => ({
      path: `t${table}`,
      columns: Array.from({ length: 10 }, (_, column) => `c${table}_${column}`),
    })),
  );
  const times: number[] = [];
  for (let run = 0; run < 5; run += 1) {
    const began = performance.now();
    expect((await at("select c499_", { tables })).found).toHaveLength(10);
    times.push(performance.now() - began);
  }
  expect(Math.min(...times)).toBeLessThan(50);
});
