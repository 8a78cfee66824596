import * as z from "zod";
import { functionSchema } from "../manifest.ts";
import { programSchema } from "../program-code.ts";
import { querySchema } from "../query.ts";
import { resourcePoolSchema } from "../resource-pool.ts";
import { runtimeSchema } from "../runtime.ts";
import { columnTypeSchema } from "../types.ts";

const sentFunctionSchema = functionSchema.refine(({ id, module }) => id.startsWith(`${module}:`), {
  message: "The id of a function begins with its module and ':'.",
  path: ["id"],
});

/** Code of functions that a request names and that the database may not know yet. */
export const requestCodeSchema = z.strictObject({
  functions: z.array(sentFunctionSchema).max(1_000).default([]),
  resource_pools: z.array(resourcePoolSchema).max(100).default([]),
  /** Python and project of the caller, for a local database. Hosted databases run their own project files: null. */
  runtime: runtimeSchema.nullable().default(null),
  /** Functions of the calling program that no module has. Hosted databases refuse them. */
  program: programSchema.nullable().default(null),
  /** SHA-256 of the caller's project files that the functions use, by path. A hosted database compares them with its own. */
  digests: z.record(z.string().max(1_000), z.string().length(64)).nullable().default(null),
});

/** A read by an expression tree. Tables are paths within the database: `docs`, `reports/docs`. It has no parameters. */
export const queryRequestSchema = z.strictObject({
  query: querySchema,
  ...requestCodeSchema.shape,
  /** Ends the read after this time. The limits of the database also apply. */
  timeout_ms: z.int().min(1).optional(),
});

/** The longest statement of a person: PostgreSQL needs quadratic time to read some texts, and no cancel ends that. */
export const SQL_CHARACTERS = 64 * 1024;

/** SQL of a person, which a role that can only read runs. */
export const sqlRequestSchema = z.strictObject({
  sql: z.string().max(SQL_CHARACTERS, `The statement has more than ${SQL_CHARACTERS} characters, the maximum.`),
  /** The folder whose tables need no schema before their name: `reports`; empty for those of the database. */
  folder: z.string().default(""),
  /** The response ends after so many rows, and says that there are more. */
  limit: z.int().min(1).optional(),
  timeout_ms: z.int().min(1).optional(),
  /** Only plans the statement: the rows are the lines of PostgreSQL's plan, in a column `plan`. */
  explain: z.boolean().optional(),
});

/**
 * How rows travel, by the request's `accept` header: `application/x-ndjson`, each message a line, or
 * `application/msgpack`, one message after the other. `?rows=arrow` (msgpack only) replaces the `rows` of messages by
 * bytes of an Arrow IPC stream.
 */
export const rowsQuerySchema = z.strictObject({ rows: z.enum(["plain", "arrow"]).default("plain") });

/** The first message: the columns of the result. */
export const resultColumnSchema = z.object({
  name: z.string(),
  /** Of SQL: the nearest kind; `string` with PostgreSQL's text for any other type. */
  type: columnTypeSchema,
  nullable: z.boolean(),
});
export type ResultColumn = z.infer<typeof resultColumnSchema>;

/**
 * A message of a streamed result: `columns`, then any number of `rows` or `arrow`, then `done` or `error` (a problem
 * document). A response without its last message was cut off. A row is a list of values in the order of the columns.
 * Values in NDJSON have the forms of a route's response; a cell with a file is a `FileCell`. In msgpack, int is an
 * integer, timestamp and date are texts of ISO 8601, uuid is a text, binary is bytes, json is a text of JSON, array is
 * `[shape, bytes or texts]` in row-major order, and a file is a `FileCell`.
 */
export const rowsMessageSchema = z.union([
  z.object({ columns: z.array(resultColumnSchema) }),
  z.object({ rows: z.array(z.array(z.unknown())) }),
  z.object({ arrow: z.instanceof(Uint8Array) }),
  z.object({ done: z.object({ count: z.int(), has_more: z.boolean().default(false) }) }),
  z.object({ error: z.record(z.string(), z.unknown()) }),
]);
export type RowsMessage = z.infer<typeof rowsMessageSchema>;
