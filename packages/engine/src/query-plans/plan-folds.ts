import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { GraphFunction } from "@appdb/contract/worker-protocol";
import type { BoundQuery } from "../bound-queries/bind-query.ts";
import { expressionKey, flatNames, referenceNode, typesIn } from "../bound-queries/bind-query.ts";
import { udfsOf } from "../expressions/needs-python.ts";
import { visit } from "../expressions/tree.ts";
import { type Aggregate, readsRows, rowArguments, type Window } from "./groups.ts";
import type { Clauses, PlannedFold, PlanOptions } from "./query-plan.ts";

interface FoldPlans {
  readonly bound: BoundQuery;
  readonly clauses: Clauses;
  readonly functions: PlanOptions["functions"];
  /** Whether an expression has SQL. Workers compute arguments without it. */
  readonly has: (expr: Expr) => boolean;
}

/** Plans application aggregates over the same rows, and collects the columns that they take. */
export class FoldPlanner {
  readonly #plans: FoldPlans;
  readonly #places = new Map<string, number>();
  /** The columns of the rows, in order. */
  readonly columns: Expr[] = [];

  constructor(plans: FoldPlans) {
    this.#plans = plans;
  }

  /** `name`: of the aggregate's value. @throws app_invalid when the application lacks the aggregate */
  plan(name: string, aggregate: Aggregate | Window): PlannedFold {
    const { clauses, has } = this.#plans;
    const inputs = new Map<string, PlannedFold["inputs"][number]>();
    // A join may not match the table of a non-nullable column.
    const take = (expr: Expr, flat?: string) => {
      const at = this.#placeOf(expr);
      const input = flat ?? `#f${at}`;
      inputs.set(input, { name: input, type: expr.type, nullable: true, at });
      return referenceNode(input, expr);
    };
    const args = rowArguments(aggregate).map(({ name: parameter, expr }) => {
      if (has(expr)) return { name: parameter, expr: take(expr) };
      const types = new Map(typesIn(expr));
      for (const flat of flatNames([expr])) {
        take({ node: "column", name: flat, type: types.get(flat) ?? expr.type, nullable: true }, flat);
      }
      return { name: parameter, expr };
    });
    return {
      name,
      type: aggregate.type,
      function: this.#function(aggregate.fn),
      inputs: [...inputs.values()],
      args,
      functions: [...new Set(args.flatMap(({ expr }) => udfsOf(expr)))].map((id) => this.#function(id)),
      constants: Object.fromEntries(Object.entries(aggregate.kwargs).filter(([, expr]) => !readsRows(expr))),
      output: outputOf(clauses, aggregate),
    };
  }

  #placeOf(expr: Expr): number {
    const key = expressionKey(expr);
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    this.#places.set(key, this.columns.length);
    return this.columns.push(expr) - 1;
  }

  #function(id: string): GraphFunction {
    const { bound, functions } = this.#plans;
    const known = functions.get(id);
    if (known === undefined) throw unknownFunction(bound, id);
    return { id: known.id, module: known.module, name: known.name };
  }
}

/** The name of a key for people: its selected name, or the column's own. */
export function keyLabel({ select }: Clauses, key: Expr, at: number): string {
  const selected = select.find(({ expr }) => expressionKey(expr) === expressionKey(key));
  if (selected !== undefined) return selected.name;
  return key.node === "column" && !key.name.startsWith("#") ? key.name : `group_by ${at + 1}`;
}

/** The error for a call of an undeclared function. */
export function unknownFunction(bound: BoundQuery, id: string): Error {
  return appError("app_invalid", {
    detail: `The query ${bound.id} calls ${id}, which the application does not declare.`,
    hint: "Run the command again to reload the file.",
    meta: { query: bound.id, function: id },
  });
}

function outputOf({ select }: Clauses, aggregate: Expr): string {
  const key = expressionKey(aggregate);
  const selected = select.find(({ expr }) => {
    let found = false;
    visit(expr, (node) => {
      found ||= expressionKey(node) === key;
    });
    return found;
  });
  return selected?.name ?? "order_by";
}
