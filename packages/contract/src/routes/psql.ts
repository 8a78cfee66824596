import * as z from "zod";

/** Sessions of PostgreSQL's own protocol, which are open at a time in a database. */
export const PSQL_SESSIONS = 3;
/** The same in all databases of an organization. */
export const PSQL_SESSIONS_OF_ORG = 9;
/** Connections of a session at a time. */
export const PSQL_CONNECTIONS = 4;
/** A session ends after so many hours. */
export const PSQL_HOURS = 8;
/** A session or connection without a byte for so many minutes ends. */
export const PSQL_IDLE_MINUTES = 30;
/** A statement or transaction that is open for so many minutes is ended. */
export const PSQL_TRANSACTION_MINUTES = 10;
/** A session ends when its connections were ended so many times because others waited for their locks. */
export const PSQL_BLOCKS = 3;
/** A caller whose session ended so opens no other one for so many minutes. So many blocks within them end one too. */
export const PSQL_PAUSE_MINUTES = 10;
/** The longest message of the protocol in bytes, with the parameters of a statement or rows of COPY. */
export const PSQL_MESSAGE_BYTES = 16_000_000;
/** The longest statement in bytes. Rows of COPY do not count. */
export const PSQL_STATEMENT_BYTES = 2_000_000;

export const psqlRequestSchema = z.strictObject({
  /** The folder whose tables need no schema before their name: `reports`; empty for those of the database. */
  folder: z.string().max(1_000).default(""),
});

/**
 * Why a session ended without its client. `blocking`: others waited for its locks. `revoked`: the caller may no longer use
 * the database.
 */
export const psqlEndSchema = z.enum(["time", "idle", "blocking", "disk_full", "stopped", "revoked", "server_stopped"]);
export type PsqlEnd = z.infer<typeof psqlEndSchema>;

/**
 * The lines of a session: `session` first, `alive` now and then, and `ended` when the server ends it. The session ends
 * with the response. Connections send and take PostgreSQL's protocol.
 */
export const psqlLineSchema = z.discriminatedUnion("event", [
  z.object({
    event: z.literal("session"),
    session: z.string().max(100),
    user: z.string().max(100),
    password: z.string().max(200),
    /** Name of the database in PostgreSQL. */
    database: z.string().max(200),
    ends_at: z.iso.datetime(),
  }),
  z.object({ event: z.literal("alive") }),
  z.object({ event: z.literal("ended"), reason: psqlEndSchema }),
]);
export type PsqlLine = z.infer<typeof psqlLineSchema>;
export type PsqlSessionLine = Extract<PsqlLine, { readonly event: "session" }>;

/** The input and output of the routes, which are the same in all APIs. */
export const PSQL_SCHEMAS = {
  psqlRead: { body: psqlRequestSchema, answer: psqlLineSchema },
  psqlWrite: { body: psqlRequestSchema, answer: psqlLineSchema },
  psqlConnect: {},
} as const;
