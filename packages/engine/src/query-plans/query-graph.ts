import { createHash } from "node:crypto";
import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import { type BoundQuery, parametersAsColumns } from "../bound-queries/bind-query.ts";
import type { CatalogFunction } from "../catalog/catalog.ts";
import { udfsOf } from "../expressions/needs-python.ts";
import { visit } from "../expressions/tree.ts";
import type { UdfGraph } from "../ports.ts";
import { unknownFunction } from "./plan-folds.ts";

/** Builds the graph of steps. Each only reads inputs: columns of rows, and parameters of the request. @throws
 *  app_invalid */
export function queryGraph(
  bound: BoundQuery,
  written: readonly { readonly name: string; readonly expr: Expr }[],
  known: ReadonlyMap<string, CatalogFunction>,
): UdfGraph {
  const steps = written.map(({ name, expr }) => ({ name, expr: parametersAsColumns(expr) }));
  const inputs = new Map<string, { name: string; type: ColumnType; nullable: boolean }>();
  const functions = new Map<string, { id: string; module: string; name: string }>();
  for (const { expr } of steps) {
    visit(expr, (node) => {
      if (node.node === "column") inputs.set(node.name, { name: node.name, type: node.type, nullable: true });
    });
    for (const id of udfsOf(expr)) {
      const found = known.get(id);
      if (found === undefined) throw unknownFunction(bound, id);
      functions.set(id, { id, module: found.module, name: found.name });
    }
  }
  const parts = {
    inputs: [...inputs.values()],
    steps: steps.map(({ name, expr }) => ({ name, expr, type: expr.type, nullable: true })),
    functions: [...functions.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
  const key = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  return { key, ...parts };
}
