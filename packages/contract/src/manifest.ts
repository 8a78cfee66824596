import * as z from "zod";
import { exprSchema, generatorOf, VECTOR_METRICS } from "./expressions.ts";
import { onErrorSchema } from "./jobs.ts";
import { querySchema } from "./query.ts";
import { columnTypeSchema, MAX_DIMENSIONS, VECTOR_PRECISIONS } from "./types.ts";

/** Tables, routes, functions and what else a manifest declares, of each kind. They are looked for in each other. */
export const MAX_DECLARED = 10_000;
/** Columns and parameters of one of them; PostgreSQL has no table of more columns. */
export const MAX_NAMES = 2_000;

/**
 * The manifest: all that the engine knows of an application. `python -m appdb.manifest app.py` writes it, a second
 * language could. Paths are relative to the project root; lists whose order means nothing are sorted by name
 * (tables, functions, queries, pools, services, modules); columns and routes keep their declared order.
 */
export const MANIFEST_VERSION = 1;

export const HANDLER_METHODS = ["get", "post", "put", "patch", "delete"] as const;

/** Where something was written: file relative to the project root, 1-based line. */
export const sourceSchema = z.strictObject({ file: z.string(), line: z.int().min(1) });

/** What a stored column gets where a request does not name it: a constant, or what a generator makes for the row. */
const defaultSchema = z
  .strictObject({ text: z.string(), expr: exprSchema })
  .refine(
    ({ expr }) => (expr.node === "literal" && expr.value !== null) || generatorOf(expr) !== undefined,
    "is neither a constant nor a generator",
  );

export const columnSchema = z.strictObject({
  name: z.string(),
  type: columnTypeSchema,
  nullable: z.boolean(),
  primary_key: z.boolean(),
  /** `text` is the canonical printed form (`upper(title)`), for plans; `expr` is what runs. Null for a stored column. */
  computed: z.strictObject({ text: z.string(), expr: exprSchema }).nullable(),
  /** Of a stored column; absent for none. */
  default: defaultSchema.nullable().optional(),
  comment: z.string().nullable(),
  custom_metadata: z.unknown(),
  /** The name that the column had; an update then renames it and keeps its values. */
  renamed_from: z.string().nullable().default(null),
  /** Nobody's to read: it holds the vectors of an embedding index, and is called by an underscore first. */
  is_hidden: z.boolean().optional(),
  source: sourceSchema,
});

const btreeIndexSchema = z.strictObject({
  kind: z.literal("btree"),
  name: z.string().nullable(),
  columns: z.array(z.string()).max(MAX_NAMES).min(1),
  source: sourceSchema,
});

/** An index of pgvector (HNSW) that finds the rows whose vectors are nearest. */
const embeddingIndexSchema = z
  .strictObject({
    kind: z.literal("embedding"),
    name: z.string().nullable(),
    columns: z.array(z.string()).length(1),
    /** The hidden column that holds the vectors; null when they are the values of the column itself, an array. */
    values: z.string().nullable(),
    metric: z.enum(VECTOR_METRICS),
    precision: z.enum(VECTOR_PRECISIONS),
    dimensions: z.int().min(1),
    source: sourceSchema,
  })
  .refine(
    ({ precision, dimensions }) => dimensions <= MAX_DIMENSIONS[precision],
    "has more dimensions than its precision can index",
  );

export const indexSchema = z.discriminatedUnion("kind", [btreeIndexSchema, embeddingIndexSchema]);

export const tableSchema = z.strictObject({
  name: z.string(),
  /** Python class name, for messages. */
  model: z.string(),
  comment: z.string().nullable(),
  custom_metadata: z.unknown(),
  columns: z.array(columnSchema).max(MAX_NAMES).min(1),
  /** Column names in declared order; empty when the table has no key. */
  primary_key: z.array(z.string()).max(MAX_NAMES),
  indexes: z.array(indexSchema).max(MAX_NAMES),
  has_default_idxs: z.boolean(),
  /** The name that the table had. */
  renamed_from: z.string().nullable().default(null),
  source: sourceSchema,
});

export const parameterSchema = z.strictObject({
  name: z.string(),
  type: columnTypeSchema,
  nullable: z.boolean(),
  kind: z.enum(["positional", "keyword_only"]),
  /** In a function with `batch_size`: the argument is a list with a value for each row. */
  is_batched: z.boolean().default(false),
  /** A literal as in an expression's `literal.value`; absent when the parameter has no default. */
  default: z.union([z.string(), z.number(), z.boolean(), z.null()]).optional(),
});

export const functionSchema = z.strictObject({
  /** `<module>:<name>`, for example `udfs:fare`; the module path is from the project root. */
  id: z.string(),
  module: z.string(),
  name: z.string(),
  parameters: z.array(parameterSchema).max(MAX_NAMES),
  result: z.strictObject({ type: columnTypeSchema, nullable: z.boolean() }),
  /** sha256 hex of the function's source text, with what it calls of its own module and the constants that it names there. */
  digest: z.string(),
  /** Paths of the project's modules (as in `modules`) whose code the function may use: its own and what that imports. */
  uses: z.array(z.string()).max(MAX_NAMES).default([]),
  kind: z.enum(["scalar", "aggregate"]).default("scalar"),
  /** Which of the function's overloads this is; the id of the first has no suffix, the others' end in `#1`, `#2` ... */
  overload: z.int().min(0).default(0),
  is_async: z.boolean().default(false),
  /** Rows that one call takes; null: the function takes one row. Parameters with `is_batched` then get lists. */
  batch_size: z.int().min(1).nullable().default(null),
  /** Seconds that one call may take; null: the workers' own limit. */
  timeout_s: z.number().positive().nullable().default(null),
  /** Name of the resource pool whose limits its calls keep to. */
  resource_pool: z.string().nullable().default(null),
  source: sourceSchema,
});

/** Limits that the calls of several functions share, across all workers of a service. */
export const resourcePoolSchema = z.strictObject({
  name: z.string(),
  /** Calls that may be under way at once; null: as many as come. */
  max_concurrent: z.int().min(1).nullable(),
  /** Calls that may start in a minute; null: as many as come. */
  per_minute: z.int().min(1).nullable(),
  /** How often a call that the provider turns away (429, 503, time-outs) is tried again. */
  retries: z.int().min(0),
});

/** A function marked `@query`: its body ran once, with stand-ins for its parameters. */
export const namedQuerySchema = z.strictObject({
  /** `<module>:<name>`, as for functions. */
  id: z.string(),
  module: z.string(),
  name: z.string(),
  comment: z.string().nullable(),
  parameters: z.array(parameterSchema).max(MAX_NAMES),
  /** The answer is a list of the only selected value, not of objects. */
  return_scalar: z.boolean(),
  query: querySchema,
  source: sourceSchema,
});

/** A function of the application that is given the outputs of a route by name, and returns its answer. */
const answererSchema = z.strictObject({
  /** `<module>:<name>`. */
  id: z.string(),
  module: z.string(),
  name: z.string(),
  /** Which of the outputs it takes. */
  parameters: z.array(z.string()).max(MAX_NAMES),
  /** A JSON Schema of what it returns; null when it does not say. */
  response: z.record(z.string(), z.unknown()).nullable(),
});

/** A table of another PostgreSQL database that the outputs of stored rows are written to as well. */
const sqlExportSchema = z.strictObject({
  /** A variable of the service's environment that holds a URL, or the URL, which may hold a password. */
  db_connect: z.union([z.strictObject({ env: z.string() }), z.strictObject({ url: z.string() })]),
  table: z.string(),
  /** Null: the first schema on the target's search path that has the table. */
  db_schema: z.string().nullable(),
  /** `update` and `merge` find the row by the target's primary key. */
  method: z.enum(["insert", "update", "merge"]),
});

/** A route that answers at once with a job, which does what the route does. */
const backgroundSchema = z.strictObject({
  /** How often a job may fail before it is given up. */
  attempts: z.int().min(1),
  /** How long its result is told after its end. */
  expires_s: z.int().min(1),
});

/** A longer path is a mistake, and routing matches patterns against it. */
const routePath = z.string().max(2_000);

/** Of every route that the engine answers: it may be done in the background. */
const answeredByEngine = {
  /** Null: the answer is what the route does. */
  background: backgroundSchema.nullable().optional(),
  source: sourceSchema,
};

const overTable = {
  method: z.enum(["post"]),
  /** Starts with `/`; the service's prefix is not in it. */
  path: routePath,
  table: z.string(),
};

/** Of routes that take values of a row and answer values of it. */
const overRow = {
  inputs: z.array(z.string()).max(MAX_NAMES),
  outputs: z.array(z.string()).max(MAX_NAMES),
  /** What a computed column that fails does to a row that is stored: nothing is, or the cell is null with its error. */
  on_error: onErrorSchema.default("abort"),
  handler: answererSchema.nullable().default(null),
  export_sql: sqlExportSchema.nullable().optional(),
};

/** A row in, values of the stored row out. */
const insertRouteSchema = z.strictObject({ kind: z.literal("insert"), ...overTable, ...overRow, ...answeredByEngine });

/** A row in, values of it out; nothing is stored. */
const computeRouteSchema = z.strictObject({
  kind: z.literal("compute"),
  ...overTable,
  ...overRow,
  ...answeredByEngine,
});

/** A key and values in, values of the updated row out. A field that a request leaves out keeps its value. */
const updateRouteSchema = z.strictObject({
  kind: z.literal("update"),
  ...overTable,
  /** The table's primary key, which every request brings. */
  key: z.array(z.string()).max(MAX_NAMES).min(1),
  ...overRow,
  inputs: z.array(z.string()).max(MAX_NAMES).min(1),
  ...answeredByEngine,
});

/** Values in; the rows that have all of them go, and their number comes back. */
const deleteRouteSchema = z.strictObject({
  kind: z.literal("delete"),
  ...overTable,
  match_columns: z.array(z.string()).max(MAX_NAMES).min(1),
  ...answeredByEngine,
});

/** Values of parameters in, by body or by URL; the rows of a query out. */
const queryRouteSchema = z.strictObject({
  kind: z.literal("query"),
  method: z.enum(["post", "get"]),
  path: routePath,
  /** Id of a query of the manifest. */
  query: z.string(),
  /** Names of the parameters that a request may give; the others have their defaults. */
  inputs: z.array(z.string()).max(MAX_NAMES),
  /** The answer is the only row itself; none and several are errors. */
  one_row: z.boolean(),
  ...answeredByEngine,
});

/** A function of the application that answers requests itself. */
const handlerRouteSchema = z.strictObject({
  kind: z.literal("handler"),
  method: z.enum(HANDLER_METHODS),
  /** May have parts `{name}`. */
  path: routePath,
  handler: z.strictObject({ id: z.string(), module: z.string(), name: z.string() }),
  /** Its operation object, as in OpenAPI 3.1, without `operationId`; null: it is not shown. */
  openapi: z.record(z.string(), z.unknown()).nullable(),
  /** Seconds that it may take to begin its answer; null: the workers' own limit. */
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

/** The names of the kinds. */
export const routeKindSchema = z.enum(routeSchema.options.map(({ shape }) => shape.kind.value));

/** An ASGI application of the person's own: it answers all requests of its service, save those for the service's own pages. */
const applicationSchema = z.strictObject({
  /** `<module>:<name>`. */
  id: z.string(),
  module: z.string(),
  name: z.string(),
  /** What it calls the service's routes by, one for each and in their order: they are reached through it. */
  routes: z.array(z.string()).max(MAX_DECLARED),
  /** Its own description, an OpenAPI document; null: it has none. */
  openapi: z.record(z.string(), z.unknown()).nullable(),
});

/** Which pages of other origins a browser lets call a service. */
const corsSchema = z.strictObject({
  /** `https://app.example`, or `*`. */
  origins: z.array(z.string()).max(MAX_NAMES).min(1),
  /** Null: those of the path. */
  methods: z.array(z.string()).max(MAX_NAMES).nullable(),
  /** Null: those that services know. */
  headers: z.array(z.string()).max(MAX_NAMES).nullable(),
  credentials: z.boolean(),
  max_age_s: z.int().min(0),
});

export const serviceSchema = z.strictObject({
  name: z.string(),
  /** Empty, or starts with `/` and does not end with one. */
  prefix: routePath,
  routes: z.array(routeSchema).max(MAX_DECLARED),
  app: applicationSchema.nullable().optional(),
  /** Of all its operations, in OpenAPI. */
  tags: z.array(z.string()).max(MAX_NAMES).optional(),
  /** Null: no page but this machine's own. */
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
  /** Files below the project root that importing the application read, with the sha256 hex of their bytes. */
  modules: z.array(z.strictObject({ path: z.string(), sha256: z.string() })),
  /** What is no mistake of the file and may yet surprise, as sentences: modules of the project that others shadow. */
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
export type ResourcePool = z.infer<typeof resourcePoolSchema>;
export type ManifestService = z.infer<typeof serviceSchema>;
export type Manifest = z.infer<typeof manifestSchema>;
