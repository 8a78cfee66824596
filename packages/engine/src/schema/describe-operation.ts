import { assertNever } from "@appdb/contract/assert";
import type { PlanOp } from "@appdb/contract/plan";
import { displayType } from "@appdb/contract/types";
import type { ColumnChange, Operation, PlannedIndex } from "./operations.ts";

/** An operation as `schema diff` prints it. Creating a table is told by the table's resolution and has no line of its own. */
export function describeOperation(operation: Exclude<Operation, { kind: "create_table" }>): PlanOp {
  return {
    ...describe(operation),
    severity: operation.severity,
    requires_restart: operation.kind === "rename_column",
    status: null,
    destructive: operation.severity === "destructive",
  };
}

type Described = Pick<PlanOp, "name" | "op" | "target" | "description" | "details">;

function describe(operation: Exclude<Operation, { kind: "create_table" }>): Described {
  switch (operation.kind) {
    case "drop_index":
      return {
        ...indexOp("drop", operation.index),
        description: `index ${indexLabel(operation.index)} will be dropped`,
      };
    case "add_index":
      return {
        ...indexOp("add", operation.index),
        description: `index ${indexLabel(operation.index)} will be built`,
      };
    case "drop_column":
      return {
        name: operation.column.name,
        op: "drop",
        target: "column",
        description: operation.column.primary_key
          ? `key column '${operation.column.name}' would be dropped; a table keeps its key`
          : `column '${operation.column.name}' will be dropped with all its values`,
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
        description: `the table will be renamed from '${operation.from}'; its rows, indexes and errors stay`,
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
    case "refuse_rename":
      return {
        name: operation.name ?? operation.table.name,
        op: "alter",
        target: operation.name === null ? "table" : "column",
        description: `${operation.name === null ? "the table" : `column '${operation.name}'`} cannot be renamed from '${operation.from}': ${operation.reason}`,
        details: { renamed_from: operation.from },
      };
    case "add_column":
      return describeAddColumn(operation);
    case "alter_column":
      return describeAlterColumn(operation);
    case "alter_table":
      return {
        name: operation.table.name,
        op: "alter",
        target: "table",
        description: operation.changes.includes("primary_key")
          ? `the key would change from (${operation.table.primary_key.join(", ")}) to (${operation.to.primary_key.join(", ")}); a table keeps its key`
          : `the table's ${operation.changes.join(" and ")} will be updated`,
        details: { changes: operation.changes },
      };
    default:
      return assertNever(operation);
  }
}

function describeAddColumn({ to, severity, table }: Extract<Operation, { kind: "add_column" }>): Described {
  const what = to.computed === null ? `column '${to.name}'` : `computed column '${to.name}'`;
  const refusal = to.primary_key
    ? `key column '${to.name}' would be added; a table keeps its key`
    : `column '${to.name}' is not nullable and cannot be added: table '${table.name}' has rows, which have no value for it`;
  const fills = to.computed !== null && table.has_rows !== false;
  return {
    name: to.name,
    op: "add",
    target: "column",
    description:
      severity === "unsupported" ? refusal : `${what} will be added${fills ? " and computed for every row" : ""}`,
    details: { type: displayType(to.type, to.nullable), value: to.computed?.text ?? null },
  };
}

function describeAlterColumn(operation: Extract<Operation, { kind: "alter_column" }>): Described {
  const { column, to, changes } = operation;
  return {
    name: to.name,
    op: "alter",
    target: "column",
    description: `column '${to.name}': ${changes.map((change) => describeChange(operation, change)).join("; ")}`,
    details: {
      changes,
      type: displayType(to.type, to.nullable),
      previous_type: displayType(column.type, column.nullable),
      value: to.computed?.text ?? null,
      previous_value: column.computed?.text ?? null,
    },
  };
}

function describeChange(operation: Extract<Operation, { kind: "alter_column" }>, change: ColumnChange): string {
  const { column, to, table } = operation;
  const before = displayType(column.type, column.nullable);
  const after = displayType(to.type, to.nullable);
  switch (change) {
    case "type":
      return `its type would change from ${before} to ${after}, which is not possible`;
    case "nullability":
      if (to.computed !== null) return `its type will be ${after} instead of ${before}`;
      if (to.nullable) return "null will be allowed";
      return operation.severity === "unsupported"
        ? `null would no longer be allowed, but table '${table.name}' has rows`
        : "null will no longer be allowed";
    case "primary_key":
      return to.primary_key ? "it would become part of the key" : "it would leave the key";
    case "stored_or_computed":
      return to.computed === null
        ? "it would no longer be computed"
        : "its stored values would be replaced by computed ones";
    case "value":
      return to.primary_key
        ? "its expression would change, but it is the key"
        : "its expression will change and every row will be computed again";
    case "stale":
      return "its values are partly those of its former expression; every row will be computed again";
    case "comment":
      return "its comment will be updated";
    case "custom_metadata":
      return "its custom_metadata will be updated";
    default:
      return assertNever(change);
  }
}

function indexOp(op: "add" | "drop", index: PlannedIndex): Pick<PlanOp, "name" | "op" | "target" | "details"> {
  return {
    name: index.name,
    op,
    target: "index",
    details: { index_ref: { index_type: index.kind, columns: index.columns, name: index.name } },
  };
}

function indexLabel(index: PlannedIndex): string {
  const columns = index.columns.join(", ");
  return index.name === null ? `on (${columns})` : `'${index.name}' on (${columns})`;
}
