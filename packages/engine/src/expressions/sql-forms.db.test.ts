import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { TYPE_KINDS, type TypeKind } from "@appdb/contract/types";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createPythonWorkers } from "@appdb/python-runtime/workers/python-workers";
import { findCheckout } from "@appdb/testkit/postgres-binaries";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SqlPool, UdfRunner } from "../ports.ts";
import { compileSql, ROW_COLUMNS } from "./compile-sql.ts";
import type { Forms, SqlTemplate } from "./form.ts";
import { FORMS } from "./forms.ts";
import { type CheckReport, checkForms, signatureName } from "./testing/check-forms.ts";
import { Random } from "./testing/random.ts";
import { COMPOSED, randomCall } from "./testing/random-trees.ts";
import { type Signature, signaturesOf } from "./testing/signatures.ts";

/** Rows per form; FORM_CASES=20000 is the full proof (`npm run test:faults`). */
const CASES = Number(process.env.FORM_CASES ?? 500);
const SEED = Number(process.env.FORM_SEED ?? 1);
/** PostgreSQL 18 has a later Unicode version than some Pythons. These letters gained a case mapping in between. */
const REMAPPED = new Set([0x19b, 0x264]);
const CHECKOUT = findCheckout(import.meta.dirname);
const TOOLS_PYTHON = join(CHECKOUT, ".tools", "bin", "python");
/** The result kinds of the library's functions, from their Python signatures. */
const KINDS: ReadonlyMap<string, TypeKind> = new Map(
  (
    JSON.parse(execFileSync(TOOLS_PYTHON, [join(CHECKOUT, "scripts", "list-functions.py")]).toString()) as {
      id: string;
      type: TypeKind;
    }[]
  ).map(({ id, type }) => [id, type]),
);

/** Functions that only have a form inside other calls (compileSql): SQL does not write a Json part like Python. */
const PARTS: readonly Signature[] = [{ fn: "json.get", args: ["json", "string"], kind: "json" }];

/** Forms that look right and are wrong. */
const PLANTED: readonly [Signature, (...args: string[]) => string, root?: Signature][] = [
  [{ fn: "string.title", args: ["string"], kind: "string" }, (a) => `initcap(${a})`],
  [{ fn: "string.capitalize", args: ["string"], kind: "string" }, (a) => `initcap(${a})`],
  [
    { fn: "string.capitalize", args: ["string"], kind: "string" },
    (a) => `(upper(left(${a}, 1)) || lower(substr(${a}, 2)))`,
  ],
  [{ fn: "string.strip", args: ["string"], kind: "string" }, (a) => `btrim(${a})`],
  [
    { fn: "string.replace", args: ["string", "string", "string"], kind: "string" },
    (a, b, c) => `replace(${a}, ${b}, ${c})`,
  ],
  [{ fn: "op.truediv", args: ["int", "int"], kind: "float" }, (a, b) => `(${a} / ${b})::float8`],
  [{ fn: "op.truediv", args: ["int", "int"], kind: "float" }, (a, b) => `(${a}::float8 / ${b}::float8)`],
  [{ fn: "op.floordiv", args: ["int", "int"], kind: "int" }, (a, b) => `(${a} / ${b})`],
  [{ fn: "op.floordiv", args: ["float", "float"], kind: "float" }, (a, b) => `floor(${a} / ${b})`],
  [{ fn: "op.mod", args: ["int", "int"], kind: "int" }, (a, b) => `(${a} % ${b})`],
  [{ fn: "op.eq", args: ["int", "float"], kind: "bool" }, (a, b) => `(${a} = ${b})`],
  [{ fn: "op.and", args: ["bool", "bool"], kind: "bool" }, (a, b) => `(${a} AND ${b})`],
  [
    { fn: "op.in", args: ["int", "int", "int"], kind: "bool" },
    (a, ...rest) => `coalesce(${a} = ANY (ARRAY[${rest.join(", ")}]::int8[]), false)`,
  ],
  [{ fn: "op.eq", args: ["json", "json"], kind: "bool" }, (a, b) => `(${a}::jsonb = ${b}::jsonb)`],
  [{ fn: "op.round", args: ["float"], kind: "float" }, (a) => `round(${a}::numeric)::float8`],
  [{ fn: "op.abs", args: ["float"], kind: "float" }, (a) => `greatest(${a}, -${a})`],
  [{ fn: "op.is_null", args: ["json"], kind: "bool" }, (a) => `(${a} IS NULL)`],
  [{ fn: "op.cast", args: ["float"], kind: "int" }, (a) => `round(${a})::int8`],
  [{ fn: "op.cast", args: ["float"], kind: "string" }, (a) => `round(${a}::numeric, 2)::text`],
  [{ fn: "op.cast", args: ["string"], kind: "int" }, (a) => `(${a})::int8`],
  [{ fn: "op.cast", args: ["string"], kind: "float" }, (a) => `(${a})::float8`],
  [{ fn: "op.cast", args: ["string"], kind: "date" }, (a) => `(${a})::date`],
  [{ fn: "op.cast", args: ["string"], kind: "timestamp" }, (a) => `(${a})::timestamptz`],
  [{ fn: "op.cast", args: ["json"], kind: "string" }, (a) => `(${a} #>> '{}')`],
  [{ fn: "op.cast", args: ["json"], kind: "float" }, (a) => `(${a} #>> '{}')::float8`],
  [{ fn: "string.index", args: ["string", "string"], kind: "int" }, (a, b) => `(strpos(${a}, ${b}) - 1)::int8`],
  [{ fn: "string.isspace", args: ["string"], kind: "bool" }, (a) => `(btrim(${a}) = '')`],
  [{ fn: "string.zfill", args: ["string", "int"], kind: "string" }, (a, b) => `lpad(${a}, (${b})::int4, '0')`],
  [{ fn: "math.ceil", args: ["float"], kind: "float" }, (a) => `ceil(${a})`],
  [{ fn: "math.round", args: ["float"], kind: "float" }, (a) => `floor(${a} + 0.5)`],
  [{ fn: "math.round", args: ["float"], kind: "float" }, (a) => `round((${a})::numeric, 2)::float8`],
  [{ fn: "timestamp.second", args: ["timestamp"], kind: "int" }, (a) => `extract(second FROM ${a})::int8`],
  [{ fn: "timestamp.weekday", args: ["timestamp"], kind: "int" }, (a) => `extract(dow FROM ${a})::int8`],
  [{ fn: "timestamp.date", args: ["timestamp"], kind: "date" }, (a) => `(${a} AT TIME ZONE 'Asia/Tokyo')::date`],
  [{ fn: "timestamp.isocalendar", args: ["timestamp"], kind: "json" }, (a) => `to_json(extract(week FROM ${a}))`],
  [{ fn: "date.add_days", args: ["date", "int"], kind: "date" }, (a, b) => `(${a} + (${b})::int4)`],
  [{ fn: "date.make_date", args: ["int", "int", "int"], kind: "date" }, dateOfAnyYear],
  [{ fn: "json.len", args: ["json"], kind: "int" }, (a) => `(SELECT count(*) FROM json_object_keys(${a}))`],
  [{ fn: "json.is_empty", args: ["json"], kind: "bool" }, (a) => `(${a}::text IN ('[]', '{}', '""'))`],
  [
    { fn: "json.get", args: ["json", "string"], kind: "json" },
    (a, b) => `coalesce(${a} -> ${b}, '3'::json)`,
    { fn: "op.is_null", args: ["json"], kind: "bool" },
  ],
];

/** A wrong form is caught within these; few rows catch most of them. */
const TRIES = [
  { cases: 300, seed: SEED },
  ...Array.from({ length: 5 }, (_, more) => ({ cases: 5_000, seed: SEED + more })),
];

/** Python has no dates before Christ. */
function dateOfAnyYear(year = "", month = "", day = ""): string {
  return `make_date(${[year, month, day].map((part) => `(${part})::int4`).join(", ")})`;
}

interface Python {
  readonly runner: UdfRunner;
  readonly codePoints: readonly number[];
}

let database: TestDatabase;
let pool: SqlPool;
let project: string;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPgPool({ dsn: database.dsn, max: 1, application_name: "sql forms" });
  project = mkdtempSync(join(tmpdir(), "appdb-forms-"));
  writeFileSync(
    join(project, "unicode.py"),
    `import sys, unicodedata
from appdb import udf

@udf
def assigned() -> list:
    return [c for c in range(1, sys.maxunicode + 1) if unicodedata.category(chr(c)) not in ("Cn", "Co", "Cs")]
`,
  );
});

afterAll(async () => {
  await pool?.[Symbol.asyncDispose]();
  await database?.drop();
  rmSync(project, { recursive: true, force: true });
});

describe.each(pythons())("on %s", (_, python) => {
  let side: Python;

  beforeAll(async () => {
    side = await startPython(python);
  });

  afterAll(async () => await side?.runner[Symbol.asyncDispose]());

  test(`no SQL form gives another value than Python, ${CASES} rows each`, { timeout: 1_800_000 }, async () => {
    const signatures = compiled(FORMS);
    const report = await check(side, FORMS, [...signatures, ...PARTS], signatures, CASES);
    expect(report.mismatches.slice(0, 20)).toEqual([]);
    for (const signature of signatures) {
      const tally = report.tallies.get(signatureName(signature)) ?? { compared: 0, raised: 0 };
      expect(tally.compared + tally.raised, signatureName(signature)).toBeGreaterThanOrEqual(CASES);
      // A form that always raised would prove nothing. With few trees some do.
      if (CASES >= 2_000) expect(tally.compared, signatureName(signature)).toBeGreaterThan(CASES / 50);
    }
  });

  test("tries every form", () => {
    const tried = new Set([...compiled(FORMS), ...PARTS].map(({ fn }) => fn));
    const untried = Object.keys(FORMS).filter(
      (fn) => !tried.has(fn) && !/^(op[.]when|uuid[.]uuid[47]|timestamp[.]now|image[.](width|height|mode))$/.test(fn),
    );
    expect(untried).toEqual([]);
  });

  test("text functions agree with Python on characters of every kind", async () => {
    await checkEveryCharacter(side);
  }, 120_000);
});

test("detects wrong forms, such as initcap for title", {
  timeout: 60_000,
}, async () => {
  const [first] = pythons();
  const side = await startPython(first?.[1] ?? "");
  try {
    for (const [signature, wrong, root] of PLANTED) {
      const kinds = signature.fn === "op.in" ? "*" : signature.args.join(",");
      const own = FORMS[signature.fn]?.[kinds];
      // A conversion has one entry for all its targets; only the planted one is wrong.
      const form: SqlTemplate = (call) =>
        call.kind === signature.kind ? wrong(...call.args.map(({ sql }) => sql)) : own?.(call);
      const forms: Forms = { ...FORMS, [signature.fn]: { ...FORMS[signature.fn], [kinds]: form } };
      // Only the planted form below its root. Among all others it would be rare.
      const parts = root === undefined ? [...compiled(FORMS), ...PARTS] : [signature];
      let caught = 0;
      for (const { cases, seed } of TRIES) {
        caught = (await check(side, forms, parts, [root ?? signature], cases, seed)).mismatches.length;
        if (caught > 0) break;
      }
      expect(caught, `${signatureName(signature)}: ${wrong("a", "b", "c")}`).toBeGreaterThan(0);
    }
  } finally {
    await side.runner[Symbol.asyncDispose]();
  }
});

/** The signatures with a form for plain columns. */
function compiled(forms: Forms): Signature[] {
  const random = new Random(7);
  const columns = Object.fromEntries(TYPE_KINDS.map((kind) => [kind, [kind]])) as Record<TypeKind, string[]>;
  return [...signaturesOf(forms, KINDS), ...COMPOSED].filter((signature) =>
    Array.from({ length: 20 }).some(() => {
      const expr = randomCall(signature, 0, { random, signatures: [], columns, codePoint: () => 97 });
      return compileSql(expr, ROW_COLUMNS, forms) !== undefined;
    }),
  );
}

async function check(
  side: Python,
  forms: Forms,
  signatures: readonly Signature[],
  roots: readonly Signature[],
  cases: number,
  seed = SEED,
): Promise<CheckReport> {
  return await pool.withConnection((connection) =>
    checkForms({
      connection,
      forms,
      signatures,
      roots,
      cases,
      seed,
      codePoint: (random) => random.pick(side.codePoints),
      runPython: (graph, row) => side.runner.run(graph, row),
    }),
  );
}

/** Nine of ten characters are letters without case, such as those of Chinese: some of them show the others. */
function isTriedAlways(code: number): boolean {
  return code % 16 === 0 || !/\p{Lo}/u.test(String.fromCodePoint(code));
}

async function checkEveryCharacter({ runner, codePoints }: Python): Promise<void> {
  const type = { kind: "string" } as const;
  const text = { node: "column", name: "text", type, nullable: false } as const;
  const functions = ["upper", "lower", "casefold", "capitalize", "reverse", "strip", "lstrip", "rstrip"];
  const steps = functions.map((name) => ({
    name,
    type,
    nullable: false,
    expr: { node: "call" as const, fn: `string.${name}`, args: [text], kwargs: {}, type, nullable: false },
  }));
  const graph = { key: "characters", inputs: [{ name: "text", type, nullable: false }], steps, functions: [] };
  const stored = "(convert_from(decode(hex, 'hex'), 'UTF8') collate pg_unicode_fast)";
  const sql = steps.map((step) => compileSql(step.expr, { columnSql: () => stored }) ?? "").join(", ");
  const shapes = [(c: string) => c, (c: string) => `a${c}`, (c: string) => `${c}AΣ`, (c: string) => `Σ${c}`];
  const tried = CASES >= 20_000 ? codePoints : codePoints.filter(isTriedAlways);
  for (let start = 0; start < tried.length; start += 8_000) {
    const texts = tried
      .slice(start, start + 8_000)
      .flatMap((code) => shapes.map((shape) => shape(String.fromCodePoint(code))));
    const hex = texts.map((text) => Buffer.from(text).toString("hex"));
    const [python, postgres] = await Promise.all([
      Promise.all(texts.map((text) => runner.run(graph, [text]))),
      pool.query({
        text: `select ${sql} from unnest($1::text[]) with ordinality as t(hex, n) order by n`,
        values: [hex],
      }),
    ]);
    const differences = texts.flatMap((text, i) =>
      functions.flatMap((name, f) =>
        python[i]?.values[f] === postgres.rows[i]?.[f] ? [] : [`${name} of ${escape(text)}: ${postgres.rows[i]?.[f]}`],
      ),
    );
    expect(differences.slice(0, 20)).toEqual([]);
  }
}

async function startPython(python: string): Promise<Python> {
  const runner = createPythonWorkers({
    runtime: { ...testRuntime(project), python },
    modules: ["unicode"],
    workers: 1,
    function_timeout_ms: 60_000,
    worker_memory_mb: 1_000,
    max_waiting: 100_000,
    log: createSilentLog(),
    onOutput: () => {},
  });
  await runner.start();
  const type = { kind: "json" } as const;
  const expr = { node: "udf" as const, function: "unicode:assigned", args: [], kwargs: {}, type, nullable: false };
  const { values } = await runner.run(
    {
      key: "assigned",
      inputs: [],
      steps: [{ name: "assigned", type, nullable: false, expr }],
      functions: [{ id: "unicode:assigned", module: "unicode", name: "assigned" }],
    },
    [],
  );
  const codePoints = (JSON.parse(String(values[0])) as number[]).filter((code) => !REMAPPED.has(code));
  return { runner, codePoints };
}

/**
 * The available Pythons by version: the checkout's own, those in FORM_PYTHONS (paths, separated as in PATH) and those
 * on the PATH. Uses the oldest and the newest, or all of them for the full proof.
 */
function pythons(): [string, string][] {
  const given = (process.env.FORM_PYTHONS ?? "").split(delimiter).filter((path) => path !== "");
  const found = new Map<string, string>();
  const names = ["python3.11", "python3.12", "python3.13", "python3.14"];
  const onPath = (process.env.PATH ?? "").split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  for (const python of [TOOLS_PYTHON, ...given, ...onPath]) {
    const version = versionOf(python);
    if (version !== undefined && !found.has(version)) found.set(version, python);
  }
  const all = [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([version, path]): [string, string] => [`Python ${version}`, path]);
  const ends = all.length > 1 ? [all[0], all.at(-1)] : all;
  return CASES >= 20_000 ? all : ends.filter((end) => end !== undefined);
}

function versionOf(python: string): string | undefined {
  if (!existsSync(python)) return undefined;
  try {
    const version = execFileSync(python, ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"], {
      stdio: "pipe",
    });
    return version.toString().trim();
  } catch {
    // A version manager's shim for a version that is not installed.
    return undefined;
  }
}
