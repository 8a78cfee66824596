import type { Expr } from "@appdb/contract/expressions";
import type { TypeKind } from "@appdb/contract/types";
import { useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aComputed, aManifest, aTable, call, col, lit } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { SqlError } from "../ports.ts";
import { quoteIdent, quoteLiteral } from "../sql/quote.ts";
import { cellErrorText, compileSql, ROW_COLUMNS } from "./compile-sql.ts";

/** Texts that would end unescaped quotes, comments, parameters and statements. */
const HOSTILE = [
  "'; drop table canary; --",
  "\\'; drop table canary; --",
  "\\",
  "''\\''; drop table canary; --",
  '"; drop table canary; --',
  '") ; drop table canary; --',
  "$1",
  "$$; drop table canary; $$",
  "$a$; drop table canary; $a$",
  "*/; drop table canary; /*",
  "'::text; drop table canary; --",
  "x') or true; drop table canary; --",
  "E'\\x27; drop table canary; --",
  "U&'\\0027; drop table canary; --",
  "\n; drop table canary;\n",
  "{0.__class__}{}{{}}",
  "%s %d %1$s {x}",
  "ʼ；‘’＇ drop table canary",
  "é😀\u2028",
];

const { apply, execute, rows, isInAgreement } = useJobsBench();

const json = (value: unknown): Expr => lit(JSON.stringify(value), "json");

/** Every place of a text from the application's file in an expression, with its value. The row's text, and the key
 *  of its `j`, are that same text. */
const PLACES: readonly [string, (text: string) => Expr, (text: string) => string | null][] = [
  ["a literal", (text) => call("op.eq", "bool", col("s", "string"), lit(text, "string")), () => "true"],
  [
    "an added literal",
    (text) => call("op.add", "string", lit(text, "string"), col("s", "string")),
    (text) => text + text,
  ],
  [
    "an option",
    (text) => call("op.in", "bool", col("s", "string"), lit("x", "string"), lit(text, "string")),
    () => "true",
  ],
  ["a Json literal", (text) => json({ [text]: text }), (text) => JSON.stringify({ [text]: text })],
  ["a key of a path", (text) => call("op.cast", "string", path({ key: text })), () => "found"],
  ["a Json constant", (text) => call("op.eq", "bool", path({ key: "own" }), json(text)), () => "true"],
  [
    "a key of a dict",
    (text) => dict(text, call("op.cast", "json", col("s", "string"))),
    (text) => JSON.stringify({ [text]: text }),
  ],
  ["a constant in a dict", (text) => dict("k", json(text)), (text) => JSON.stringify({ k: text })],
  [
    "the text of contains",
    (text) => call("string.contains", "bool", col("s", "string"), lit(text, "string")),
    () => "true",
  ],
  [
    "the text of replace",
    (text) => call("string.replace", "string", col("s", "string"), lit(text, "string"), lit("y", "string")),
    () => "y",
  ],
  [
    "what replace puts there",
    (text) => call("string.replace", "string", lit("z", "string"), lit("z", "string"), lit(text, "string")),
    (text) => text,
  ],
  [
    "a cell error's column",
    (text) => ({ node: "cell_error", column: text, part: "message", type: { kind: "string" }, nullable: true }),
    (text) => text,
  ],
];

function path(step: { key: string }): Expr {
  return { node: "path", base: col("j", "json"), steps: [step], type: { kind: "json" }, nullable: true };
}

function dict(key: string, value: Expr): Expr {
  return { node: "dict", entries: [{ key, value }], type: { kind: "json" }, nullable: false };
}

async function makeTable(name: string): Promise<void> {
  await apply(
    aManifest({ tables: [aTable(name, [aColumn("s", "string"), aColumn("j", "json", { nullable: true })])] }),
  );
  await execute({ text: "create table canary (n int)" });
}

test.each(PLACES)("%s does not end a statement, whatever it contains", async (_place, exprOf, expected) => {
  await makeTable("t");
  let compiled = 0;
  for (const text of HOSTILE) {
    await execute({ text: "delete from t" });
    await execute({
      text: "insert into t (_row, s, j, _errors) values (uuidv7(), $1, $2, $3)",
      values: [text, JSON.stringify({ own: text, [text]: "found" }), JSON.stringify({ [text]: { message: text } })],
    });
    const sql = compileSql(exprOf(text), { ...ROW_COLUMNS, cellErrorSql: (node) => cellErrorText("_errors", node) });
    // Some texts have no form. Python then computes the value, and nothing reaches SQL.
    if (sql !== undefined) {
      compiled += 1;
      expect([text, await rows(`select (${sql})::text from t`)]).toEqual([text, [[expected(text)]]]);
    }
    expect(await rows("select count(*) from canary")).toEqual([["0"]]);
  }
  expect(compiled).toBeGreaterThan(HOSTILE.length / 2);
});

test("a text as a literal of another kind has no SQL or is refused", async () => {
  await makeTable("t");
  await execute({ text: "insert into t (_row, s) values (uuidv7(), 'x')" });
  const kinds: readonly TypeKind[] = ["int", "float", "bool", "timestamp", "date", "uuid", "json", "binary"];
  for (const kind of kinds) {
    for (const text of HOSTILE) {
      const sql = compileSql(lit(text, kind), ROW_COLUMNS);
      if (sql === undefined) continue;
      const refused = await rows(`select ${sql} from t`).catch((error: unknown) => error);
      if (kind !== "binary") expect(refused).toBeInstanceOf(SqlError);
      if (refused instanceof SqlError) expect(refused.sqlstate).toMatch(/^22/);
    }
  }
  expect(await rows("select count(*) from canary")).toEqual([["0"]]);
});

test("columns with hostile names and comments work like any other", async () => {
  await execute({ text: "create table canary (n int)" });
  const names = HOSTILE.map((text, at) => `${text.slice(0, 20)} ${at}`);
  const manifest = aManifest({
    tables: [
      aTable(
        "t",
        [
          ...names.map((name, at) => aColumn(name, "string", { comment: HOSTILE[at] ?? null })),
          ...names.map((name, at) =>
            aComputed(`up ${at} ${name}`, call("string.upper", "string", col(name, "string")), {
              comment: HOSTILE[at] ?? null,
            }),
          ),
        ],
        { comment: HOSTILE.join("\n") },
      ),
    ],
  });
  await apply(manifest);
  expect(await isInAgreement(manifest)).toBe(true);
  const list = names.map(quoteIdent).join(", ");
  await execute({
    text: `insert into t (_row, ${list}) values (uuidv7(), ${HOSTILE.map(quoteLiteral).join(", ")})`,
  });
  for (const [at, name] of names.entries()) {
    const sql = compileSql(call("string.upper", "string", col(name, "string")), ROW_COLUMNS);
    expect(await rows(`select ${sql}, ${quoteIdent(name)} from t`)).toEqual([
      [(await rows(`select upper(${quoteLiteral(HOSTILE[at] ?? "")} collate pg_unicode_fast)`))[0]?.[0], HOSTILE[at]],
    ]);
  }
  expect(await rows("select count(*) from canary")).toEqual([["0"]]);
});
