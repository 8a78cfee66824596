import * as z from "zod";
import { engineMember } from "./engine-member.ts";
import { exprSchema, generatorOf, VECTOR_METRICS } from "./expressions.ts";
import { onErrorSchema } from "./jobs.ts";
import { checkNames } from "./manifest-names.ts";
import { querySchema } from "./query.ts";
import { resourcePoolSchema } from "./resource-pool.ts";
import { commentText, expressionText, metadata, nameText } from "./text-lengths.ts";
import { columnTypeSchema, MAX_DIMENSIONS, VECTOR_PRECISIONS } from "./types.ts";
import { MAX_NAMES, madeRowsSchema, rowsOfSchema, viewSchema } from "./views.ts";

/** Maximum number of tables, routes, functions and other declarations, per kind. They are searched within each
 *  other. */
export const MAX_DECLARED = 10_000;

/**
 * The manifest: everything that the engine knows of an application. `python -m appdb.manifest app.py` writes it;
 * another language could too. Paths are relative to the project root. Unordered lists are sorted by name (tables,
 * functions, queries, pools, services, modules); columns and routes keep their declared order.
 */
export const MANIFEST_VERSION = 1;

export const HANDLER_METHODS = ["get", "post", "put", "patch", "delete"] as const;

/** The source position of a declaration: file relative to the project root, 1-based line. */
export const sourceSchema = z.strictObject({ file: nameText, line: z.int().min(1) });

/** The value of a stored column that a request omits: a constant, or a generator's value for the row. */
const defaultSchema = z
  .strictObject({ text: expressionText, expr: exprSchema })
  .refine(
    ({ expr }) => (expr.node === "literal" && expr.value !== null) || generatorOf(expr) !== undefined,
    "is neither a constant nor a generator",
  );

export const columnSchema = z.strictObject({
  name: nameText,
  type: columnTypeSchema,
  nullable: z.boolean(),
  primary_key: z.boolean(),
  /** `text` is the canonical printed form (`upper(title)`), for plans; `expr` is executed. Null for a stored column. */
  computed: z.strictObject({ text: expressionText, expr: exprSchema }).nullable(),
  /** For a stored column; absent for none. */
  default: defaultSchema.nullable().optional(),
  comment: commentText.nullable(),
  custom_metadata: metadata,
  /** The column's previous name; an update renames it and keeps its values. */
  renamed_from: nameText.nullable().default(null),
  /** Hidden from users: it holds the vectors of an embedding index, and its name begins with an underscore. */
  is_hidden: z.boolean().optional(),
  /** The view whose column it is, when a table has the columns of its views (lower-views.ts). */
  view: engineMember(z.string()),
  source: sourceSchema,
});

const btreeIndexSchema = z.strictObject({
  kind: z.literal("btree"),
  name: nameText.nullable(),
  /** Of a view: its name in the table before the view was renamed (lower-views.ts). */
  renamed_from: engineMember(z.string()),
  columns: z.array(nameText).max(MAX_NAMES).min(1),
  source: sourceSchema,
});

/** A pgvector index (HNSW) that finds the rows with the nearest vectors. */
const embeddingIndexSchema = z
  .strictObject({
    kind: z.literal("embedding"),
    name: nameText.nullable(),
    renamed_from: engineMember(z.string()),
    columns: z.array(nameText).length(1),
    /** The hidden column with the vectors; null when the indexed array column itself holds them. */
    values: nameText.nullable(),
    metric: z.enum(VECTOR_METRICS),
    precision: z.enum(VECTOR_PRECISIONS),
    dimensions: z.int().min(1),
    /** Makes vectors of values of other kinds than the column's, by kind; over a parameter. Absent for none. */
    embeds: z.record(z.string(), exprSchema).optional(),
    source: sourceSchema,
  })
  .refine(
    ({ precision, dimensions }) => dimensions <= MAX_DIMENSIONS[precision],
    "has more dimensions than its precision can index",
  );

export const indexSchema = z.discriminatedUnion("kind", [btreeIndexSchema, embeddingIndexSchema]);

export const tableSchema = z
  .strictObject({
    name: nameText,
    /** Python class name, for messages. */
    model: nameText,
    comment: commentText.nullable(),
    custom_metadata: metadata,
    /** Of a view: its own columns, all of them computed. */
    columns: z.array(columnSchema).max(MAX_NAMES),
    view: viewSchema.optional(),
    /** Of the table with the rows of an iterator view (lower-views.ts): the table of its base, the column of that table
     *  that makes the rows, and the call for people. */
    rows_of: engineMember(rowsOfSchema),
    /** Computed columns without values in the table. What reads one has its expression in its place. */
    unstored: z.array(columnSchema).max(MAX_NAMES).optional(),
    /** Column names in declared order; empty when the table has no key. */
    primary_key: z.array(nameText).max(MAX_NAMES),
    indexes: z.array(indexSchema).max(MAX_NAMES),
    has_default_idxs: z.boolean(),
    /** The table's previous name. */
    renamed_from: nameText.nullable().default(null),
    source: sourceSchema,
  })
  .refine(({ columns, view }) => view !== undefined || columns.length > 0, "has no column")
  .superRefine(checkNames);

export const parameterSchema = z.strictObject({
  name: nameText,
  type: columnTypeSchema,
  nullable: z.boolean(),
  kind: z.enum(["positional", "keyword_only"]),
  /** In a function with `batch_size`: the argument is a list with a value for each row. */
  is_batched: z.boolean().default(false),
  /** A literal as in an expression's `literal.value`; absent when the parameter has no default. */
  default: z.union([z.string(), z.number(), z.boolean(), z.null()]).optional(),
});

export const functionSchema = z.strictObject({
  /** `<module>:<name>`, for example `udfs:fare`; the module path is relative to the project root. */
  id: nameText,
  module: nameText,
  name: nameText,
  parameters: z.array(parameterSchema).max(MAX_NAMES),
  result: z.strictObject({ type: columnTypeSchema, nullable: z.boolean() }),
  /** sha256 hex of the function's source text, with the functions and constants of its module that it uses. */
  digest: z.string(),
  /** Paths of the project's modules (as in `modules`) whose code the function may use: its own and its imports. */
  uses: z.array(nameText).max(MAX_NAMES).default([]),
  kind: z.enum(["scalar", "aggregate", "iterator"]).default("scalar"),
  /** The index of this overload. The id of the first has no suffix; the others' end in `#1`, `#2` ... */
  overload: z.int().min(0).default(0),
  is_async: z.boolean().default(false),
  /** Rows per call; null: one row. Parameters with `is_batched` then get lists. */
  batch_size: z.int().min(1).nullable().default(null),
  /** Time limit of one call in seconds; null: the workers' own limit. */
  timeout_s: z.number().positive().nullable().default(null),
  /** Name of the resource pool that limits its calls. */
  resource_pool: nameText.nullable().default(null),
  source: sourceSchema,
});

/** A function marked `@query`: its body ran once, with placeholders for its parameters. */
export const namedQuerySchema = z.strictObject({
  /** `<module>:<name>`, as for functions. */
  id: nameText,
  module: nameText,
  name: nameText,
  comment: commentText.nullable(),
  parameters: z.array(parameterSchema).max(MAX_NAMES),
  /** The result is a list of the only selected value, not of objects. */
  return_scalar: z.boolean(),
  query: querySchema,
  source: sourceSchema,
});

/** An application function that gets the outputs of a route by name and returns the response. */
const answererSchema = z.strictObject({
  /** `<module>:<name>`. */
  id: nameText,
  module: nameText,
  name: nameText,
  /** The outputs that it takes. */
  parameters: z.array(nameText).max(MAX_NAMES),
  /** A JSON Schema of its result; null when it is not declared. */
  response: z.record(z.string(), z.unknown()).nullable(),
});

/** A table of another PostgreSQL database to which the outputs of stored rows are also written. */
const sqlExportSchema = z.strictObject({
  /** A variable of the service's environment that holds a URL, or the URL, which may hold a password. */
  db_connect: z.union([z.strictObject({ env: z.string() }), z.strictObject({ url: z.string() })]),
  table: z.string(),
  /** Null: the first schema on the target's search path that has the table. */
  db_schema: z.string().nullable(),
  /** `update` and `merge` find the row by the target's primary key. */
  method: z.enum(["insert", "update", "merge"]),
});

/** A route that answers at once with a job, which runs the route later. */
const backgroundSchema = z.strictObject({
  /** How often a job may fail before it is given up. */
  attempts: z.int().min(1),
  /** How long its result is available after its end, in seconds. */
  expires_s: z.int().min(1),
});

/** A longer path is a mistake, and routing matches patterns against it. */
const routePath = z.string().max(2_000);

/** For every route that the engine answers: it can run in the background. */
const answeredByEngine = {
  /** Null: the response is the route's result. */
  background: backgroundSchema.nullable().optional(),
  source: sourceSchema,
};

const overTable = {
  method: z.enum(["post"]),
  /** Starts with `/`, without the service's prefix. */
  path: routePath,
  table: z.string(),
};

/** Media columns or parameters among `inputs` whose files come as parts of a form (multipart/form-data). */
const uploads = z.array(z.string()).max(MAX_NAMES).optional();

/** True: the response is the file of the only media output. */
const fileResponse = z.boolean().optional();

/** For routes that take values of a row and return values of it. */
const overRow = {
  inputs: z.array(z.string()).max(MAX_NAMES),
  outputs: z.array(z.string()).max(MAX_NAMES),
  /** The effect of a failed computed column on a stored row: the row is refused, or the cell is null with its error. */
  on_error: onErrorSchema.default("abort"),
  handler: answererSchema.nullable().default(null),
  export_sql: sqlExportSchema.nullable().optional(),
  file_response: fileResponse,
  uploads,
};

/** Input: a row. Output: values of the stored row. */
const insertRouteSchema = z.strictObject({
  kind: z.literal("insert"),
  ...overTable,
  ...overRow,
  ...answeredByEngine,
});

/** Input: a row. Output: values of it. Stores nothing. */
const computeRouteSchema = z.strictObject({
  kind: z.literal("compute"),
  /** Over a view, when `table` is the view's table (lower-views.ts): which column says whether the row is one of the view,
   *  and the names of outputs in responses. `made`: an iterator view, whose rows are the response. */
  of_view: engineMember(
    z.strictObject({
      name: nameText,
      member: z.string().nullable(),
      names: z.record(z.string(), z.string()),
      made: madeRowsSchema.optional(),
    }),
  ),
  /** Also takes many rows in one request, each with the columns that the outputs need. */
  many_rows: engineMember(z.literal(true)),
  ...overTable,
  ...overRow,
  ...answeredByEngine,
});

/** Input: a key and values. Output: values of the updated row. Omitted fields keep their values. */
const updateRouteSchema = z.strictObject({
  kind: z.literal("update"),
  ...overTable,
  /** The table's primary key, which every request contains. */
  key: z.array(z.string()).max(MAX_NAMES).min(1),
  ...overRow,
  inputs: z.array(z.string()).max(MAX_NAMES).min(1),
  ...answeredByEngine,
});

/** Input: values. Deletes all matching rows and returns their number. */
const deleteRouteSchema = z.strictObject({
  kind: z.literal("delete"),
  ...overTable,
  match_columns: z.array(z.string()).max(MAX_NAMES).min(1),
  ...answeredByEngine,
});

/** Input: parameter values in the body or URL. Output: the rows of a query. */
const queryRouteSchema = z.strictObject({
  kind: z.literal("query"),
  method: z.enum(["post", "get"]),
  path: routePath,
  /** Id of a query of the manifest. */
  query: z.string(),
  /** Names of the parameters that a request can set; the others have their defaults. */
  inputs: z.array(z.string()).max(MAX_NAMES),
  /** The response is the only row itself; no row and several rows are errors. */
  one_row: z.boolean(),
  uploads,
  /** True: the response is the file of the only selected value of the only row. */
  file_response: fileResponse,
  ...answeredByEngine,
});

/** An application function that answers requests itself. */
const handlerRouteSchema = z.strictObject({
  kind: z.literal("handler"),
  method: z.enum(HANDLER_METHODS),
  /** Can contain `{name}`. */
  path: routePath,
  handler: z.strictObject({ id: nameText, module: nameText, name: nameText }),
  /** Its operation object, as in OpenAPI 3.1, without `operationId`; null: hidden. */
  openapi: z.record(z.string(), z.unknown()).nullable(),
  /** Time limit for the start of its response, in seconds; null: the workers' own limit. */
  timeout_s: z.number().positive().nullable().default(null),
  source: sourceSchema,
});

/** The kinds of routes. The engine's part of each is `packages/engine/src/route-kinds/<kind>.ts`. */
const routeSchema = z.discriminatedUnion("kind", [
  insertRouteSchema,
  computeRouteSchema,
  updateRouteSchema,
  deleteRouteSchema,
  queryRouteSchema,
  handlerRouteSchema,
]);

/** A route that computes rows and stores nothing. */
export function isComputeRoute(route: ManifestRoute): route is ManifestComputeRoute {
  return route.kind === "compute";
}

/** The names of the kinds. */
export const routeKindSchema = z.enum(routeSchema.options.map(({ shape }) => shape.kind.value));

/** An ASGI application of the user. It answers all requests of its service, except for the service's own pages. */
const applicationSchema = z.strictObject({
  /** `<module>:<name>`. */
  id: nameText,
  module: nameText,
  name: nameText,
  /** Its ids for the service's routes, one for each in order. The routes are only reachable through it. */
  routes: z.array(z.string()).max(MAX_DECLARED),
  /** Its own OpenAPI document; null: none. */
  openapi: z.record(z.string(), z.unknown()).nullable(),
});

/** The origins that browsers allow to call a service. */
const corsSchema = z.strictObject({
  /** `https://app.example`, or `*`. */
  origins: z.array(z.string()).max(MAX_NAMES).min(1),
  /** Null: those of the path. */
  methods: z.array(z.string()).max(MAX_NAMES).nullable(),
  /** Null: the headers that services support. */
  headers: z.array(z.string()).max(MAX_NAMES).nullable(),
  credentials: z.boolean(),
  max_age_s: z.int().min(0),
});

export const serviceSchema = z.strictObject({
  name: nameText,
  /** Empty, or starts with `/` and does not end with one. */
  prefix: routePath,
  routes: z.array(routeSchema).max(MAX_DECLARED),
  app: applicationSchema.nullable().optional(),
  /** For all its operations, in OpenAPI. */
  tags: z.array(z.string()).max(MAX_NAMES).optional(),
  /** Null: only pages from this machine. */
  cors: corsSchema.nullable().optional(),
  source: sourceSchema,
});

export const manifestSchema = z.strictObject({
  manifest_version: z.literal(MANIFEST_VERSION),
  library_version: z.string(),
  python_version: z.string(),
  app_file: z.string(),
  tables: z.array(tableSchema).max(MAX_DECLARED),
  functions: z.array(functionSchema).max(MAX_DECLARED),
  queries: z.array(namedQuerySchema).max(MAX_DECLARED).default([]),
  resource_pools: z.array(resourcePoolSchema).max(MAX_DECLARED).default([]),
  services: z.array(serviceSchema).max(MAX_DECLARED),
  /** Files below the project root that the application's import read, with the sha256 hex of their bytes. */
  modules: z.array(z.strictObject({ path: z.string(), sha256: z.string() })),
  /** Warnings about valid but surprising code, as sentences: for example project modules that others shadow. */
  warnings: z.array(z.string()).max(MAX_DECLARED).default([]),
});

export type Source = z.infer<typeof sourceSchema>;
export type ManifestColumn = z.infer<typeof columnSchema>;
export type ManifestIndex = z.infer<typeof indexSchema>;
export type ManifestTable = z.infer<typeof tableSchema>;
export type ManifestFunction = z.infer<typeof functionSchema>;
export type ManifestQuery = z.infer<typeof namedQuerySchema>;
export type ManifestParameter = z.infer<typeof parameterSchema>;
export type ManifestRoute = z.infer<typeof routeSchema>;
export type ManifestAnswerer = z.infer<typeof answererSchema>;
export type ManifestSqlExport = z.infer<typeof sqlExportSchema>;
export type ManifestInsertRoute = z.infer<typeof insertRouteSchema>;
export type ManifestComputeRoute = z.infer<typeof computeRouteSchema>;
export type ManifestRowRoute = ManifestInsertRoute | ManifestComputeRoute;
export type ManifestUpdateRoute = z.infer<typeof updateRouteSchema>;
export type ManifestDeleteRoute = z.infer<typeof deleteRouteSchema>;
export type ManifestQueryRoute = z.infer<typeof queryRouteSchema>;
export type ManifestHandlerRoute = z.infer<typeof handlerRouteSchema>;
export type ManifestCors = z.infer<typeof corsSchema>;
export type ManifestBackground = z.infer<typeof backgroundSchema>;
export type ManifestService = z.infer<typeof serviceSchema>;
export type Manifest = z.infer<typeof manifestSchema>;
