import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectExit, expectProblem, makeProject, snapshot, writeFile } from "./support/served.ts";

const HEAD = `import appdb as db
from appdb.functions import upper
from appdb.serving import Router
Base = db.model_base()
`;
const GOOD = `${HEAD}
class Docs(Base, name="docs"):
    title: db.String
    up = upper(title)

api = Router()
api.add_insert_route(Docs, path="/docs")
`;
/** Precedes each mistake, because a file is applied completely or not at all. */
const FIRST = `${HEAD}
class First(Base, name="first"):
    n: db.Int
`;
const LONG = "x".repeat(64);

/** The mistake, its lines, and the expected answer. */
const MISTAKES: readonly [what: string, lines: string, detail: RegExp, hint: RegExp][] = [
  ["a syntax error", "class A(Base, name='a':\n    n: db.Int\n", /^bad\.py:8: Syntax error/, /Correct the line/],
  ["an import that fails", "import no_such_module\n", /^bad\.py:8: .*'no_such_module'/, /requirements/],
  [
    "two tables of one name",
    "class A(Base, name='first'):\n    n: db.Int\n",
    /^bad\.py:8: .*'first': First \(line 6\) and A/,
    /another name=/,
  ],
  ["two services of one name", "x = Router()\ny = Router(name='x')\n", /'x' \(lines 8 and 9\)/, /another name=/],
  [
    "an unknown column in an expression",
    "class A(Base, name='a'):\n    title: db.String\n    up = upper(titel)\n",
    /^bad\.py:10: .*'titel'[\s\S]*up = upper\(titel\)/,
    /Did you mean 'title'\?/,
  ],
  [
    "a computed column that reads a later one",
    "class A(Base, name='a'):\n    up = upper(title)\n    title: db.String\n",
    /^bad\.py:9: 'title' is read before it is declared: .*line 10/,
    /above line 9/,
  ],
  ["a wrong type", "class A(Base, name='a'):\n    n: int\n", /^bad\.py:9: .*'n'.*Python type int/, /n: db\.Int/],
  ["text plus a number", "class A(Base, name='a'):\n    s: db.String\n    x = s + 1\n", /String and Int/, /./],
  ["a reserved name", "class A(Base, name='a'):\n    _row: db.Int\n", /'_row'.*underscore/, /letter/],
  ["a name that PostgreSQL keeps", "class A(Base, name='a'):\n    ctid: db.Int\n", /ctid/, /./],
  ["an over-long column", `class A(Base, name='a'):\n    ${LONG}: db.Int\n`, /64 bytes; PostgreSQL keeps 63/, /63/],
  ["an over-long table", `class A(Base, name='${LONG}'):\n    n: db.Int\n`, /64 bytes; PostgreSQL keeps 63/, /63/],
  ["an over-long service", `r = Router(name='${LONG}')\n`, /64/, /./],
];

const TARGETS: readonly [target: string, detail: RegExp, hint: RegExp][] = [
  ["Main Db", /'Main Db' is not a valid name; names begin with a letter/, /main-db/],
  ["1main", /'1main'/, /main/],
  ["", /empty/, /main/],
  ["main//reports", /folder is empty/, /main/],
  ["main/appdb", /'appdb'.*reserved/, /main/],
  ["postgres", /'postgres'.*reserved/, /main/],
  [LONG, /64 characters, the maximum is 63/, /x{63}/],
];

const CONFIGURATIONS: readonly [toml: string, detail: RegExp][] = [
  ["[[service.database]]\nmemroy_mb = 512\n", /service\.toml:2: 'memroy_mb'.*did you mean 'memory_mb'/],
  ["[service]\napi_kye = 'x'\n", /service\.toml:2: 'api_kye'.*did you mean 'api_key'/],
  ["\n[[database]]\ncpu = 1\n", /service\.toml:2: 'database' is not a known section/],
  ["[[service.database]]\ncpu = 'two'\n", /service\.toml:2: .*cpu/],
  ["[service\n", /service\.toml:1/],
];

let project: TestProject;
let before: unknown;

beforeAll(async () => {
  project = await makeProject(GOOD);
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  before = await snapshot(project);
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

describe("behaviour 12: an application file", () => {
  test.each(MISTAKES)(
    "with %s is refused with its location and nothing is created",
    async (_what, lines, detail, hint) => {
      writeFile(project, "bad.py", `${FIRST}${lines}`);
      const problem = await expectProblem(project, 1, "schema", "update", "bad.py", "main");
      expect(problem).toMatchObject({ code: "app_invalid", status: 422 });
      expect(problem.detail).toMatch(detail);
      expect(problem.hint).toMatch(hint);
      expect(await snapshot(project)).toEqual(before);
    },
  );

  test("without a model or missing is refused", async () => {
    writeFile(project, "bad.py", "x = 1\n");
    const empty = await expectProblem(project, 1, "schema", "update", "bad.py", "main");
    expect(empty).toMatchObject({ code: "app_invalid", detail: expect.stringContaining("declares no table") });
    const gone = await expectProblem(project, 1, "schema", "update", "nope.py", "main");
    expect(gone).toMatchObject({ code: "app_file_not_found", detail: expect.stringContaining("nope.py") });
    expect(await snapshot(project)).toEqual(before);
  });

  test("with mistakes is refused by each verb, also without a database", async () => {
    writeFile(project, "bad.py", `${FIRST}class A(Base, name='a'):\n    n: int\n`);
    const verbs = [
      ["schema", "check", "bad.py"],
      ["schema", "diff", "bad.py", "main"],
      ["service", "check", "bad.py"],
      ["service", "diff", "bad.py", "main"],
      ["service", "update", "bad.py", "main"],
      ["service", "run", "bad.py", "main"],
    ];
    for (const verb of verbs)
      expect((await expectProblem(project, 1, ...verb)).code, verb.join(" ")).toBe("app_invalid");
    expect(await snapshot(project)).toEqual(before);
  });
});

describe("a target", () => {
  test.each(TARGETS)("%j is refused with the reason and a valid example", async (target, detail, hint) => {
    for (const verb of [
      ["schema", "update"],
      ["service", "update"],
    ]) {
      const problem = await expectProblem(project, 1, ...verb, "app.py", target);
      expect(problem.code).toBe("invalid_target");
      expect(problem.detail).toMatch(detail);
      expect(problem.hint).toMatch(hint);
    }
    expect(await snapshot(project)).toEqual(before);
  });

  test("that is hosted is refused by local-only commands and needs a server elsewhere", async () => {
    const run = await expectProblem(project, 1, "service", "run", "app.py", "cloud://acme:main");
    expect(run).toMatchObject({ code: "hosted_not_available", hint: expect.stringContaining("cli service update") });
    for (const noun of ["schema", "service"]) {
      const update = await expectProblem(project, 1, noun, "update", "app.py", "cloud://acme:main");
      expect(update).toMatchObject({ code: "server_unreachable", hint: expect.stringContaining("cli login") });
    }
    expect(await snapshot(project)).toEqual(before);
  });
});

describe("service.toml", () => {
  test.each(CONFIGURATIONS)("%j is refused with file and line", async (toml, detail) => {
    writeFile(project, "service.toml", toml);
    try {
      const problem = await expectProblem(project, 1, "schema", "update", "app.py", "main");
      expect(problem.code).toBe("config_invalid");
      expect(problem.detail).toMatch(detail);
    } finally {
      writeFile(project, "service.toml", "");
    }
  });

  test("with a placeholder in its hosted entry allows local work", async () => {
    writeFile(project, "service.toml", "[[service.database]]\nname = 'cloud://<your-org>:main'\n");
    await expectExit(project, 0, "schema", "update", "app.py", "main");
    expect(await snapshot(project)).toEqual(before);
  });
});
