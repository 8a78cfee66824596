import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { appError } from "@appdb/contract/errors";
import * as limits from "@appdb/contract/routes/psql";
import { KeyedMutex } from "@appdb/engine/batching/keyed-mutex";
import type { Catalog } from "@appdb/engine/catalog/catalog";
import { SESSION_PREFIX } from "@appdb/engine/catalog/reader-connections";
import { requireFolder } from "@appdb/engine/catalog/require-folder";
import { letRoleWrite } from "@appdb/engine/data-queries/psql-writes";
import type { Logger, SqlPool } from "@appdb/engine/ports";
import { LostBackends } from "@appdb/postgres/client/lost-backends";
import { listenerOf } from "@appdb/postgres/client/socket-dsn";
import type { BlockingTransaction } from "@appdb/postgres/cluster/session-blocks";
import {
  createSessionRole,
  dropOtherSessionRoles,
  dropSessionRole,
  endLongTransactions,
  ensureSessionGroup,
  ensureWriterRole,
  writerName,
} from "@appdb/postgres/cluster/session-role";
import { PsqlAnswers } from "./psql-answers.ts";
import { type BlockLimits, PsqlBlockGuard } from "./psql-block-guard.ts";
import { PsqlCallers } from "./psql-callers.ts";
import { createPsqlGuard } from "./psql-guard.ts";
import type { SqlReads } from "./sql-reads.ts";

const PASSWORD_BYTES = 32;
const ID_BYTES = 16;
const WATCH_MS = 10_000;
/** `running_ms` is the time that a statement has at the beginning of a session, and that of `cli query`. */
const BLOCK_LIMITS: BlockLimits = { blocking_ms: 3_000, running_ms: 30_000 };
/** Cancels that are remembered until their statements end. */
const MAX_CANCELS = 100;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

export interface PsqlSessionsDeps {
  /** Name of the database in PostgreSQL. */
  readonly database: string;
  readonly dsn: string;
  /** The owner's pool. */
  readonly sql: SqlPool;
  /** Undefined for a PostgreSQL that is not ours. */
  readonly superuser_dsn: string | undefined;
  readonly application_name: string;
  readonly sql_reads: Pick<SqlReads, "grant">;
  readonly log: Logger;
  /** Rejects while the database takes no writes. @throws disk_full */
  admitWrites(): Promise<void>;
  /** For tests, which wait less. */
  readonly block_limits?: BlockLimits;
}

export interface PsqlSessionInput {
  /** Whose sessions count together when they make others wait. */
  readonly caller: string;
  readonly folder: string;
  readonly writes: boolean;
}

export interface PsqlSession {
  readonly id: string;
  readonly user: string;
  readonly password: string;
  readonly ends_at: Date;
  /** Aborts when the session ends. Its reason is a `PsqlEnd`. */
  readonly ended: AbortSignal;
}

/** A connection to PostgreSQL. */
export interface PsqlTunnel {
  readonly socket: Socket;
  /** Takes what the client sends. */
  readonly guard: NodeJS.ReadWriteStream;
  /** Takes what PostgreSQL sends. */
  readonly answers: NodeJS.ReadWriteStream;
}

interface Open extends PsqlSession {
  readonly caller: string;
  readonly end: AbortController;
  readonly writes: boolean;
  readonly sockets: Set<Socket>;
  /** Sum of the open connections, when it was last counted. */
  bytes: number;
  used_at: number;
  /** Connections that were ended because others waited for their locks. */
  readonly blocking: Set<string>;
  /** How many times such connections were ended. */
  blocks: number;
  /** Processes of PostgreSQL whose statements the client has cancelled. */
  readonly cancelled: Set<number>;
}

/** Sessions of PostgreSQL's protocol in a database: each has a role of its own, which is dropped with it. */
export class PsqlSessions implements AsyncDisposable {
  readonly #deps: PsqlSessionsDeps;
  readonly #open = new Map<string, Open>();
  /** Connections that did not end with their sessions. */
  readonly #lost: LostBackends;
  #opening = 0;
  #preparing: Promise<void> | undefined;
  /** Version of the catalog whose tables writers may write. */
  #writable: number | undefined;
  /** Changes of the rights of a database's writers, which PostgreSQL refuses to make at the same time. */
  readonly #granting = new KeyedMutex();
  readonly #callers = new PsqlCallers();
  readonly #blocks: PsqlBlockGuard;
  #watching: NodeJS.Timeout | undefined;
  #collecting: NodeJS.Timeout | undefined;

  constructor(deps: PsqlSessionsDeps) {
    this.#deps = deps;
    this.#lost = new LostBackends(deps.log);
    const { application_name, block_limits: limits = BLOCK_LIMITS, database, log } = deps;
    const onEnd = (ending: readonly BlockingTransaction[]) => this.#countBlocks(ending);
    this.#blocks = new PsqlBlockGuard({ application_name, database, limits, log, onEnd });
  }

  /** Name of the database in PostgreSQL. */
  get database(): string {
    return this.#deps.database;
  }

  /** @throws psql_paused, overloaded, postgres_unsupported, disk_full, folder_not_found, database_unavailable */
  async open({ caller, folder, writes }: PsqlSessionInput): Promise<PsqlSession> {
    const { admitWrites, database, sql, sql_reads: sqlReads } = this.#deps;
    this.#callers.admit(caller);
    if (this.#open.size + this.#opening >= limits.PSQL_SESSIONS) throw tooManySessions();
    this.#opening += 1;
    try {
      if (writes) await admitWrites();
      const catalog = await sqlReads.grant();
      await requireFolder(sql, catalog, folder);
      const dsn = this.#superuser();
      await this.#prepare(dsn);
      if (writes) {
        await this.#granting.run(database, () => ensureWriterRole(dsn, database));
        await this.#letWrite(catalog);
      }
      const endsAt = new Date(Date.now() + limits.PSQL_HOURS * HOUR_MS);
      const { name: user, password } = await createSessionRole(dsn, {
        database,
        password: randomBytes(PASSWORD_BYTES).toString("base64url"),
        ends_at: endsAt,
        connections: limits.PSQL_CONNECTIONS,
        schemas: folder === "" ? ["public"] : [folder, "public"],
        writes,
      });
      const end = new AbortController();
      const id = randomBytes(ID_BYTES).toString("hex");
      const session: Open = {
        id,
        caller,
        user,
        password,
        writes,
        end,
        ended: end.signal,
        ends_at: endsAt,
        sockets: new Set(),
        bytes: 0,
        used_at: performance.now(),
        blocking: new Set(),
        blocks: 0,
        cancelled: new Set(),
      };
      this.#open.set(id, session);
      this.#watching ??= setInterval(() => void this.#watch(), WATCH_MS).unref();
      this.#blocks.start(dsn);
      return session;
    } finally {
      this.#opening -= 1;
    }
  }

  /**
   * Connects to PostgreSQL for a session, and returns the connection with its guard, which takes what the client sends,
   * and with its answers, which give what PostgreSQL sends.
   * @throws not_found, overloaded, database_unavailable
   */
  async connect(id: string): Promise<PsqlTunnel> {
    const session = this.#open.get(id);
    if (session === undefined) throw isGone();
    // one more for a request to cancel a statement
    if (session.sockets.size > limits.PSQL_CONNECTIONS) throw tooManyConnections();
    const { database, dsn, sql_reads: sqlReads } = this.#deps;
    const socket = connect({ ...listenerOf(dsn), timeout: limits.PSQL_IDLE_MINUTES * MINUTE_MS });
    session.sockets.add(socket);
    socket.once("close", () => session.sockets.delete(socket));
    socket.on("timeout", () => socket.destroy());
    try {
      // tables that were made meanwhile
      const [catalog] = await Promise.all([sqlReads.grant(), connected(socket)]);
      if (session.writes) await this.#letWrite(catalog);
    } catch (error) {
      socket.destroy();
      throw error;
    }
    const { blocking, cancelled, user } = session;
    const answers = new PsqlAnswers({
      takeCancel: (process) => cancelled.delete(process),
      isBlocking: (process) => [...blocking].some((connection) => connection.startsWith(`${process} `)),
    });
    const guard = createPsqlGuard({
      user,
      database,
      refuse: (response) => socket.emit("refused", response),
      onEncryption: () => answers.expectByte(),
      onCancel: (process) => {
        // any number may be sent, and only those of the session count
        if (cancelled.size >= MAX_CANCELS) cancelled.clear();
        cancelled.add(process);
      },
    });
    return { socket, guard, answers };
  }

  /** Ends a session and its connections. Safe to repeat. @throws database_unavailable */
  async close({ id }: Pick<PsqlSession, "id">, why: limits.PsqlEnd = "stopped"): Promise<void> {
    const session = this.#open.get(id);
    if (session === undefined) return;
    this.#open.delete(id);
    session.end.abort(why);
    for (const socket of session.sockets) socket.destroy();
    if (this.#open.size === 0) {
      clearInterval(this.#watching);
      this.#watching = undefined;
      this.#blocks.stop();
    }
    await dropSessionRole(this.#superuser(), session.user, this.#lost);
  }

  /** Drops the roles that a crash left over, now and every hour. */
  collect(): void {
    const run = () => {
      const live = [...this.#open.values()].map(({ user }) => user);
      // a role that is being made is not live yet
      if (this.#opening > 0 || this.#deps.superuser_dsn === undefined) return;
      dropOtherSessionRoles(this.#deps.superuser_dsn, this.#deps.database, live, this.#lost).then(
        (dropped) => dropped.length > 0 && this.#deps.log.info({ roles: dropped.length }, "roles of sessions dropped"),
        (error: unknown) => this.#deps.log.warn({ err: error }, "roles of sessions were not dropped"),
      );
    };
    this.#collecting ??= setInterval(run, HOUR_MS).unref();
    run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#collecting);
    await Promise.allSettled([...this.#open.values()].map((session) => this.close(session)));
  }

  async #watch(): Promise<void> {
    const { admitWrites, database, log } = this.#deps;
    try {
      const isFull = await admitWrites().then(
        () => false,
        () => true,
      );
      for (const session of [...this.#open.values()]) {
        const bytes = [...session.sockets].reduce((sum, one) => sum + one.bytesRead + one.bytesWritten, 0);
        if (bytes !== session.bytes) session.used_at = performance.now();
        session.bytes = bytes;
        const why = whyToEnd(session, isFull);
        if (why !== undefined) await this.close(session, why);
      }
      if (this.#open.size === 0) return;
      const ended = await endLongTransactions(this.#superuser(), database, limits.PSQL_TRANSACTION_MINUTES);
      if (ended > 0) log.info({ ended }, "long transactions of sessions ended");
    } catch (error) {
      // the next run tries again, and a role whose drop failed is collected later
      log.warn({ err: error }, "sessions of psql were not watched");
    }
  }

  /** Ends the sessions whose connections are ended too often. Connections that are ended together count once. */
  #countBlocks(ending: readonly BlockingTransaction[]): void {
    const { log } = this.#deps;
    const callers = new Set<string>();
    for (const session of [...this.#open.values()]) {
      const { blocking, caller, user } = session;
      // a connection that is slow to end counts once
      const own = ending.filter((one) => one.user === user && !blocking.has(one.connection));
      if (own.length === 0) continue;
      for (const { connection } of own) blocking.add(connection);
      session.blocks += 1;
      if (!callers.has(caller)) this.#callers.count(caller);
      callers.add(caller);
      if (session.blocks >= limits.PSQL_BLOCKS) this.#callers.pause(caller);
      if (!this.#callers.isPaused(caller)) continue;
      log.info({ user, blocks: session.blocks }, "a session of psql ended: others waited for its locks");
      // a role whose drop failed is collected later
      this.close(session, "blocking").catch((error: unknown) => log.warn({ err: error }, "a session was not ended"));
    }
  }

  async #prepare(dsn: string): Promise<void> {
    this.#preparing ??= ensureSessionGroup(dsn);
    // the next session tries again
    this.#preparing.catch(() => {
      this.#preparing = undefined;
    });
    await this.#preparing;
  }

  async #letWrite(catalog: Catalog): Promise<void> {
    const { database, sql } = this.#deps;
    await this.#granting.run(database, async () => {
      if (this.#writable === catalog.version) return;
      await letRoleWrite(sql, catalog, { role: writerName(database), prefix: SESSION_PREFIX });
      this.#writable = catalog.version;
    });
  }

  #superuser(): string {
    const { superuser_dsn: dsn } = this.#deps;
    // `grant` has refused such a server
    if (dsn === undefined) throw new TypeError("A session needs the superuser's connection.");
    return dsn;
  }
}

function whyToEnd({ ends_at: endsAt, used_at: usedAt, writes }: Open, isFull: boolean): limits.PsqlEnd | undefined {
  if (Date.now() >= endsAt.getTime()) return "time";
  if (performance.now() - usedAt > limits.PSQL_IDLE_MINUTES * MINUTE_MS) return "idle";
  return writes && isFull ? "disk_full" : undefined;
}

async function connected(socket: Socket): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", (cause) =>
      reject(appError("database_unavailable", { detail: "PostgreSQL does not answer.", cause })),
    );
  });
}

function tooManySessions(): Error {
  return appError("overloaded", {
    detail: `${limits.PSQL_SESSIONS} sessions of psql are open in the database, the maximum at a time.`,
    hint: "End one of them, then try again. One statement needs no session: cli query",
    meta: { limit: "psql_sessions", value: limits.PSQL_SESSIONS },
  });
}

function tooManyConnections(): Error {
  return appError("overloaded", {
    detail: `The session has ${limits.PSQL_CONNECTIONS} connections, the maximum at a time.`,
    hint: "Close one of them, then try again.",
    meta: { limit: "psql_connections", value: limits.PSQL_CONNECTIONS },
  });
}

function isGone(): Error {
  return appError("not_found", {
    detail: "The session of psql has ended.",
    hint: "Open another one: cli psql",
  });
}
