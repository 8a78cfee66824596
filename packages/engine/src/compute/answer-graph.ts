import { createHash } from "node:crypto";
import { type AppError, appError } from "@appdb/contract/errors";
import type { ManifestAnswerer } from "@appdb/contract/manifest";
import type { GraphStep } from "@appdb/contract/worker-protocol";
import type { CatalogFunction } from "../catalog/catalog.ts";
import { JSON_TYPE } from "../kinds/kinds.ts";
import type { UdfError } from "../ports.ts";
import { planPython } from "./plan-compute.ts";
import type { RowLayout } from "./row-layout.ts";
import {
  type BoundGraph,
  bindGraph,
  cellError,
  cellErrorCode,
  describeUdfError,
  storeFailure,
  storeHint,
} from "./run-graph.ts";

/** The step that makes a response from a row; no column can have this name. */
const STEP = "#answer";
/** Distinguishes the function of a response from functions that columns call. */
const MARK = "#answer";

/** The slot of the response that a route's function made, as JSON text; null for null. */
export function answerSlot(layout: RowLayout): number {
  return layout.errors + 1;
}

/**
 * Plans the graph that computes `columns` in Python and then calls an application function to make the response.
 * `checked` as for planCompute.
 * @throws schema_mismatch when an expression names a function that `functions` lacks
 */
export function planAnswer(
  layout: RowLayout,
  functions: ReadonlyMap<string, CatalogFunction>,
  answerer: ManifestAnswerer,
  columns: readonly string[],
  checked: readonly string[],
): BoundGraph {
  const base = planPython(layout.whole, functions, columns, checked);
  const own = base?.inputs ?? [];
  const known = new Set([...own, ...(base?.steps ?? [])].map(({ name }) => name));
  const parameters = answerer.parameters.map((name) => parameterOf(layout, name));
  const inputs = [...own, ...parameters.filter(({ name }) => !known.has(name))];
  const fn = { id: answerer.id + MARK, module: answerer.module, name: answerer.name };
  const answer: GraphStep = {
    name: STEP,
    type: JSON_TYPE,
    nullable: true,
    expr: {
      node: "udf",
      function: fn.id,
      args: [],
      kwargs: Object.fromEntries(parameters.map((column) => [column.name, { node: "column", ...column }])),
      type: JSON_TYPE,
      nullable: true,
    },
  };
  const steps = [...(base?.steps ?? []), answer];
  const used = [...(base?.functions ?? []), fn];
  const key = createHash("sha256")
    .update(JSON.stringify([inputs, steps, used]))
    .digest("hex");
  const bound = base === null ? { inputs: [], outputs: [] } : bindGraph(base, layout.index);
  const added = inputs.slice(own.length).map(({ name }) => layout.index.get(name) ?? -1);
  return {
    graph: { key, inputs, steps, functions: used },
    inputs: [...bound.inputs, ...added],
    outputs: [...bound.outputs, answerSlot(layout)],
  };
}

function parameterOf(layout: RowLayout, name: string): Pick<GraphStep, "name" | "type" | "nullable"> {
  const slot = layout.slots[layout.index.get(name) ?? -1];
  if (slot === undefined) throw new TypeError(`${layout.table.name} has no column ${name}.`);
  // A computed cell can be null after an error, whatever its column's type says.
  return { name, type: slot.type, nullable: slot.nullable || slot.origin === "computed" };
}

/** The error of a row with a missing column value, or whose function made no response. */
export function rowError(
  layout: RowLayout,
  answerer: ManifestAnswerer | null,
  errors: Readonly<Record<string, UdfError>>,
): AppError {
  const failed = errors[STEP];
  const isOwn = failed !== undefined && failed.kind !== "skipped" && Object.keys(errors).length === 1;
  if (!isOwn || answerer === null) return cellError(layout.whole, errors);
  const { id } = answerer;
  const at = failed.at === null ? "" : ` (${failed.at})`;
  const storeCode = storeFailure(failed);
  return appError(storeCode ?? cellErrorCode(failed), {
    detail: `The route's response: ${describeUdfError({ ...failed, function: id })}${at}`,
    hint:
      storeCode === undefined
        ? "Nothing was stored. Send other values, or correct the function and run `cli service update`."
        : storeHint(storeCode),
    meta: { table: layout.table.name, function: id, type: failed.type, message: failed.message, at: failed.at },
  });
}
