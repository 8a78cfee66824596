import type { CatalogFunction } from "../catalog/catalog.ts";
import { planCompute, type SqlStep } from "../compute/plan-compute.ts";
import { checkedMedia, type RowLayout, type Slot, slotsNamed } from "../compute/row-layout.ts";
import { type BoundGraph, bindGraph } from "../compute/run-graph.ts";
import { referencedColumns } from "../expressions/needs-python.ts";

/** Everything that follows from the columns of an update. Updates of the same columns are written together. */
export interface UpdateShape {
  readonly sent: readonly Slot[];
  /** Computed columns that depend on the sent columns. Only these are recomputed. */
  readonly dependents: readonly Slot[];
  readonly dependent_names: ReadonlySet<string>;
  /** Unstored columns that responses have. They are computed with every update. */
  readonly unstored: readonly string[];
  /** Sent media columns whose files the graph decodes first. */
  readonly checked: readonly string[];
  /** Dependents that need Python, with the columns that they read. */
  readonly graph: BoundGraph | null;
  /** The other dependents, computed inside the statement. */
  readonly sql: readonly SqlStep[];
  /** Stored columns that `sql` reads. */
  readonly sql_reads: readonly Slot[];
  /** Stored columns that all dependents read together. */
  readonly reads: readonly Slot[];
  /** Computed columns that dependents read and that are not recomputed. A failed one has no value. */
  readonly unsure: readonly string[];
  /** Whether connections keep its statements. */
  readonly is_kept: boolean;
}

/** @throws schema_mismatch when an expression names a function that `functions` lacks */
export function planUpdate(
  layout: RowLayout,
  functions: ReadonlyMap<string, CatalogFunction>,
  sent: readonly string[],
  unstored: readonly string[] = [],
): Omit<UpdateShape, "is_kept"> {
  const { whole: table } = layout;
  const dependents = dependentsOf(layout, sent);
  const slots = slotsNamed(layout, sent);
  const checked = checkedMedia({ slots });
  const plan = planCompute(table, functions, [...dependents, ...unstored], checked);
  const steps = new Set(plan.sql.map((step) => step.column));
  const computedNames = new Set([...sent, ...dependents]);
  const readBy = (names: Iterable<string>): Set<string> => {
    const read = [...names].flatMap((name) => readsOf(layout, name));
    return new Set(read.filter((name) => !computedNames.has(name)));
  };
  const dependentReads = readBy(dependents);
  const reads = new Set([...dependentReads, ...readBy(unstored)]);
  const computed = new Set(table.columns.filter((column) => column.computed !== null).map((column) => column.name));
  return {
    sent: slots,
    checked,
    dependents: slotsNamed(layout, dependents),
    dependent_names: new Set(dependents),
    unstored,
    graph: plan.graph === null ? null : bindGraph(plan.graph, layout.index),
    sql: plan.sql,
    sql_reads: slotsNamed(layout, [...readBy(steps)]),
    reads: slotsNamed(layout, [...reads]),
    // An unstored column that reads a failed cell has no value either, and does not prevent the update.
    unsure: [...dependentReads].filter((name) => computed.has(name)),
  };
}

/** The computed columns that depend on some of `names`, in the layout's order. */
function dependentsOf(layout: RowLayout, names: readonly string[]): string[] {
  const moved = new Set(names);
  // A reader may be listed before its source, so repeat until nothing is added.
  for (let before = -1; before !== moved.size; ) {
    before = moved.size;
    for (const name of layout.computed) if (readsOf(layout, name).some((read) => moved.has(read))) moved.add(name);
  }
  return layout.computed.filter((name) => moved.has(name));
}

function readsOf(layout: RowLayout, name: string): readonly string[] {
  const expr = layout.whole.columns.find((column) => column.name === name)?.computed?.expr;
  return expr === undefined ? [] : referencedColumns(expr);
}
