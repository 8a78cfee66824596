import type { QueryExplanation } from "@appdb/contract/routes/local";
import { expect, test } from "vitest";
import { runCli } from "../../testing/fake-context.ts";

const FOUND: QueryExplanation = {
  query: "app:by_n",
  source: { file: "app.py", line: 17 },
  statements: ['select "docs"."title"\nfrom "public"."docs" as "docs"'],
  parts: [
    { clause: "where", runs_in: "SQL", what: "all of it", why: null },
    { clause: "select", runs_in: "Python", what: "app:shout", why: "app:shout is a function of the application" },
  ],
  plan: ["Seq Scan on docs", "  Filter: (n = $1)"],
};

test("query explain prints statement, places of execution and plan", async () => {
  const asked: unknown[] = [];
  const client = {
    queryExplain: async (request: { query: string; params: object; analyze: boolean }) => {
      asked.push([request.query, request.params, request.analyze]);
      return FOUND;
    },
  };
  const argv = "query explain app.py main by_n --param n=1=2 --param tag= --analyze";
  const { exit, stdout } = await runCli(argv, { client });
  expect(asked).toEqual([["by_n", { n: "1=2", tag: "" }, true]]);
  expect(exit).toBe(0);
  expect(stdout).toContain("app:by_n (app.py:17): SQL and Python");
  expect(stdout).toContain("app:shout is a function of the application");
  expect(stdout).toContain('from "public"."docs"');
  expect(stdout).toContain("  Filter: (n = $1)");
});

test("query explain --json prints the object", async () => {
  const client = { queryExplain: async () => FOUND };
  const { stdout } = await runCli("query explain app.py main by_n --json", { client });
  expect(JSON.parse(stdout)).toEqual(FOUND);
});

test("refuses a parameter without a value", async () => {
  const { exit, stderr } = await runCli("query explain app.py main by_n --param n", { client: {} });
  expect(exit).toBe(2);
  expect(stderr).toContain("name=value");
});
