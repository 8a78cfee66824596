import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import { type BoundQuery, expressionKey, flatNames, flatTypes, referenceNode } from "../bound-queries/bind-query.ts";
import { resolveSimilarity } from "../bound-queries/similarities.ts";
import type { CatalogFunction } from "../catalog/catalog.ts";
import { udfsOf } from "../expressions/needs-python.ts";
import { INT_TYPE, UUID_TYPE } from "../kinds/kinds.ts";
import { ParameterList } from "../kinds/parameter-list.ts";
import type { UdfGraph } from "../ports.ts";
import { isInputVector, type VectorPlan } from "./ask-vectors.ts";
import { clausesExprs, conjuncts, replaceIn } from "./clauses.ts";
import {
  aggregatesOf,
  foldsOf,
  type GroupNames,
  groupNames,
  isForAggregate,
  isGrouped,
  keysOf,
  rowArguments,
  windowNames,
  windowsOf,
  withoutFolds,
} from "./groups.ts";
import { FoldPlanner, keyLabel } from "./plan-folds.ts";
import { type PythonReason, pythonReason } from "./python-reasons.ts";
import { queryGraph } from "./query-graph.ts";
import type {
  Clauses,
  FinalStage,
  FoldStage,
  FoldStream,
  MaterialStage,
  NamedType,
  PlannedStatement,
  PlanOptions,
  QueryPlan,
  WindowStage,
} from "./query-plan.ts";
import { ExpressionWriter, inputRows, joinTables, type Relation } from "./relation.ts";
import { StatementWriter } from "./statement-writer.ts";

/** Plans a query: SQL where a whole clause has SQL forms, Python for the rest.
 *  @throws app_invalid */
export function planQuery(boundQuery: BoundQuery, options: PlanOptions): QueryPlan {
  const bound = {
    ...boundQuery,
    similarities: boundQuery.asked.map((one) => resolveSimilarity(one, boundQuery.tables)),
  };
  const { query } = bound;
  const clauses: Clauses = {
    where: conjuncts(query.where),
    group_by: query.group_by,
    select: query.select,
    order_by: query.order_by,
  };
  const planner = new Planner(bound, options);
  const final = planner.plan(clauses, (parameters) => joinTables(bound, parameters), true);
  const vectors = planVectors(bound, options);
  const reasons = [...vectorReasons(vectors, options), ...planner.reasons];
  return { bound, vectors, materials: planner.materials, final, reasons };
}

function planVectors(bound: BoundQuery, { functions }: PlanOptions): VectorPlan {
  const { similarities } = bound;
  const missing = similarities.find((similarity) => similarity.missing !== null)?.missing ?? null;
  const computed = similarities
    .filter((similarity) => !isInputVector(similarity))
    .map(({ name, vector }) => ({ name, expr: vector }));
  if (computed.length === 0 || missing !== null) return { similarities, missing, graph: null };
  return { similarities, missing, graph: queryGraph(bound, computed, withFormer(functions, computed)) };
}

/** A previous index uses a function that the file may no longer call. Its id tells the module. */
function withFormer(
  known: ReadonlyMap<string, CatalogFunction>,
  computed: readonly { readonly expr: Expr }[],
): ReadonlyMap<string, CatalogFunction> {
  const previous = computed
    .flatMap(({ expr }) => udfsOf(expr))
    .filter((id) => !known.has(id))
    .map((id): [string, CatalogFunction] => {
      const [module = "", name = ""] = id.replace(/#\d+$/, "").split(":");
      return [id, { id, module, name, digest: "" }];
    });
  return new Map([...known, ...previous]);
}

function vectorReasons({ similarities }: VectorPlan, { mode }: PlanOptions): readonly PythonReason[] {
  return similarities
    .filter((similarity) => !isInputVector(similarity))
    .map(({ vector }) => pythonReason("vector", vector, mode));
}

const ROW_NUMBER: NamedType = { name: "#number", type: INT_TYPE };

class Planner {
  readonly materials: (MaterialStage | FoldStage | WindowStage)[] = [];
  readonly reasons: PythonReason[] = [];
  #bound: BoundQuery;
  readonly #options: PlanOptions;
  readonly #types: Map<string, ColumnType>;
  #made = 0;

  constructor(bound: BoundQuery, options: PlanOptions) {
    this.#bound = bound;
    this.#options = options;
    this.#types = flatTypes(bound);
  }

  /** Plans clauses over a source. `isTables`: the source is tables, whose versions must be checked. */
  plan(clauses: Clauses, source: (parameters: ParameterList) => Relation, isTables: boolean): FinalStage {
    const parameters = this.#newParameters();
    const writer = new ExpressionWriter(source(parameters), parameters, this.#options.mode);
    const isMissing = (expr: Expr) => !writer.has(expr);
    const python = { where: clauses.where.filter(isMissing), values: this.#valuesBefore(clauses).filter(isMissing) };
    if (python.where.length + python.values.length > 0) return this.#materialize(clauses, python, source, isTables);
    if (foldsOf(clauses).length > 0) return this.#foldGroups(clauses, source, isTables);
    if (isGrouped(clauses) && this.#lacksAfter(clauses, groupNames(clauses))) {
      return this.#materializeGroups(clauses, source, isTables);
    }
    const windows = windowsOf(clauses);
    const isForWorker = windows.some((window) => window.is_udf);
    if (isForWorker || (windows.length > 0 && this.#lacksAfter(clauses, windowNames(clauses)))) {
      return this.#materializeWindows(clauses, source, isTables);
    }
    return this.#finish(clauses, source, isTables);
  }

  /** The values that grouping, sorting and comparing need. */
  #valuesBefore(clauses: Clauses): Expr[] {
    const { group_by: groupBy, select, order_by: orderBy } = clauses;
    const windows = windowsOf(clauses);
    const { distinct } = this.#bound.query;
    const found = new Map<string, Expr>();
    const add = (expr: Expr) => found.set(expressionKey(expr), expr);
    for (const expr of groupBy) add(expr);
    for (const aggregate of [...aggregatesOf(clauses), ...windows]) {
      for (const expr of keysOf(aggregate)) add(expr);
      for (const { expr } of rowArguments(aggregate)) if (!(aggregate.is_udf && isForAggregate(expr))) add(expr);
    }
    // Windows are computed before rows are sorted and compared.
    if (!isGrouped(clauses) && windows.length === 0) {
      for (const { expr } of orderBy) add(expr);
      if (distinct) for (const { expr } of select) add(expr);
    }
    return [...found.values()];
  }

  /** The values that sorting and comparing groups need. */
  #valuesAfter({ select, order_by: orderBy }: Clauses): Expr[] {
    const compared = this.#bound.query.distinct ? select.map(({ expr }) => expr) : [];
    return [...orderBy.map(({ expr }) => expr), ...compared];
  }

  /** Whether sorting or comparing the rows with their named values needs Python. */
  #lacksAfter(clauses: Clauses, { replace }: Pick<GroupNames, "replace">): boolean {
    return this.#valuesAfter(clauses).some((expr) => !this.#has(replace(expr)));
  }

  #has(expr: Expr): boolean {
    const anything: Relation = { from: "", where: [], identities: [], column: () => "x" };
    return new ExpressionWriter(anything, this.#newParameters(), this.#options.mode).has(expr);
  }

  #materialize(
    clauses: Clauses,
    python: { readonly where: readonly Expr[]; readonly values: readonly Expr[] },
    source: (parameters: ParameterList) => Relation,
    isTables: boolean,
  ): FinalStage {
    for (const expr of python.where) this.reasons.push(this.#reason("where", expr));
    for (const expr of python.values) this.reasons.push(this.#reason("value", expr));
    const names = python.values.map((expr) => ({ name: this.#newName(), expr }));
    const replaced = new Map(names.map(({ name, expr }) => [expressionKey(expr), referenceNode(name, expr)]));
    const next = replaceIn({ ...clauses, where: [] }, (expr) => replaced.get(expressionKey(expr)));
    const steps = [...python.where.map((expr) => ({ name: this.#newName(), expr })), ...names];
    const kept = flatNames([...clausesExprs(next), ...steps.map(({ expr }) => expr)]).filter(
      (name) => !names.some((made) => made.name === name),
    );
    const parameters = this.#newParameters();
    const relation = source(parameters);
    const statement = new StatementWriter(this.#bound, relation, parameters, this.#options);
    const written = clauses.where.filter((expr) => !python.where.includes(expr));
    const { query } = this.#bound;
    const isOrdered =
      !isGrouped(clauses) &&
      windowsOf(clauses).length === 0 &&
      !query.distinct &&
      query.tail === null &&
      query.sample === null &&
      python.values.length === 0;
    const identities = relation.identities.map((_sql, at): NamedType => ({ name: `#id${at}`, type: UUID_TYPE }));
    const isNumbered = relation.identities[0]?.includes('"#row"') ?? false;
    const columns = [...(isNumbered ? [] : identities), ...kept.map((name) => this.#named(name))];
    const graph = this.#graph(steps);
    this.materials.push({
      statement: statement.rows({
        where: written,
        columns: columns.map(({ name }) => name),
        order: isOrdered ? clauses.order_by : [],
        guards: isTables,
      }),
      columns,
      graph,
      conditions: python.where.length,
      is_ordered: isOrdered,
    });
    for (const { name, expr } of names) this.#types.set(name, expr.type);
    const rows = [...columns, ...names.map(({ name, expr }) => ({ name, type: expr.type }))];
    return this.plan(next, (list) => withIdentities(inputRows(rows, list), isNumbered ? 0 : identities.length), false);
  }

  /** Materializes groups, so that Python computes their sort values. */
  #materializeGroups(clauses: Clauses, source: (parameters: ParameterList) => Relation, isTables: boolean): FinalStage {
    const grouped = groupNames(clauses);
    const parameters = this.#newParameters();
    const relation = source(parameters);
    const statement = new StatementWriter(this.#bound, relation, parameters, this.#options);
    const columns = grouped.values.map(({ name, expr }): NamedType => ({ name, type: expr.type }));
    this.materials.push({
      statement: statement.groups({ where: clauses.where, grouped, guards: isTables, is_repeated: false }),
      columns,
      graph: null,
      conditions: 0,
      is_ordered: false,
    });
    return this.#afterGroups(clauses, grouped, columns);
  }

  /** Materializes rows with the values of their windows: application aggregates, or values that Python sorts by. */
  #materializeWindows(
    clauses: Clauses,
    source: (parameters: ParameterList) => Relation,
    isTables: boolean,
  ): FinalStage {
    const names = windowsOf(clauses).map((expr) => ({ name: this.#newName(), expr }));
    const replaced = new Map(names.map(({ name, expr }) => [expressionKey(expr), referenceNode(name, expr)]));
    const next = replaceIn({ ...clauses, where: [] }, (expr) => replaced.get(expressionKey(expr)));
    const kept = flatNames(clausesExprs(next)).filter((name) => !names.some((made) => made.name === name));
    const parameters = this.#newParameters();
    const relation = source(parameters);
    const written = names.filter(({ expr }) => !expr.is_udf);
    const folded = names.filter(({ expr }) => expr.is_udf);
    for (const { expr } of folded) this.reasons.push(this.#reason("aggregate", expr));
    const planner = new FoldPlanner(this.#foldPlans(clauses));
    const folds = folded.map(({ name, expr }) => planner.plan(name, expr));
    const isNumbered = relation.identities[0]?.includes('"#row"') ?? false;
    const identities = isNumbered
      ? []
      : relation.identities.map((_sql, at): NamedType => ({ name: `#id${at}`, type: UUID_TYPE }));
    const plain = [...identities, ...kept.map((name) => this.#named(name))];
    const columns = [...plain, ...written.map(({ name, expr }): NamedType => ({ name, type: expr.type }))];
    const first = columns.length + planner.columns.length;
    this.materials.push({
      statement: new StatementWriter(this.#bound, relation, parameters, this.#options).windows({
        where: clauses.where,
        columns: plain.map(({ name }) => name),
        windows: written.map(({ expr }) => expr),
        values: planner.columns,
        numbered: folded.map(({ expr }) => expr),
        order: clauses.order_by,
        guards: isTables,
      }),
      columns: [
        ...columns,
        ...planner.columns.map(({ type }, at): NamedType => ({ name: `#f${at}`, type })),
        ...folded.flatMap(() => [ROW_NUMBER, ROW_NUMBER]),
      ],
      kept: columns.length,
      windows: folds.map((fold, at) => ({
        // Its inputs are among the columns of the whole statement.
        fold: { ...fold, inputs: fold.inputs.map((input) => ({ ...input, at: input.at + columns.length })) },
        group: first + 2 * at,
        place: first + 2 * at + 1,
      })),
    });
    for (const { name, expr } of names) this.#types.set(name, expr.type);
    const rows = [...columns, ...folds.map(({ name, type }) => ({ name, type }))];
    this.#bound = { ...this.#bound, query: { ...this.#bound.query, sample: null } };
    return this.plan(next, (list) => withIdentities(inputRows(rows, list), identities.length), false);
  }

  #foldPlans(clauses: Clauses): ConstructorParameters<typeof FoldPlanner>[0] {
    const { functions } = this.#options;
    return { bound: this.#bound, clauses, functions, has: (expr) => this.#has(expr) };
  }

  /** Groups with application aggregates: their rows are streamed to Python, once for each order. */
  #foldGroups(clauses: Clauses, source: (parameters: ParameterList) => Relation, isTables: boolean): FinalStage {
    const grouped = groupNames(clauses);
    const own = withoutFolds(grouped);
    const write = (work: (writer: StatementWriter) => PlannedStatement) => {
      const parameters = this.#newParameters();
      return work(new StatementWriter(this.#bound, source(parameters), parameters, this.#options));
    };
    const { where } = clauses;
    const folded = grouped.values.flatMap(({ name, expr }) =>
      expr.node === "aggregate" && expr.is_udf ? [{ name, expr, order: expr.order_by ?? [] }] : [],
    );
    for (const { expr } of folded) this.reasons.push(this.#reason("aggregate", expr));
    const orders = new Map(folded.map(({ order }) => [JSON.stringify(order), order]));
    const streams = [...orders].map(([key, order]): FoldStream => {
      const planner = new FoldPlanner(this.#foldPlans(clauses));
      const several = folded.filter((one) => JSON.stringify(one.order) === key);
      const folds = several.map(({ name, expr }) => planner.plan(name, expr));
      const values = planner.columns;
      return {
        rows: write((writer) => writer.members({ where, keys: clauses.group_by, values, order })),
        columns: values.map(({ type }, at) => ({ name: `#f${at}`, type })),
        folds,
        is_sorted: order.length > 0,
      };
    });
    const columns = own.values.map(({ name, expr }): NamedType => ({ name, type: expr.type }));
    const keys = clauses.group_by;
    this.materials.push({
      groups:
        columns.length === 0
          ? null
          : write((writer) => writer.groups({ where, grouped: own, guards: false, is_repeated: true })),
      columns,
      keys: keys.map((expr, at) => keyLabel(clauses, expr, at)),
      streams,
      folds: streams.flatMap(({ folds }) => folds),
      tables: isTables ? this.#bound.tables.map(({ table }) => table) : [],
    });
    const made = streams.flatMap(({ folds }) => folds.map(({ name, type }) => ({ name, type })));
    return this.#afterGroups(clauses, grouped, [...columns, ...made]);
  }

  /** Plans the rest over existing groups. Sampling has already been applied to the rows. */
  #afterGroups(clauses: Clauses, grouped: GroupNames, columns: readonly NamedType[]): FinalStage {
    for (const { name, type } of columns) this.#types.set(name, type);
    this.#bound = { ...this.#bound, query: { ...this.#bound.query, sample: null } };
    const next: Clauses = {
      where: [],
      group_by: [],
      select: clauses.select.map(({ name, expr }) => ({ name, expr: grouped.replace(expr) })),
      order_by: clauses.order_by.map(({ expr, asc }) => ({ expr: grouped.replace(expr), asc })),
    };
    return this.plan(next, (list) => inputRows(columns, list), false);
  }

  #finish(clauses: Clauses, source: (parameters: ParameterList) => Relation, isTables: boolean): FinalStage {
    const parameters = this.#newParameters();
    const statement = new StatementWriter(this.#bound, source(parameters), parameters, this.#options);
    const finished = statement.answer({ clauses, guards: isTables });
    const steps = finished.python.map(({ name, expr }) => ({ name, expr }));
    for (const { expr } of steps) this.reasons.push(this.#reason("select", expr));
    for (const { name, type } of finished.columns) this.#types.set(name, type);
    return {
      statement: finished.statement,
      exact: finished.exact ?? null,
      columns: finished.columns,
      outputs: finished.outputs.map((output) => ({ ...output, nullable: this.#mayBeNull(output.index) })),
      graph: steps.length === 0 ? null : this.#graph(steps),
      marks: finished.marks,
    };
  }

  #mayBeNull(index: number): boolean {
    const expr = this.#bound.query.select[index]?.expr;
    if (expr === undefined || expr.nullable) return true;
    const missing = this.#bound.tables.filter((table) => table.may_lack).map((table) => `${table.alias}.`);
    return flatNames([expr]).some((name) => missing.some((prefix) => name.startsWith(prefix)));
  }

  #graph(steps: readonly { readonly name: string; readonly expr: Expr }[]): UdfGraph {
    return queryGraph(this.#bound, steps, this.#options.functions);
  }

  #reason(clause: PythonReason["clause"], expr: Expr): PythonReason {
    return pythonReason(clause, expr, this.#options.mode);
  }

  #named(name: string): NamedType {
    const type = this.#types.get(name);
    if (type === undefined) throw new TypeError(`The query has no type for ${name}.`);
    return { name, type };
  }

  #newParameters(): ParameterList {
    const { marked } = this.#options;
    return new ParameterList(this.#bound.parameters, marked?.by === "identity" && marked.isMany);
  }

  #newName(): string {
    this.#made += 1;
    return `#p${this.#made}`;
  }
}

/** The first columns are the identities in the source. */
function withIdentities(relation: Relation, count: number): Relation {
  if (count === 0) return relation;
  const identities = Array.from({ length: count }, (_none, at) => relation.column(`#id${at}`) ?? "");
  return { ...relation, identities };
}
