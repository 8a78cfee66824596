import { createHash } from "node:crypto";
import type { Expr } from "@appdb/contract/expressions";
import { type EngineValue, TYPE_KINDS, type TypeKind } from "@appdb/contract/types";
import { storageCollation, storageType } from "../../kinds/storage-type.ts";
import { literalSql } from "../../kinds/values.ts";
import { type SqlConnection, SqlError, type UdfGraph, type UdfResult } from "../../ports.ts";
import { quoteIdent, quoteLiteral } from "../../sql/quote.ts";
import { compileSql, ROW_COLUMNS } from "../compile-sql.ts";
import type { Forms } from "../form.ts";
import { Random } from "./random.ts";
import { literalValue, randomCall, type TreeOptions } from "./random-trees.ts";
import { sampleType, sampleValue } from "./sample-values.ts";
import type { Signature } from "./signatures.ts";

const COLUMNS = Object.fromEntries(
  TYPE_KINDS.map((kind) => [kind, ["a", "b", "c"].map((letter) => `${kind} "${letter}"`)]),
) as Record<TypeKind, string[]>;
const INPUTS = TYPE_KINDS.flatMap((kind) =>
  COLUMNS[kind].map((name) => ({ name, type: sampleType(kind), nullable: true })),
);
const ROWS = 100;
const TREES_PER_BATCH = 40;

export interface CheckOptions {
  readonly connection: SqlConnection;
  readonly forms: Forms;
  readonly signatures: readonly Signature[];
  /** Signatures at the root of a tree; the others are below it. */
  readonly roots: readonly Signature[];
  /** Number of rows per root, over trees of depth 1 to 5. */
  readonly cases: number;
  readonly seed: number;
  codePoint(random: Random): number;
  runPython(graph: UdfGraph, row: readonly EngineValue[]): Promise<UdfResult>;
}

export interface Tally {
  /** Number of compared values and nulls from SQL. */
  compared: number;
  /** Rows for which SQL raised, which is always allowed. */
  raised: number;
}

export interface CheckReport {
  /** By signature: `op.add(int,int)`. */
  readonly tallies: Map<string, Tally>;
  /** Differences between SQL and Python, as text for people. */
  readonly mismatches: string[];
}

interface Tree {
  readonly signature: Signature;
  readonly expr: Expr;
  readonly sql: string;
}

/** Evaluates random trees on random rows in PostgreSQL and in Python, and compares every value from PostgreSQL. */
export async function checkForms(options: CheckOptions): Promise<CheckReport> {
  const random = new Random(options.seed);
  const report: CheckReport = { tallies: new Map(), mismatches: [] };
  const trees = options.roots.flatMap((root) => makeTrees(root, Math.ceil(options.cases / ROWS), random, options));
  shuffle(trees, random);
  // The caller may have another time zone; no form may depend on it.
  await options.connection.query({ text: "set time zone 'America/St_Johns'" });
  for (let start = 0; start < trees.length; start += TREES_PER_BATCH) {
    await checkBatch(trees.slice(start, start + TREES_PER_BATCH), random, options, report);
  }
  return report;
}

/** The name of a signature in reports. */
export function signatureName({ fn, args, kind }: Signature): string {
  return fn === "op.cast" ? `op.cast(${args[0]} to ${kind})` : `${fn}(${args.join(",")})`;
}

/** Trees of the signature with an SQL form: one per hundred cases, depths 1 to 5 in rotation. */
function makeTrees(signature: Signature, count: number, random: Random, options: CheckOptions): Tree[] {
  const { signatures, forms, codePoint } = options;
  const treeOptions: TreeOptions = { random, signatures, columns: COLUMNS, codePoint };
  const trees: Tree[] = [];
  for (let tries = 0; trees.length < count && tries < count * 50; tries++) {
    const expr = randomCall(signature, tries % 5, treeOptions);
    const sql = compileSql(expr, ROW_COLUMNS, forms);
    if (sql !== undefined) trees.push({ signature, expr, sql });
  }
  return trees;
}

async function checkBatch(
  trees: readonly Tree[],
  random: Random,
  options: CheckOptions,
  report: CheckReport,
): Promise<void> {
  const rows = Array.from({ length: ROWS }, () =>
    INPUTS.map(({ type }) => (random.next() < 0.1 ? null : sampleValue(type.kind, random, options.codePoint))),
  );
  await fillTable(options.connection, rows);
  const steps = trees.map(({ expr }, i) => ({ name: `step${i}`, type: expr.type, nullable: true, expr }));
  // A worker caches graphs by key, so other trees need another key.
  const key = createHash("sha256").update(JSON.stringify(steps)).digest("hex");
  const graph: UdfGraph = { key, inputs: INPUTS, steps, functions: [] };
  const answers = await Promise.all(rows.map((row) => options.runPython(graph, row)));
  for (const [index, tree] of trees.entries()) {
    const values = await evaluateSql(options.connection, tree);
    const tally = tallyOf(report, tree.signature);
    for (const [k, value] of values.entries()) {
      if (value === undefined) {
        tally.raised += 1;
        continue;
      }
      tally.compared += 1;
      const answer = answers[k] as UdfResult;
      const error = answer.errors?.[`step${index}`];
      const python = error === undefined ? pythonText(answer.values[index] ?? null, tree.expr.type.kind) : undefined;
      if (python !== value) report.mismatches.push(describe(tree, rows[k] ?? [], value, python ?? error?.type));
    }
  }
}

async function fillTable(connection: SqlConnection, rows: readonly (readonly EngineValue[])[]): Promise<void> {
  const columns = INPUTS.map(({ name, type }) => `${quoteIdent(name)} ${storageType(type)}${storageCollation(type)}`);
  await connection.query({ text: "drop table if exists sample" });
  await connection.query({ text: `create temp table sample (id int4 primary key, ${columns.join(", ")})` });
  const values = rows.map((row, id) => `(${id}, ${row.map((value, i) => valueSql(value, i)).join(", ")})`);
  await connection.query({ text: `insert into sample values ${values.join(", ")}` });
}

function valueSql(value: EngineValue, input: number): string {
  const type = INPUTS[input]?.type ?? { kind: "string" };
  const literal = literalSql(literalValue(type.kind, value), type);
  if (literal === undefined) throw new Error(`${String(value)} is no ${type.kind}`);
  return literal;
}

/** The values of a tree on all rows as text; undefined where SQL raises class 22 or 54. */
async function evaluateSql(connection: SqlConnection, { sql, expr }: Tree): Promise<(string | null | undefined)[]> {
  const text =
    expr.type.kind === "timestamp"
      ? `to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
      : `(${sql})::text`;
  try {
    const { rows } = await connection.query({ text: `select ${text} from sample order by id` });
    return rows.map(([value]) => sqlText(value ?? null, expr.type.kind));
  } catch (error) {
    if (!(error instanceof SqlError) || !/^(22|54)/.test(error.sqlstate)) {
      throw new Error(`not allowed to raise: ${sql}`, { cause: error });
    }
  }
  // Some row raises. Each row is then evaluated on its own, on the server, which is faster than bisecting from here.
  const body = `declare value text; begin select ${text} into value from sample where id = row_id;
    return coalesce('=' || value, 'null');
    exception when data_exception or program_limit_exceeded then return 'raised'; end`;
  await connection.query({
    text: `create or replace function pg_temp.one(row_id int4) returns text language plpgsql as ${quoteLiteral(body)}`,
  });
  const { rows } = await connection.query({ text: "select pg_temp.one(id) from sample order by id" });
  return rows.map(([value]) => {
    if (value === "raised" || value === undefined || value === null) return undefined;
    return value === "null" ? null : sqlText(value.slice(1), expr.type.kind);
  });
}

/** The same text for the same value from both sides. */
function sqlText(value: string | null, kind: TypeKind): string | null {
  return value !== null && kind === "float" ? floatText(Number(value)) : value;
}

function pythonText(value: EngineValue, kind: TypeKind): string | null {
  if (value === null) return null;
  if (kind === "float") return floatText(Number(value));
  if (kind !== "timestamp") return String(value);
  const [seconds, fraction = ""] = String(value).slice(0, -1).split(".");
  return `${seconds}.${fraction.padEnd(6, "0")}Z`;
}

function floatText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

function describe(
  tree: Tree,
  row: readonly EngineValue[],
  sql: string | null,
  python: string | null | undefined,
): string {
  const read = INPUTS.flatMap(({ name }, i) =>
    tree.sql.includes(quoteIdent(name))
      ? [`${name}=${typeof row[i] === "bigint" ? row[i] : JSON.stringify(row[i])}`]
      : [],
  );
  const values = `SQL gives ${JSON.stringify(sql)}, Python ${JSON.stringify(python)}`;
  return `${signatureName(tree.signature)}: ${values} for ${read.join(", ")} in ${tree.sql}`;
}

function tallyOf(report: CheckReport, signature: Signature): Tally {
  const name = signatureName(signature);
  const tally = report.tallies.get(name) ?? { compared: 0, raised: 0 };
  report.tallies.set(name, tally);
  return tally;
}

function shuffle<T>(items: T[], random: Random): void {
  for (let i = items.length - 1; i > 0; i--) {
    const k = random.int(0, i);
    [items[i], items[k]] = [items[k] as T, items[i] as T];
  }
}
