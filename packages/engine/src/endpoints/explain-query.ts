import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestQuery } from "@appdb/contract/manifest";
import { nearestName } from "@appdb/contract/nearest";
import type { QueryExplanation } from "@appdb/contract/routes/local";
import { bindQuery } from "../bound-queries/bind-query.ts";
import { readDefinitions } from "../catalog/load-catalog.ts";
import type { ParameterList } from "../kinds/parameter-list.ts";
import { toSqlText } from "../kinds/values.ts";
import type { SqlConnection } from "../ports.ts";
import { compileParameters } from "../queries/read-parameters.ts";
import { planQuery } from "../query-plans/plan-query.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import type { PlannedFold, PlannedStatement, QueryPlan } from "../query-plans/query-plan.ts";
import { declaredTable } from "../routes/declared-table.ts";
import type { QueryLimits } from "../sql/query-limits.ts";
import { lowerViews } from "../views/lower-views.ts";
import { checkTables } from "./check-tables.ts";

export interface ExplainInput {
  readonly manifest: Manifest;
  readonly target: string;
  /** Name of a query, or its id. */
  readonly query: string;
  /** Values in the form of a URL. If some are missing, the plan is for unknown values. */
  readonly params: Readonly<Record<string, string>>;
  /** Runs the statement to measure it. */
  readonly analyze: boolean;
  readonly limits: QueryLimits;
}

/**
 * Explains how a query runs: its statements, what runs where and why, and PostgreSQL's plan of the statement that reads
 * the tables.
 * @throws query_not_found, schema_mismatch, app_invalid, invalid_request for invalid values
 */
export async function explainQuery(sql: SqlConnection, declared: ExplainInput): Promise<QueryExplanation> {
  const input = { ...declared, manifest: lowerViews(declared.manifest) };
  const named = findQuery(input.manifest, input.query);
  const catalog = await readDefinitions(sql);
  checkTables(input, catalog);
  const bound = bindQuery(named, (name) => declaredTable(input, catalog, name));
  const functions = new Map(input.manifest.functions.map((fn) => [fn.id, fn]));
  const plan = planQuery(bound, { functions, mode: "forms", max_rows: input.limits.result_rows });
  const statements = [
    ...plan.materials.flatMap((stage) => {
      if (!("streams" in stage)) return [stage.statement];
      return [...(stage.groups === null ? [] : [stage.groups]), ...stage.streams.map(({ rows }) => rows)];
    }),
    plan.final.statement,
  ];
  const [first] = statements;
  return {
    query: named.id,
    source: named.source,
    statements: statements.map(({ text }) => text),
    parts: partsOf(plan),
    plan: first === undefined ? [] : await planOf(sql, input, named, plan, first),
  };
}

function findQuery(manifest: Manifest, queryName: string): ManifestQuery {
  const found = manifest.queries.filter(({ id, name }) => id === queryName || name === queryName);
  const [query] = found;
  if (query !== undefined && found.length === 1) return query;
  const names = manifest.queries.map(({ name }) => name);
  const nearest = nearestName(queryName, names);
  if (query !== undefined) {
    throw appError("query_not_found", {
      detail: `${manifest.app_file} declares several queries named ${queryName}: ${found.map(({ id }) => id).join(", ")}.`,
      hint: "Add the module to the name.",
      meta: { query: queryName },
    });
  }
  throw appError("query_not_found", {
    detail: `${manifest.app_file} declares no query ${queryName}.`,
    hint: nameHint(names, nearest),
    meta: { query: queryName },
  });
}

function nameHint(names: readonly string[], nearest: string | undefined): string {
  return nearest === undefined ? `It declares: ${names.join(", ") || "none"}.` : `Did you mean ${nearest}?`;
}

/** Where each clause is computed. */
function partsOf(plan: QueryPlan): QueryExplanation["parts"] {
  const { query } = plan.bound;
  const python = plan.reasons.map(
    ({ clause, what, reason }) => ({ clause: CLAUSES[clause], runs_in: "Python", what, why: reason }) as const,
  );
  const inSql: [clause: string, what: string][] = [];
  if (query.joins.length > 0) inSql.push(["join", query.joins.map(({ kind, table }) => `${kind} ${table}`).join(", ")]);
  const folded = new Set(plan.materials.flatMap(foldsOf).map(({ output }) => output));
  const shown = plan.final.outputs
    .filter(({ from, name }) => "sql" in from && !folded.has(name))
    .map(({ name }) => name);
  if (shown.length > 0) inSql.push(["select", shown.join(", ")]);
  const clauses: [clause: string, isThere: boolean][] = [
    ["where", query.where !== null],
    ["group_by", query.group_by.length > 0],
    ["order_by", query.order_by.length > 0],
    ["distinct", query.distinct],
    ["sample", query.sample !== null],
    ["limit", query.limit !== null || query.offset !== null || query.tail !== null],
  ];
  for (const [clause, isPresent] of clauses) {
    if (!isPresent) continue;
    const isPart = python.some((part) => part.clause.includes(clause));
    inSql.push([clause, isPart ? "everything that Python does not compute" : "everything"]);
  }
  return [...inSql.map(([clause, what]) => ({ clause, runs_in: "SQL", what, why: null }) as const), ...python];
}

function foldsOf(stage: QueryPlan["materials"][number]): readonly PlannedFold[] {
  if ("streams" in stage) return stage.folds;
  return "windows" in stage ? stage.windows.map(({ fold }) => fold) : [];
}

const CLAUSES = {
  where: "where",
  value: "order_by, group_by, distinct",
  select: "select",
  aggregate: "aggregates",
  vector: "similarity, once per request",
  file: "files of the request, once per request",
} as const;

async function planOf(
  sql: SqlConnection,
  input: ExplainInput,
  named: ManifestQuery,
  plan: QueryPlan,
  statement: PlannedStatement,
): Promise<string[]> {
  const args = argumentsFor(input, named);
  const versions = new Map(plan.bound.tables.map(({ table }) => [table.id, table.version]));
  if (args === undefined) return linesOf(await sql.query({ text: `explain (generic_plan) ${statement.text}` }));
  const values = valuesFor(statement.placeholders, named, args, versions);
  const how = input.analyze ? "explain (analyze, costs, timing)" : "explain";
  return linesOf(await sql.query({ text: `${how} ${statement.text}`, values }));
}

/** The values of all parameters; undefined when some are missing and the query is not measured. */
function argumentsFor({ params, analyze }: ExplainInput, named: ManifestQuery): QueryArguments | undefined {
  const isComplete = named.parameters.every(({ name, default: value }) => name in params || value !== undefined);
  if (!isComplete && !analyze && Object.keys(params).length === 0) return undefined;
  return compileParameters(named.parameters).fromUrl(new URLSearchParams({ ...params }).toString());
}

function valuesFor(
  placeholders: ParameterList["placeholders"],
  named: ManifestQuery,
  args: QueryArguments,
  versions: ReadonlyMap<number, number>,
): unknown[] {
  const types = new Map(named.parameters.map(({ name, type }) => [name, type]));
  return placeholders.map((placeholder) => {
    if ("array" in placeholder) return "{}";
    if ("page_key" in placeholder || "page_rows" in placeholder) throw new TypeError("A page cannot be explained.");
    if ("version_of" in placeholder) return versions.get(placeholder.version_of);
    // The plan is the same for any vector, and application code does not run here.
    if ("vector" in placeholder) return JSON.stringify([1, ...new Array<number>(placeholder.dimensions - 1).fill(0)]);
    const value = args.get(placeholder.parameter) ?? null;
    const type = types.get(placeholder.parameter);
    return value === null || type === undefined ? null : toSqlText(type, value);
  });
}

function linesOf({ rows }: { readonly rows: readonly (readonly (string | null)[])[] }): string[] {
  return rows.map(([line]) => line ?? "");
}
