import { appError } from "@appdb/contract/errors";
import type { ManifestQuery } from "@appdb/contract/manifest";
import { type BoundQuery, bindQuery } from "../bound-queries/bind-query.ts";
import type { Catalog, CatalogFunction, CatalogTable } from "../catalog/catalog.ts";
import { loadDefinitions } from "../catalog/load-catalog.ts";
import { toSqlText } from "../kinds/values.ts";
import type { SqlConnection, SqlPool, Statement, UdfGraph, UdfRunner } from "../ports.ts";
import { askVectors } from "../query-plans/ask-vectors.ts";
import { computeFileValues, withFileValues } from "../query-plans/file-values.ts";
import { planQuery } from "../query-plans/plan-query.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import type { PlannedStatement, QueryPlan, RowMarks } from "../query-plans/query-plan.ts";
import { explainQueryRefusal } from "../query-plans/query-refusals.ts";
import type { SqlMode } from "../query-plans/relation.ts";
import type { QueryLimits, RowsInFlight } from "../sql/query-limits.ts";
import { isShapeRefusal, isValueRefusal } from "../write/sql-refusals.ts";
import type { ServiceIdentity } from "../write/table-version.ts";
import { aggregateGroups } from "./aggregate-groups.ts";
import { checkReads } from "./check-reads.ts";
import { answerFinal, type CompiledPlan, type QueryAnswer } from "./final-answer.ts";
import { compileJsonRows } from "./json-rows.ts";
import { isBatchable, runMany } from "./many-runs.ts";
import { materializeRows, materializeWindows } from "./materialize-rows.ts";
import type { NearestSearch } from "./nearest-rows.ts";
import { type PageOf, type PagePosition, type RunOptions, refuseUnpageable, rowMarksOf } from "./pages.ts";
import { invalidCursor } from "./query-cursor.ts";
import { compileRows } from "./render-rows.ts";
import { boundOf, checkBounds } from "./row-bounds.ts";

export interface QueryRunnerDeps {
  readonly sql: SqlPool;
  readonly udf: () => UdfRunner;
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  readonly limits: QueryLimits;
  readonly in_flight: RowsInFlight;
  /** Null for a job, which computes columns from the catalog. */
  readonly service: ServiceIdentity | null;
  /** A table as the application declares it, with the catalog's ids. */
  readonly findTable: (name: string) => CatalogTable;
}

/** How often a query restarts because a table changed. */
const MAX_ATTEMPTS = 8;

interface Plans {
  readonly versions: ReadonlyMap<number, number>;
  readonly forms: CompiledPlan;
  /** Computes values of files before the plan runs; null for none. */
  readonly files: UdfGraph | null;
  /** The same with marked rows, and with only bare values in SQL; compiled on first use. */
  readonly others: Map<string, CompiledPlan>;
}

/** Runs one query of the application. */
export class QueryRunner {
  readonly #deps: QueryRunnerDeps;
  readonly #query: ManifestQuery;
  #plans: Plans;
  #reloading: Promise<void> | undefined;

  /** @throws app_invalid when a join has no SQL form */
  constructor(deps: QueryRunnerDeps, named: ManifestQuery) {
    this.#deps = deps;
    this.#query = named;
    this.#plans = this.#compile(bindQuery(named, deps.findTable));
  }

  get plan(): QueryPlan {
    return this.#plans.forms;
  }

  get uses_python(): boolean {
    return this.#plans.forms.reasons.length > 0;
  }

  /**
   * @throws schema_changed, function_failed and related codes, result_too_large, query_timeout, invalid_request for a
   * negative limit, not_pageable, database_unavailable, worker_unavailable, overloaded
   */
  async run(given: QueryArguments, options: RunOptions = {}): Promise<QueryAnswer> {
    const { forms, files } = this.#plans;
    checkBounds(forms.bound.query, given);
    const more = { ...options, udf: this.#deps.udf };
    const args = files === null ? given : await computeFileValues(files, this.#query.name, given, more);
    for (let attempt = 1; ; attempt++) {
      const plans = this.#plans;
      const isCurrent = () => this.#isCurrent(plans, this.#deps.sql);
      const vectorAnswers = await askVectors(plans.forms.vectors, {
        query: this.#query.name,
        args,
        udf: this.#deps.udf,
        isCurrent,
        ...options,
      });
      const answer = vectorAnswers === undefined ? undefined : await this.#attempt(plans, vectorAnswers, options);
      if (answer !== undefined) return answer;
      if (attempt === MAX_ATTEMPTS) throw this.#movesOn();
      await this.#reload(plans);
    }
  }

  /**
   * Runs many arguments in one statement, and returns rows with identities. Undefined for a query with several
   * statements, or after any error; then use `run` for each.
   */
  async runMany(all: readonly QueryArguments[]): Promise<readonly QueryAnswer[] | undefined> {
    const plans = this.#plans;
    const { sql, limits } = this.#deps;
    try {
      const plan = this.#planOf(plans, "forms", { by: "identity", isMany: true });
      if (plans.files !== null || !isBatchable(plan)) return undefined;
      const isCurrent = () => this.#isCurrent(plans, sql);
      const answers = await runMany({ sql, limits, plan, versions: plans.versions, isCurrent }, all);
      return answers?.every(({ count }) => count <= limits.result_rows) ? answers : undefined;
    } catch {
      // Each run alone then reports its own error.
      return undefined;
    }
  }

  /** One attempt; undefined when a table version has changed. */
  async #attempt(plans: Plans, args: QueryArguments, options: RunOptions): Promise<QueryAnswer | undefined> {
    const { signal } = options;
    const marked = rowMarksOf(options);
    const after = options.page?.after ?? null;
    if (after !== null) this.#refuseKeyCount(plans, after);
    try {
      return await this.#execute(plans, this.#planOf(plans, "forms", marked), args, options);
    } catch (error) {
      if (isShapeRefusal(error) && !(await this.#isCurrent(plans, this.#deps.sql))) return undefined;
      if (!isValueRefusal(error)) throw this.#explain(error, signal);
      if (after !== null) await this.#refuseKeys(this.#planOf(plans, "forms", marked), after);
    }
    try {
      return await this.#execute(plans, this.#planOf(plans, "bare", marked), args, options);
    } catch (error) {
      throw this.#explain(error, signal);
    }
  }

  /** @throws invalid_cursor unless a page starts after as many values as its order has */
  #refuseKeyCount(plans: Plans, { keys }: PagePosition): void {
    const { final } = this.#planOf(plans, "forms", { by: "place", after: null });
    if (keys.length !== final.marks) throw invalidCursor();
  }

  /** After PostgreSQL refused a value. @throws invalid_cursor when it is one of the cursor, which must be forged */
  async #refuseKeys({ final }: CompiledPlan, { keys }: PagePosition): Promise<void> {
    const given = final.statement.placeholders.flatMap((one) => ("page_key" in one ? [one] : []));
    const { rows } = await this.#deps.sql.query({
      text: "select bool_and(pg_input_is_valid(k, t)) from unnest($1::text[], $2::text[]) as given (k, t) where k is not null",
      values: [given.map(({ page_key: at }) => keys[at] ?? null), given.map(({ type }) => type)],
    });
    if (rows[0]?.[0] === "f") throw invalidCursor();
  }

  #planOf(plans: Plans, mode: SqlMode, marked: RowMarks | undefined): CompiledPlan {
    const { forms, others } = plans;
    if (mode === "forms" && marked === undefined) return forms;
    const key = mode + JSON.stringify(marked);
    const known = others.get(key) ?? this.#plan(forms.bound, mode, marked);
    others.set(key, known);
    if (marked?.by === "place") refuseUnpageable(this.#query.name, known);
    return known;
  }

  #explain(error: unknown, signal: AbortSignal | undefined): unknown {
    return explainQueryRefusal(this.#query.name, this.#deps.limits, error, signal);
  }

  async #execute(
    plans: Plans,
    plan: CompiledPlan,
    args: QueryArguments,
    options: RunOptions,
  ): Promise<QueryAnswer | undefined> {
    if (plan.materials.length === 0) return this.#answer(plans, plan, [], args, options);
    let rowCount = 0;
    const hold = (rows: number) => {
      this.#deps.in_flight.take(this.#query.name, rows, rowCount + rows);
      rowCount += rows;
    };
    try {
      let arrays: readonly string[] = [];
      for (const stage of plan.materials) {
        const rows = await this.#stage(plans, stage, arrays, args, { ...options, hold });
        if (rows === undefined) return undefined;
        arrays = rows;
      }
      return await this.#answer(plans, plan, arrays, args, options);
    } finally {
      this.#deps.in_flight.give(rowCount);
    }
  }

  #answer(
    plans: Plans,
    plan: CompiledPlan,
    arrays: readonly string[],
    args: QueryArguments,
    { signal, page, timing, take_values: takeValues }: RunOptions,
  ): Promise<QueryAnswer | undefined> {
    const { limits, udf } = this.#deps;
    const sql = timing?.sql(this.#deps.sql) ?? this.#deps.sql;
    const max = page === undefined ? 0 : this.#pageRows(page, args);
    const fill = (planned: PlannedStatement): Statement => {
      const filled = this.#statement(plans, planned, arrays, args, { ...page, rows: max });
      return { ...filled, max_bytes: limits.result_bytes, signal };
    };
    const { statement, exact } = plan.final;
    return answerFinal({
      query: this.#query.name,
      plan,
      args,
      signal,
      page,
      timing,
      limits,
      sql,
      udf,
      take_values: takeValues,
      statement: fill(statement),
      nearest: exact === null ? null : { ...this.#nearest(args), exact: () => fill(exact) },
      isUnseen: async () => plan.materials.length === 0 && !(await this.#isCurrent(plans, sql)),
    });
  }

  /** Rows that a page reads: one more than it shows, unless the query's own limit is smaller. */
  #pageRows({ size, after }: PageOf, args: QueryArguments): number {
    const limit = boundOf(this.#plans.forms.bound.query.limit, args) ?? Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(size + 1, limit - (after?.returned ?? 0)));
  }

  /** Runs a stage, and gives the next statement's inputs as array texts. Undefined when a table version has changed. */
  #stage(
    plans: Plans,
    stage: QueryPlan["materials"][number],
    arrays: readonly string[],
    args: QueryArguments,
    { hold, signal, timing }: RunOptions & { readonly hold: (rows: number) => void },
  ): Promise<readonly string[] | undefined> {
    const { limits, udf } = this.#deps;
    const sql = timing?.sql(this.#deps.sql) ?? this.#deps.sql;
    const fill = (planned: PlannedStatement) => this.#statement(plans, planned, arrays, args);
    const isCurrent = (connection: SqlConnection) => this.#isCurrent(plans, connection);
    const query = this.#query.name;
    if ("streams" in stage) {
      const folded = aggregateGroups(sql, { query, stage, args, limits, udf, fill, isCurrent, hold, signal });
      return timing === undefined ? folded : timing.restOf(folded);
    }
    const statement = fill(stage.statement);
    const rows = { query, statement, args, limits, udf, isCurrent, hold, signal, timing };
    if ("windows" in stage) return materializeWindows(sql, stage, { ...rows, enough: Number.POSITIVE_INFINITY });
    const enough = stage.is_ordered ? this.#enough(args) : Number.POSITIVE_INFINITY;
    return materializeRows(sql, stage, { ...rows, enough });
  }

  /** Rows of the final order that limit and offset can reach. */
  #enough(args: QueryArguments): number {
    const { limit, offset } = this.#plans.forms.bound.query;
    const max = this.#deps.limits.result_rows + 1;
    return Math.min(boundOf(limit, args) ?? max, max) + (boundOf(offset, args) ?? 0);
  }

  #nearest(args: QueryArguments): NearestSearch & { readonly limit: number } {
    const { query, tables } = this.#plans.forms.bound;
    const searched = this.#enough(args);
    const isFiltered = query.where !== null || tables.length > 1;
    return { searched, is_filtered: isFiltered, limit: searched - (boundOf(query.offset, args) ?? 0) };
  }

  #statement(
    plans: Plans,
    { text, name, placeholders }: PlannedStatement,
    arrays: readonly string[],
    args: QueryArguments,
    page?: { readonly after?: PagePosition | null; readonly rows: number },
  ): { text: string; name: string; values: unknown[] } {
    const values = placeholders.map((placeholder): unknown => {
      if ("page_rows" in placeholder) return page?.rows;
      if ("page_key" in placeholder) return page?.after?.keys[placeholder.page_key];
      if ("array" in placeholder) return arrays[placeholder.array];
      if ("version_of" in placeholder) return plans.versions.get(placeholder.version_of);
      if ("vector" in placeholder) return args.get(placeholder.vector) ?? null;
      const value = args.get(placeholder.parameter) ?? null;
      const type = plans.forms.bound.parameters.find(({ name }) => name === placeholder.parameter)?.type;
      return value === null || type === undefined ? null : toSqlText(type, value);
    });
    return { text, name, values };
  }

  /** Whether the tables have the versions of the statements. */
  isCurrent(): Promise<boolean> {
    return this.#isCurrent(this.#plans, this.#deps.sql);
  }

  async #isCurrent(plans: Plans, connection: SqlConnection): Promise<boolean> {
    const { rows } = await connection.query({
      name: "table_versions",
      text: "select id, version from appdb.tables where id = any ($1::bigint[])",
      values: [`{${[...plans.versions.keys()].join(",")}}`],
    });
    const now = new Map(rows.map(([id, version]) => [Number(id), Number(version)]));
    return [...plans.versions].every(([id, version]) => now.get(id) === version);
  }

  /** Reloads the tables once for all requests that found them changed. @throws schema_changed */
  async #reload(seen: Plans): Promise<void> {
    if (this.#plans !== seen) return;
    this.#reloading ??= this.#load().finally(() => {
      this.#reloading = undefined;
    });
    await this.#reloading;
  }

  async #load(): Promise<void> {
    this.#plans = this.#compileAgainst(await loadDefinitions(this.#deps.sql));
  }

  #compileAgainst(catalog: Catalog): Plans {
    const bound = bindQuery(this.#query, this.#deps.findTable);
    const tables = bound.tables.map((table) => {
      const now = checkReads(table, catalog, this.#deps.service);
      const { folder, indexes, version } = now;
      return { ...table, table: { ...table.table, folder, version, indexes } };
    });
    return this.#compile({ ...bound, tables });
  }

  #compile(declared: BoundQuery): Plans {
    const { bound, files, reasons } = withFileValues(declared, this.#deps.functions);
    const versions = new Map(bound.tables.map(({ table }) => [table.id, table.version]));
    const forms = this.#plan(bound, "forms");
    return { versions, forms: { ...forms, reasons: [...reasons, ...forms.reasons] }, files, others: new Map() };
  }

  #plan(bound: BoundQuery, mode: SqlMode, marked?: RowMarks): CompiledPlan {
    const { functions, limits } = this.#deps;
    const plan = planQuery(bound, { functions, mode, max_rows: limits.result_rows, marked });
    const { final } = plan;
    return {
      ...plan,
      render: compileRows(final, bound.return_scalar),
      begin: compileJsonRows(final.outputs, bound.return_scalar),
    };
  }

  #movesOn(): Error {
    const names = this.#plans.forms.bound.tables.map(({ table }) => table.name).join(", ");
    return appError("schema_changed", {
      detail: `The tables of the query ${this.#query.name} (${names}) keep changing.`,
      hint: "Send the request again when the update is done.",
    });
  }
}
