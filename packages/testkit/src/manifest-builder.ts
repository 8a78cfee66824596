import type { Expr } from "@appdb/contract/expressions";
import type {
  Manifest,
  ManifestColumn,
  ManifestFunction,
  ManifestIndex,
  ManifestRowRoute,
  ManifestTable,
} from "@appdb/contract/manifest";
import type { TypeKind } from "@appdb/contract/types";
import { VERSION } from "@appdb/contract/version";

/** Builds short manifests for tests. Omitted parts have the values of a minimal file. */
export function aManifest(parts: Partial<Manifest> = {}): Manifest {
  return {
    manifest_version: 1,
    library_version: VERSION,
    warnings: [],
    python_version: "3.11.2",
    app_file: "app.py",
    tables: [],
    functions: [],
    queries: [],
    resource_pools: [],
    services: [],
    modules: [],
    ...parts,
  };
}

/** A table whose key consists of the marked columns, in order. */
export function aTable(
  name: string,
  columns: readonly ManifestColumn[],
  parts: Partial<ManifestTable> = {},
): ManifestTable {
  return {
    name,
    model: name.charAt(0).toUpperCase() + name.slice(1),
    comment: null,
    custom_metadata: null,
    columns: [...columns],
    primary_key: columns.filter((column) => column.primary_key).map((column) => column.name),
    indexes: [],
    has_default_idxs: false,
    renamed_from: null,
    source: { file: "app.py", line: 1 },
    ...parts,
  };
}

/** A stored column; NOT NULL by default. */
export function aColumn(name: string, kind: TypeKind, parts: Partial<ManifestColumn> = {}): ManifestColumn {
  return {
    name,
    type: { kind },
    nullable: false,
    primary_key: false,
    computed: null,
    comment: null,
    custom_metadata: null,
    renamed_from: null,
    source: { file: "app.py", line: 1 },
    ...parts,
  };
}

/** A computed column: type and nullability are the expression's. */
export function aComputed(name: string, expr: Expr, parts: Partial<ManifestColumn> = {}): ManifestColumn {
  const computed = { text: `text of ${name}`, expr };
  return aColumn(name, expr.type.kind, { nullable: expr.nullable, computed, ...parts });
}

/** The usual key: `id = Column(value=uuid7(), primary_key=True)`. */
export function aUuid7Key(name = "id"): ManifestColumn {
  return aComputed(name, call("uuid.uuid7", "uuid"), { primary_key: true });
}

export function anIndex(columns: readonly string[], name: string | null = null): ManifestIndex {
  return { kind: "btree", name, columns: [...columns], source: { file: "app.py", line: 1 } };
}

/** A route at the table's name; by default it stores a row. */
export function aRowRoute(
  table: string,
  inputs: readonly string[],
  outputs: readonly string[],
  parts: Partial<ManifestRowRoute> = {},
): ManifestRowRoute {
  return {
    kind: "insert",
    method: "post",
    path: `/${table}`,
    table,
    inputs: [...inputs],
    outputs: [...outputs],
    on_error: "abort",
    handler: null,
    source: { file: "app.py", line: 9 },
    ...parts,
  };
}

/** A function with the id `module:name`. */
export function aFunction(id: string, kind: TypeKind, parts: Partial<ManifestFunction> = {}): ManifestFunction {
  const [module = "", name = ""] = id.split(":");
  return {
    id,
    module,
    name,
    parameters: [],
    result: { type: { kind }, nullable: false },
    digest: "0".repeat(64),
    uses: [],
    kind: "scalar",
    overload: 0,
    is_async: false,
    batch_size: null,
    timeout_s: null,
    resource_pool: null,
    source: { file: `${module}.py`, line: 1 },
    ...parts,
  };
}

/** Reads a column of the same row. */
export function col(name: string, kind: TypeKind, nullable = false): Expr {
  return { node: "column", name, type: { kind }, nullable };
}

export function lit(value: string | number | boolean | null, kind: TypeKind): Expr {
  return { node: "literal", value, type: { kind }, nullable: value === null };
}

/** Calls a builtin or an operator; null when an argument is null. */
export function call(fn: string, kind: TypeKind, ...args: Expr[]): Expr {
  return { node: "call", fn, args, kwargs: {}, type: { kind }, nullable: args.some((arg) => arg.nullable) };
}

/** Calls a function of the application. */
export function udf(id: string, kind: TypeKind, ...args: Expr[]): Expr {
  const nullable = args.some((arg) => arg.nullable);
  return { node: "udf", function: id, args, kwargs: {}, type: { kind }, nullable };
}
