import { assertNever } from "@appdb/contract/assert";
import type { Expr } from "@appdb/contract/expressions";
import type { ManifestColumn } from "@appdb/contract/manifest";
import type { PlanOp } from "@appdb/contract/plan";
import { type ColumnType, displayType } from "@appdb/contract/types";
import { changedQueries } from "../bound-queries/column-queries.ts";
import type { CatalogColumn } from "../catalog/catalog.ts";
import { isSameExpr, isSameType } from "../catalog/compare.ts";
import { guardOf } from "../catalog/guards.ts";
import type { ColumnChange, SchemaOperation } from "../catalog/operations.ts";
import { udfsOf } from "../expressions/needs-python.ts";
import { mapParts } from "../expressions/tree.ts";
import { isMedia } from "../kinds/media.ts";
import { factKey, type NarrowingViolation, type PlanFacts } from "./facts.ts";

type AlterColumn = Extract<SchemaOperation, { kind: "alter_column" }>;

/** Advice for another key. */
export const NEW_KEY = "Declare a second model with that key under another name= and insert the rows there";

/** Advice for another type. */
function newColumn(from: ColumnType, to: ColumnType): string {
  const way =
    isMedia(to.kind) && !isMedia(from.kind) ? "through a route" : "(as a computed column, or through a route)";
  return `Declare a column of the new type under another name, fill it ${way}, and drop this one in a later update`;
}

/** A changed column in the output of `schema diff`. */
export function describeAlterColumn(
  operation: AlterColumn,
  facts: PlanFacts,
): Pick<PlanOp, "name" | "op" | "target" | "description" | "details"> {
  const { column, to, changes, table } = operation;
  const key = factKey(table, to.name);
  const misfits = facts.misfits.get(key);
  const recompute = facts.recomputes.get(key);
  const descriptions = changes.map((change) => describeChange(operation, change));
  const refusal = misfits === undefined ? [] : [`but ${misfits.map(describeMisfit).join("; and ")}`];
  return {
    name: to.name,
    op: "alter",
    target: "column",
    description: `column '${to.name}': ${[...descriptions, ...refusal].join("; ")}`,
    details: {
      changes,
      type: displayType(to.type, to.nullable),
      previous_type: displayType(column.type, column.nullable),
      value: to.computed?.text ?? null,
      previous_value: column.computed?.text ?? null,
      ...(changes.includes("default")
        ? { default: to.default?.text ?? null, previous_default: column.default?.text ?? null }
        : {}),
      ...(misfits === undefined ? {} : { misfits }),
      ...(recompute === undefined ? {} : { recompute }),
    },
  };
}

function describeMisfit({ rows, reason, examples }: NarrowingViolation): string {
  const count = `${rows.toLocaleString("en")} ${rows === 1 ? "row does" : "rows do"} not fit`;
  const shown = examples.map(({ key, value }) => {
    const where = Object.entries(key).map(([name, part]) => `${name} = ${JSON.stringify(part)}`);
    return value === null ? where.join(", ") : `${where.join(", ")} has ${JSON.stringify(value)}`;
  });
  return `${count}: ${reason} (${shown.join("; ")}${rows > examples.length ? "; ..." : ""})`;
}

function describeChange(operation: AlterColumn, change: ColumnChange): string {
  const { column, to } = operation;
  const isRefused = operation.severity === "unsupported";
  const before = displayType(column.type, column.nullable);
  const after = displayType(to.type, to.nullable);
  switch (change) {
    case "type":
      return describeType(operation, before, after);
    case "media_validation":
      return `new files will be checked when they are ${to.type.validation === "on_read" ? "read" : "written"}; stored ones stay`;
    case "nullability":
      if (to.computed !== null) return `its type will be ${after} instead of ${before}`;
      if (to.nullable) return "null will be allowed";
      return isRefused ? "null would no longer be allowed" : "null will no longer be allowed";
    case "primary_key":
      return `${to.primary_key ? "it would become part of the key" : "it would leave the key"}, but a key cannot change. ${NEW_KEY}`;
    case "stored_or_computed":
      if (to.computed === null) return "it will no longer be computed; its values stay";
      return "its stored values would be replaced by computed ones. Declare the computed column under another name, and drop this one if its values are not needed";
    case "value":
      return to.primary_key
        ? "its expression would change, but it is the key, by which rows are found"
        : describeValue(operation);
    case "stale":
      return "some of its values come from its previous expression; every row will be recomputed";
    case "code":
      return "the code of its functions has changed; every row will be recomputed";
    case "default":
      return `its default will change from ${column.default?.text ?? "none"} to ${to.default?.text ?? "none"}; stored values stay`;
    case "comment":
      return "its comment will be updated";
    case "custom_metadata":
      return "its custom_metadata will be updated";
    default:
      return assertNever(change);
  }
}

function describeValue({ column, to }: AlterColumn): string {
  const [before, after] = [column.computed, to.computed];
  if (before !== null && after !== null && hasOtherCondition(before.expr, after.expr)) {
    return "it will be computed for the rows that enter the view";
  }
  return `${describeExpression(before, after)} and every row will be recomputed`;
}

/** Whether only the condition of a view's column differs. */
function hasOtherCondition(before: Expr, after: Expr): boolean {
  const [was, is] = [guardOf(before), guardOf(after)];
  return was.member !== null && is.member !== null && isSameExpr(was.value, is.value) && !isSameExpr(before, after);
}

function describeExpression(before: CatalogColumn["computed"], after: ManifestColumn["computed"]): string {
  if (before === null || after === null) return "its expression will change";
  if (!isSameExpr(before.expr, after.expr)) {
    return describeMove(before.expr, after.expr) ?? "its expression will change";
  }
  const names = changedQueries(before, after);
  return `the ${names.length === 1 ? "query" : "queries"} ${names.join(", ")} that it uses will change`;
}

/** Functions that are the same but for their modules, which are part of their names. */
function describeMove(before: Expr, after: Expr): string | undefined {
  if (!isSameExpr(withoutModules(before), withoutModules(after))) return undefined;
  const [from, to] = [before, after].map((expr) => [...new Set(udfsOf(expr).map(moduleOf))].sort().join(", "));
  return `its functions moved from the module ${from} to ${to}`;
}

function withoutModules(expr: Expr): Expr {
  const inner = mapParts(expr, withoutModules);
  return inner.node === "udf" ? { ...inner, function: inner.function.slice(moduleOf(inner.function).length) } : inner;
}

function moduleOf(id: string): string {
  return id.slice(0, id.indexOf(":"));
}

function describeType(
  { severity, using, is_remade: isRemade, column, to }: AlterColumn,
  before: string,
  after: string,
): string {
  if (
    before === after &&
    isSameType({ ...column.type, destination: undefined }, { ...to.type, destination: undefined })
  ) {
    return `new files will go to ${to.type.destination ?? "the store of the database"}; stored ones stay`;
  }
  if (severity === "unsupported") {
    const isOther = using === null && to.computed === null;
    return `its type would change from ${before} to ${after}${isOther ? `, which is not possible. ${newColumn(column.type, to.type)}` : ""}`;
  }
  const turned = `its type will change from ${before} to ${after}`;
  if (using !== null) return `${turned} and its values be converted; requests wait while the table is rewritten`;
  return isRemade ? `${turned}; its new values are shown when all are computed` : turned;
}
