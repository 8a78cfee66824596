import { assertNever } from "@appdb/contract/assert";
import type { PlanOp } from "@appdb/contract/plan";
import { displayType } from "@appdb/contract/types";
import type { PlannedIndex, SchemaOperation } from "../catalog/operations.ts";
import { isMedia } from "../kinds/media.ts";
import { describeAlterColumn, NEW_KEY } from "./describe-alter.ts";
import { factKey, type PlanFacts } from "./facts.ts";

/** An operation in the output of `schema diff`. The table's resolution reports its creation, which has no line of
 *  its own. */
export function describeOperation(
  operation: Exclude<SchemaOperation, { kind: "create_table" }>,
  facts: PlanFacts,
): PlanOp {
  return {
    ...describe(operation, facts),
    severity: operation.severity,
    requires_restart: operation.kind === "rename_column",
    status: null,
    destructive: operation.severity === "destructive",
  };
}

type Described = Pick<PlanOp, "name" | "op" | "target" | "description" | "details">;

function describe(operation: Exclude<SchemaOperation, { kind: "create_table" }>, facts: PlanFacts): Described {
  switch (operation.kind) {
    case "drop_index":
      return {
        ...indexOp("drop", operation.index),
        description:
          operation.severity === "additive"
            ? `the new ${indexLabel(operation.index)} will not be built; the previous one stays`
            : `${indexLabel(operation.index)} will be dropped`,
      };
    case "add_index":
      return {
        ...indexOp("add", operation.index),
        description: `${indexLabel(operation.index)} will be built`,
      };
    case "replace_index":
      return {
        ...indexOp("alter", operation.to),
        description: `${indexLabel(operation.to)} will be rebuilt because its ${changesOf(operation).join(" and ")} changed; until then the previous one is used`,
      };
    case "alter_index":
      return {
        ...indexOp("alter", operation.to),
        description: `${indexLabel(operation.to)} will use other functions for the values that queries give`,
      };
    case "drop_column":
      return {
        name: operation.column.name,
        op: "drop",
        target: "column",
        description: describeDrop(operation),
        details: {
          type: displayType(operation.column.type, operation.column.nullable),
          value: operation.column.computed?.text ?? null,
        },
      };
    case "rename_table":
      return {
        name: operation.table.name,
        op: "alter",
        target: "table",
        description: `the ${operation.table.rows_of == null ? "table" : "view"} will be renamed from '${operation.from}'; its rows, indexes and errors stay`,
        details: { renamed_from: operation.from },
      };
    case "rename_column":
      return {
        name: operation.column.name,
        op: "alter",
        target: "column",
        description: `column '${operation.column.name}' will be renamed from '${operation.from}'; its values, indexes and errors stay`,
        details: { renamed_from: operation.from, type: displayType(operation.column.type, operation.column.nullable) },
      };
    case "rename_index":
      return {
        ...indexOp("alter", operation.index),
        description: `${indexLabel(operation.index)} will be renamed from '${operation.from}'`,
      };
    case "refuse_rename":
      return {
        name: operation.name ?? operation.table.name,
        op: "alter",
        target: operation.name === null ? "table" : "column",
        description: `${operation.name === null ? "the table" : `column '${operation.name}'`} cannot be renamed from '${operation.from}': ${operation.reason}`,
        details: { renamed_from: operation.from },
      };
    case "add_column":
      return describeAddColumn(operation, facts);
    case "alter_column":
      return describeAlterColumn(operation, facts);
    case "alter_table":
      return {
        name: operation.table.name,
        op: "alter",
        target: "table",
        description: operation.changes.includes("primary_key")
          ? `the key would change from ${keyText(operation.table)} to ${keyText(operation.to)}, but a key cannot change. ${NEW_KEY}`
          : `the ${operation.table.rows_of == null ? "table" : "view"}'s ${operation.changes.join(" and ")} will be updated`,
        details: { changes: operation.changes },
      };
    default:
      return assertNever(operation);
  }
}

function describeDrop({
  column: { name, primary_key: isKey },
  becomes_unstored: isUnstored,
  read_by: readers = [],
  is_read_until_filled: isUntilFilled = false,
}: Extract<SchemaOperation, { kind: "drop_column" }>): string {
  if (isKey) return `key column '${name}' would be dropped, but a key cannot change. ${NEW_KEY}`;
  if (readers.length > 0) {
    const reading = `${readers.join(" and ")} ${readers.length === 1 ? "reads" : "read"} it`;
    if (isUntilFilled) {
      return `column '${name}' cannot be dropped in this update: ${reading} until the update's job has ended. Declare the column again, update, and drop it in the next update`;
    }
    return `column '${name}' cannot be dropped: ${reading}. Declare the view without it, or drop the view first with cli schema prune`;
  }
  if (!isUnstored) return `column '${name}' will be dropped with all its values`;
  return `column '${name}' will no longer be stored: its values are dropped, and computed whenever they are read`;
}

function keyText(table: { readonly primary_key: readonly string[] }): string {
  return table.primary_key.length === 0 ? "none" : `(${table.primary_key.join(", ")})`;
}

function describeAddColumn(operation: Extract<SchemaOperation, { kind: "add_column" }>, facts: PlanFacts): Described {
  const { to, severity, table } = operation;
  const what = to.computed === null ? `column '${to.name}'` : `computed column '${to.name}'`;
  const fills = to.computed !== null && table.has_rows !== false;
  const defaultClause = to.default == null ? "" : ` with the default ${to.default.text}`;
  const gets = defaultClause !== "" && table.has_rows !== false ? ", which every row gets" : "";
  const added = `${what} will be added${defaultClause}${gets}${fills ? " and computed for every row" : ""}`;
  const recompute = facts.recomputes.get(factKey(table, to.name));
  return {
    name: to.name,
    op: "add",
    target: "column",
    description: severity === "unsupported" ? addColumnRefusal(operation, facts) : added,
    details: {
      type: displayType(to.type, to.nullable),
      value: to.computed?.text ?? null,
      ...(to.default == null ? {} : { default: to.default.text }),
      ...(recompute === undefined ? {} : { recompute }),
    },
  };
}

function addColumnRefusal({ to, table }: Extract<SchemaOperation, { kind: "add_column" }>, facts: PlanFacts): string {
  if (to.primary_key) return `key column '${to.name}' would be added, but a key cannot change. ${NEW_KEY}`;
  const count = facts.rows.get(table.id);
  const rows = count === undefined ? "rows" : `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}`;
  const type = displayType(to.type, true);
  return (
    `column '${to.name}' is not nullable and cannot be added: table '${table.name}' has ${rows} without a value for it. ` +
    `${isMedia(to.type.kind) ? "Declare" : "Give it a default (db.Column(type=..., default=...)), or declare"} it as ${type}, give every row a value, and remove "| None" in a later update`
  );
}

function indexOp(
  op: "add" | "drop" | "alter",
  index: PlannedIndex,
): Pick<PlanOp, "name" | "op" | "target" | "details"> {
  const { values: _values, embeds: _embeds, ...options } = index.embedding ?? { values: null };
  return {
    name: index.name,
    op,
    target: "index",
    details: { index_ref: { index_type: index.kind, columns: index.columns, name: index.name, ...options } },
  };
}

/** Another function, or the same one with changed code, makes other vectors. */
function changesOf({ index, to }: Extract<SchemaOperation, { kind: "replace_index" }>): string[] {
  const [before, after] = [index.embedding, to.embedding];
  const changed: string[] = [];
  if (before?.metric !== after?.metric) changed.push("metric");
  if (before?.precision !== after?.precision) changed.push("precision");
  if (before?.dimensions !== after?.dimensions) changed.push("dimensions");
  const isSameType = before?.precision === after?.precision && before?.dimensions === after?.dimensions;
  if (isSameType && before?.values !== after?.values) changed.push("embedding function");
  return changed;
}

function indexLabel(index: PlannedIndex): string {
  const columns = index.columns.join(", ");
  const what = index.kind === "embedding" ? "embedding index" : "index";
  return index.name === null ? `${what} on (${columns})` : `${what} '${index.name}' on (${columns})`;
}
