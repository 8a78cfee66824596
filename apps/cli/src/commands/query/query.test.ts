import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { QueryExplanation } from "@appdb/contract/routes/local";
import { expect, test } from "vitest";
import { APPLICATION, runCli } from "../../testing/fake-context.ts";

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

test("lists each invalid parameter and the flags that give them", async () => {
  const queryExplain = async () => {
    throw appError("invalid_request", {
      detail: "2 parameters are invalid; `errors` lists each.",
      hint: "The route takes: title, n",
      errors: [
        { pointer: "/n", detail: 'Expected Int, got "x".' },
        { pointer: "/title", detail: 'The parameter "title" is required.' },
      ],
    });
  };
  const queries = [{ id: "app:by_n", name: "by_n", parameters: [{ name: "title" }, { name: "n" }] }];
  const manifest = { ...APPLICATION.manifest, queries: queries as unknown as Manifest["queries"] };
  const app = { ...APPLICATION, manifest };
  const { exit, stderr } = await runCli("query explain app.py main by_n --param n=x", {
    client: { queryExplain },
    app,
  });
  expect(exit).toBe(1);
  expect(stderr).toContain('    /n: Expected Int, got "x".\n    /title: The parameter "title" is required.\n');
  expect(stderr).toContain("hint: Give values by flags: --param title=... --param n=...\n");
});
