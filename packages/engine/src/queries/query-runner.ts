import { appError } from "@appdb/contract/errors";
import type { ManifestQuery } from "@appdb/contract/manifest";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import type { SqlConnection, SqlPool, SqlResult, UdfGraph, UdfRunner } from "../ports.ts";
import { isShapeRefusal, isValueRefusal } from "../rows/sql-refusals.ts";
import { arrayText, toSqlText } from "../rows/value-sql.ts";
import type { ServiceIdentity } from "../rows/write-target.ts";
import type { Catalog, CatalogFunction, CatalogTable } from "../schema/catalog.ts";
import { loadCatalog } from "../schema/load-catalog.ts";
import { type BoundQuery, bindQuery } from "./bind-query.ts";
import { checkReads } from "./check-reads.ts";
import { foldGroups } from "./fold-groups.ts";
import { compileJsonRows } from "./json-rows.ts";
import { planQuery } from "./plan-query.ts";
import {
  bindInputs,
  computeRows,
  decodeRow,
  meetsConditions,
  type QueryArguments,
  refuseErrors,
} from "./python-rows.ts";
import { type QueryLimits, type RowsInFlight, tooManyBytes, tooManyRows } from "./query-limits.ts";
import type { FinalStage, FoldStage, MaterialStage, PlannedStatement, QueryPlan } from "./query-plan.ts";
import { explainQueryRefusal, type FailedAt } from "./query-refusals.ts";
import { compileRows } from "./render-rows.ts";

export interface QueryRunnerDeps {
  readonly sql: SqlPool;
  readonly udf: () => UdfRunner;
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  readonly limits: QueryLimits;
  readonly in_flight: RowsInFlight;
  /** Null for a job, which computes columns by the catalog. */
  readonly service: ServiceIdentity | null;
  /** A table of the application as it declares it, with the catalog's ids. */
  readonly findTable: (name: string) => CatalogTable;
}

/** Rows as JSON texts, joined by commas. */
export interface QueryAnswer {
  readonly count: number;
  readonly text: string;
}

/** How often a query starts over because a table moved. */
const MOST_ATTEMPTS = 8;
/** Rows that a cursor fetches at a time, for Python. */
const FETCHED = 500;

interface Plans {
  readonly versions: ReadonlyMap<number, number>;
  readonly forms: CompiledPlan;
  /** Made when SQL refuses a value for the first time. */
  bare?: CompiledPlan;
}

interface CompiledPlan extends QueryPlan {
  readonly render: ReturnType<typeof compileRows>;
  readonly begin: ReturnType<typeof compileJsonRows>;
}

/** Values that rows are sorted, grouped or counted by are computed before there is an answer. */
const SORTED = { clause: "order_by or group_by" };

/** Runs one query of the application. */
export class QueryRunner {
  readonly #deps: QueryRunnerDeps;
  readonly #named: ManifestQuery;
  readonly #types: ReadonlyMap<string, ColumnType>;
  #plans: Plans;
  #reloading: Promise<void> | undefined;

  /** @throws app_invalid when a join has no SQL form */
  constructor(deps: QueryRunnerDeps, named: ManifestQuery) {
    this.#deps = deps;
    this.#named = named;
    this.#types = new Map(named.parameters.map(({ name, type }) => [name, type]));
    this.#plans = this.#compile(bindQuery(named, deps.findTable));
  }

  get plan(): QueryPlan {
    return this.#plans.forms;
  }

  get uses_python(): boolean {
    return this.#plans.forms.reasons.length > 0;
  }

  /**
   * @throws schema_changed, function_failed and its kin, result_too_large, query_timeout, invalid_request for a negative
   *  limit, database_unavailable, worker_unavailable, overloaded
   */
  async run(args: QueryArguments, signal?: AbortSignal): Promise<QueryAnswer> {
    this.#checkBounds(args);
    for (let attempt = 1; ; attempt++) {
      const plans = this.#plans;
      const answer = await this.#attempt(plans, args, signal);
      if (answer !== undefined) return answer;
      if (attempt === MOST_ATTEMPTS) throw this.#movesOn();
      await this.#reload(plans);
    }
  }

  /** One attempt; undefined when a table has another version by now. */
  async #attempt(plans: Plans, args: QueryArguments, signal?: AbortSignal): Promise<QueryAnswer | undefined> {
    try {
      return await this.#execute(plans, plans.forms, args, signal);
    } catch (error) {
      if (isShapeRefusal(error) && !(await this.#isCurrent(plans, this.#deps.sql))) return undefined;
      if (!isValueRefusal(error)) throw this.#explain(error, signal);
    }
    plans.bare ??= this.#plan(plans.forms.bound, "bare");
    try {
      return await this.#execute(plans, plans.bare, args, signal);
    } catch (error) {
      throw this.#explain(error, signal);
    }
  }

  #explain(error: unknown, signal: AbortSignal | undefined): unknown {
    return explainQueryRefusal(this.#named.name, this.#deps.limits, error, signal);
  }

  async #execute(
    plans: Plans,
    plan: CompiledPlan,
    args: QueryArguments,
    signal?: AbortSignal,
  ): Promise<QueryAnswer | undefined> {
    if (plan.materials.length === 0) return this.#answer(plans, plan, [], args, signal);
    let held = 0;
    const hold = (rows: number) => {
      this.#deps.in_flight.take(this.#named.name, rows, held + rows);
      held += rows;
    };
    try {
      let arrays: readonly string[] = [];
      for (const stage of plan.materials) {
        const rows =
          "folds" in stage
            ? await this.#fold(plans, stage, arrays, args, hold, signal)
            : await this.#materialize(plans, stage, arrays, args, hold, signal);
        if (rows === undefined) return undefined;
        arrays = rows;
      }
      return await this.#answer(plans, plan, arrays, args, signal);
    } finally {
      this.#deps.in_flight.give(held);
    }
  }

  async #answer(
    plans: Plans,
    plan: CompiledPlan,
    arrays: readonly string[],
    args: QueryArguments,
    signal?: AbortSignal,
  ): Promise<QueryAnswer | undefined> {
    const { limits, sql } = this.#deps;
    const { final } = plan;
    const statement = {
      ...this.#statement(plans, final.statement, arrays, args),
      most_bytes: limits.result_bytes,
      signal,
    };
    const isUnseen = async () => plan.materials.length === 0 && !(await this.#isCurrent(plans, sql));
    if (final.graph === null) {
      const rows = plan.begin(limits.result_bytes);
      await sql.query({ ...statement, take_row: rows.take_row, restart: rows.restart });
      if (rows.count === 0 && (await isUnseen())) return undefined;
      if (rows.count > limits.result_rows) throw tooManyRows(this.#named.name, limits);
      if (rows.is_full) throw tooManyBytes(this.#named.name, limits);
      return { count: rows.count, text: rows.finish() };
    }
    const { rows } = await sql.query(statement);
    if (rows.length === 0 && (await isUnseen())) return undefined;
    if (rows.length > limits.result_rows) throw tooManyRows(this.#named.name, limits);
    return this.#compute(plan, final.graph, rows, args, signal);
  }

  /** Has Python compute what it must of the answer's rows. */
  async #compute(
    { final, render }: CompiledPlan,
    graph: UdfGraph,
    given: SqlResult["rows"],
    args: QueryArguments,
    signal?: AbortSignal,
  ): Promise<QueryAnswer> {
    const { limits } = this.#deps;
    const first = final.outputs.filter(({ from }) => "sql" in from).length;
    const inputs = bindInputs(graph, final.columns, args);
    const rows = given.map((row) => inputs(decodeRow(final.columns, row, first)));
    const computed = await computeRows(this.#deps.udf(), graph, rows, signal);
    let text = "";
    given.forEach((row, at) => {
      const made = computed[at];
      if (made === undefined) throw new TypeError("Python answered fewer rows than it was given.");
      refuseErrors(this.#named.name, graph, 0, made, (step) => failedOutput(final, step, at + 1));
      const shown = render(row, made.values);
      text += at === 0 ? shown : `,${shown}`;
    });
    if (text.length > limits.result_bytes) throw tooManyBytes(this.#named.name, limits);
    return { count: given.length, text };
  }

  /** Reads rows by a cursor, has Python compute what it must, and keeps what the next statement needs, as array texts. */
  async #materialize(
    plans: Plans,
    stage: MaterialStage,
    arrays: readonly string[],
    args: QueryArguments,
    hold: (rows: number) => void,
    signal?: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    const { graph, columns, conditions } = stage;
    const made = graph?.steps.slice(conditions) ?? [];
    const wanted = stage.is_ordered ? this.#enough(args) : Number.POSITIVE_INFINITY;
    const inputs = graph === null ? undefined : bindInputs(graph, columns, args);
    const kept: EngineValue[][] = [];
    let bytes = 0;
    const take = (row: EngineValue[]) => {
      for (const value of row) bytes += typeof value === "string" ? value.length : 8;
      kept.push(row);
    };
    const isCurrent = await this.#deps.sql.transaction(async (connection) => {
      const statement = this.#statement(plans, stage.statement, arrays, args);
      await connection.query({ text: `declare rows no scroll cursor for ${statement.text}`, values: statement.values });
      for (let count = 0; kept.length < wanted; ) {
        const fetched = await connection.query({ text: `fetch ${FETCHED} from rows`, signal });
        if (fetched.rows.length === 0) return count > 0 || (await this.#isCurrent(plans, connection));
        count += fetched.rows.length;
        const rows = fetched.rows.map((row) => decodeRow(columns, row));
        const before = kept.length;
        if (graph === null || inputs === undefined) for (const row of rows) take(row);
        else {
          const computed = await computeRows(this.#deps.udf(), graph, rows.map(inputs), signal);
          computed.forEach((result, at) => {
            if (!meetsConditions(this.#named.name, graph, conditions, result)) return;
            refuseErrors(this.#named.name, graph, conditions, result, () => SORTED);
            take([...(rows[at] ?? []), ...result.values.slice(conditions)]);
          });
        }
        hold(kept.length - before);
        if (bytes > this.#deps.limits.result_bytes) throw tooManyBytes(this.#named.name, this.#deps.limits);
      }
      return true;
    });
    if (!isCurrent) return undefined;
    const types = [...columns, ...made];
    return types.map(({ type }, at) => arrayText(type.kind, kept, at));
  }

  #fold(
    plans: Plans,
    stage: FoldStage,
    arrays: readonly string[],
    args: QueryArguments,
    hold: (rows: number) => void,
    signal: AbortSignal | undefined,
  ): Promise<readonly string[] | undefined> {
    const { limits, sql, udf } = this.#deps;
    const fill = (planned: PlannedStatement) => this.#statement(plans, planned, arrays, args);
    const isCurrent = (connection: SqlConnection) => this.#isCurrent(plans, connection);
    return foldGroups(sql, { query: this.#named.name, stage, args, limits, udf, fill, isCurrent, hold, signal });
  }

  /** Rows of the final order that the limit and the offset can ask for. */
  #enough(args: QueryArguments): number {
    const { limit, offset } = this.#plans.forms.bound.query;
    const most = this.#deps.limits.result_rows + 1;
    return Math.min(this.#bound(limit, args) ?? most, most) + (this.#bound(offset, args) ?? 0);
  }

  #bound(expr: BoundQuery["query"]["limit"], args: QueryArguments): number | undefined {
    if (expr === null) return undefined;
    const value = expr.node === "literal" ? expr.value : expr.node === "parameter" ? args.get(expr.name) : null;
    return value === null || value === undefined ? undefined : Number(value);
  }

  #checkBounds(args: QueryArguments): void {
    const { limit, offset, tail } = this.#plans.forms.bound.query;
    for (const [clause, expr] of Object.entries({ limit, offset, tail })) {
      const value = this.#bound(expr, args);
      if (value === undefined || value >= 0) continue;
      const name = expr?.node === "parameter" ? expr.name : clause;
      throw appError("invalid_request", {
        detail: `${name}: A ${clause} is not negative; the request has ${value}.`,
        hint: "Send 0 or more.",
        errors: [{ pointer: `/${name}`, detail: `A ${clause} is not negative.` }],
      });
    }
  }

  #statement(
    plans: Plans,
    { text, name, places }: PlannedStatement,
    arrays: readonly string[],
    args: QueryArguments,
  ): { text: string; name: string; values: unknown[] } {
    const values = places.map((place): unknown => {
      if ("array" in place) return arrays[place.array];
      if ("version_of" in place) return plans.versions.get(place.version_of);
      const value = args.get(place.parameter) ?? null;
      const type = this.#types.get(place.parameter);
      return value === null || type === undefined ? null : toSqlText(type, value);
    });
    return { text, name, values };
  }

  /** Whether the tables have the versions that the statements were written for. */
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

  /** Looks at the tables anew, once for all requests that found them changed. @throws schema_changed */
  async #reload(seen: Plans): Promise<void> {
    if (this.#plans !== seen) return;
    this.#reloading ??= this.#load().finally(() => {
      this.#reloading = undefined;
    });
    await this.#reloading;
  }

  async #load(): Promise<void> {
    this.#plans = this.#compileAgainst(await loadCatalog(this.#deps.sql));
  }

  #compileAgainst(catalog: Catalog): Plans {
    const bound = bindQuery(this.#named, this.#deps.findTable);
    const tables = bound.tables.map((table) => {
      const now = checkReads(table, catalog, this.#deps.service);
      return { ...table, table: { ...table.table, version: now.version, indexes: now.indexes } };
    });
    return this.#compile({ ...bound, tables });
  }

  #compile(bound: BoundQuery): Plans {
    const versions = new Map(bound.tables.map(({ table }) => [table.id, table.version]));
    return { versions, forms: this.#plan(bound, "forms") };
  }

  #plan(bound: BoundQuery, mode: "forms" | "bare"): CompiledPlan {
    const { functions, limits } = this.#deps;
    const plan = planQuery(bound, { functions, mode, most_rows: limits.result_rows });
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
      detail: `The tables of the query ${this.#named.name} (${names}) change again and again.`,
      hint: "Send the request again when the update is done.",
    });
  }
}

function failedOutput({ outputs }: FinalStage, step: number, row: number): FailedAt {
  const output = outputs.find(({ from }) => "step" in from && from.step === step);
  return output === undefined ? { clause: "select" } : { column: output.name, row };
}
