import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import { WRITES_ALWAYS } from "../client/refuse-writes.ts";
import { copyBeforeUpgrade, findFormats } from "./before-upgrade.ts";
import { ensureCluster, removeUnfinished } from "./cluster.ts";
import {
  findAccess,
  makePasswords,
  OWNER,
  type Passwords,
  readAccess,
  SUPERUSER,
  writeAccess,
} from "./cluster-access.ts";
import { type ClusterFormat, isOurs, markNew, readMark, writeMark } from "./cluster-mark.ts";
import { SOLE_DATABASE } from "./cluster-template.ts";
import { sendByPgCtl } from "./controlled-server.ts";
import { dropDatabase, hasDatabase, listPostgresDatabases } from "./database-admin.ts";
import { runAlone, syncCluster } from "./init-cluster.ts";
import { type LocalAddress, localAddress } from "./local-address.ts";
import type { PostgresProvider, PostgresState } from "./postgres-provider.ts";
import {
  ensureOwnDatabase,
  PREPARED,
  type PrepareOptions,
  prepareDatabase,
  resetPassword,
  takeRoles,
} from "./prepare-cluster.ts";
import type { ServerHandle } from "./server-handle.ts";
import { SERVER_WAY, type ServerPaths, type ServerWay, startPostgres } from "./server-process.ts";
import { clearStaleLocks } from "./stale-locks.ts";

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5_000;
/** How long the processes of a killed server may hold its shared memory before a start counts as failed. */
const LEFTOVERS_MS = 15_000;
/**
 * Of the superuser's connections: a name without a schema is the system's. The owner of a database could lead such a name to a
 * function of its own by the database's settings, which those of a connection override.
 */
const SYSTEM_NAMES = "-c search_path=pg_catalog,pg_temp";
const FAST_SHUTDOWN_MS = 30_000;
const IMMEDIATE_SHUTDOWN_MS = 5_000;

export interface EmbeddedPostgresOptions {
  readonly bin: string;
  /** Folder under which the cluster's own folder, named by its major version, lies. */
  readonly folder: string;
  /** Short private folder for the socket (nameRuntimeFolder); made at the start and removed at the stop. */
  readonly runtime_folder: string;
  readonly log_file: string;
  readonly log: Logger;
  /** A new cluster is a copy of the one there, whose only database is `SOLE_DATABASE` (cluster-template.ts). */
  readonly template_folder?: string;
  /** In place of those of a local server, and beside them. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The server ends in order when this process is killed. */
  readonly dies_with_parent?: boolean;
  /** The runtime folder is another's: it stays when the server stops. */
  readonly keeps_runtime_folder?: boolean;
  /** False once the home belongs to another daemon: the server is not started again then, and the runtime folder stays. */
  readonly ownsHome?: () => boolean;
  /** The databases are none of the engine's: they get no pgvector. */
  readonly without_vector?: boolean;
  /** What this version keeps in the databases: a cluster with an older one is copied before its first start by this version. */
  readonly format?: ClusterFormat;
  /** In place of what the system asks for, for tests. */
  readonly address?: LocalAddress;
  readonly way?: ServerWay;
}

/**
 * One PostgreSQL cluster, reached by programs of this machine only: by a unix socket, or where there are none by a port of loopback
 * (local-address.ts). A server that dies is started again with growing pauses until `stop`. The caller holds the home's lock: nobody
 * else may run this cluster meanwhile.
 */
export class EmbeddedPostgres implements PostgresProvider {
  readonly #options: EmbeddedPostgresOptions;
  #chosen: Passwords | undefined;
  readonly #address: LocalAddress;
  #server: ServerHandle | undefined;
  #starting: Promise<void> | undefined;
  #tidying: Promise<void> = Promise.resolve();
  #state: PostgresState = "down";
  #isStopping = false;
  #copying = new AbortController();

  constructor(options: EmbeddedPostgresOptions) {
    this.#options = options;
    this.#address = options.address ?? localAddress(options);
  }

  start(): Promise<void> {
    this.#starting ??= this.#open().catch((error: unknown) => {
      this.#starting = undefined;
      this.#state = "down";
      throw error;
    });
    return this.#starting;
  }

  state(): PostgresState {
    return this.#state;
  }

  /** As the owner of the databases, who can do nothing beyond them. */
  dsn(database: string): string {
    return this.#dsnOf(database, OWNER, this.#passwords.owner);
  }

  /** As the superuser, for what the owner may not do: roles of services, settings of the server. */
  superuserDsn(database: string): string {
    return this.#dsnOf(database, SUPERUSER, this.#passwords.superuser);
  }

  #dsnOf(database: string, user: string, password: string): string {
    const options = [
      // where there is a limit to the disk, whoever watches it goes on when others may not write any more
      ...(this.#isSole ? [WRITES_ALWAYS] : []),
      ...(user === SUPERUSER ? [SYSTEM_NAMES] : []),
    ].join(" ");
    const dsn = this.#address.dsn({ database, user, password });
    return options === "" ? dsn : `${dsn}&options=${encodeURIComponent(options)}`;
  }

  /** A hosted database's are new at each start of its pod; others keep theirs, since processes that outlive their server know them. */
  get #passwords(): Passwords {
    this.#chosen ??= (this.#isSole ? undefined : findAccess(this.#options.folder)) ?? makePasswords();
    return this.#chosen;
  }

  async hasDatabase(database: string): Promise<boolean> {
    await this.start();
    if (this.#isSole) return database === SOLE_DATABASE;
    return await hasDatabase(this.dsn("postgres"), database);
  }

  async listDatabases(): Promise<readonly string[]> {
    await this.start();
    if (this.#isSole) return [SOLE_DATABASE];
    return await listPostgresDatabases(this.dsn("postgres"));
  }

  async ensureDatabase(database: string): Promise<void> {
    await this.start();
    if (this.#isSole && database === SOLE_DATABASE) return;
    await ensureOwnDatabase((name) => this.superuserDsn(name), database, this.#preparing);
  }

  async dropDatabase(database: string): Promise<void> {
    if (this.#isSole) throw new Error("The only database of a cluster goes with its folder.");
    await this.start();
    await dropDatabase(this.superuserDsn(this.#firstDatabase), database);
  }

  async stop(): Promise<void> {
    const starting = this.#starting;
    this.#isStopping = true;
    this.#copying.abort();
    this.#starting = undefined;
    await this.#endServer();
    // a cluster that is being made is finished, so that no initdb outlives us; who started it is told that it was stopped
    await starting?.catch(() => undefined);
    await this.#tidying;
    this.#state = "down";
    if (this.#options.keeps_runtime_folder !== true && this.#ownsHome()) this.#address.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  get #preparing(): PrepareOptions {
    return { has_vector: this.#options.without_vector !== true };
  }

  get #isSole(): boolean {
    return this.#options.template_folder !== undefined;
  }

  #ownsHome(): boolean {
    return this.#options.ownsHome?.() ?? true;
  }

  async #endServer(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    // fast shutdown: sessions end, a checkpoint is written; immediate: as after a crash; no data is lost by either
    for (const [signal, waitMs] of [
      ["SIGINT", FAST_SHUTDOWN_MS],
      ["SIGQUIT", IMMEDIATE_SHUTDOWN_MS],
    ] as const) {
      server.signal(signal);
      if (await settlesWithin(server.ended, waitMs)) break;
      this.#options.log.warn({ signal }, "PostgreSQL does not stop");
    }
    if (server.end === undefined) server.signal("SIGKILL");
    await server.ended;
  }

  async #open(): Promise<void> {
    const { bin, folder, format, log, log_file: logFile, settings } = this.#options;
    this.#isStopping = false;
    this.#copying = new AbortController();
    this.#state = "starting";
    mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
    const passwords = this.#passwords;
    const { data_folder: dataFolder, is_new: isNew } = await ensureCluster({
      bin,
      folder,
      template_folder: this.#options.template_folder,
      passwords,
    });
    if (format !== undefined && isNew) markNew(dataFolder, format);
    const way = this.#options.way ?? SERVER_WAY;
    const place = {
      bin,
      data_folder: dataFolder,
      address: this.#address,
      log_file: logFile,
      settings,
      dies_with_parent: this.#options.dies_with_parent,
      way,
    };
    await this.#startTaken(place, isNew);
    if (format !== undefined && !isOurs(readMark(dataFolder), format))
      await this.#orEnd(this.#prepareUpgrade(place, format));
    this.#serve(place);
    // neither is waited for: the first command is
    const tidy = isNew ? [syncCluster(bin, dataFolder), removeUnfinished(folder)] : [removeUnfinished(folder)];
    this.#tidying = Promise.all(tidy).then(
      () => undefined,
      (error: unknown) => log.warn({ err: error }, "the cluster's folder was not tidied"),
    );
  }

  /** Each start takes the passwords: a crash soon after the one before undoes them, because they are not synced. */
  async #startTaken(place: ServerPaths, isNew: boolean): Promise<void> {
    await this.#start(place);
    await this.#orEnd(this.#take(place, isNew));
  }

  /** Ends the server where work at it fails. */
  async #orEnd(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      await this.#endServer();
      throw this.#isStopping ? stoppedMeanwhile() : error;
    }
  }

  /**
   * Makes the server take this run's passwords, and arranges roles and owners where no version that does so ran last. One whose
   * password nobody knows, as an older version left it, is given one while it does not run.
   */
  async #take(place: ServerPaths, isNew: boolean): Promise<void> {
    const { data_folder: dataFolder } = place;
    const { format } = this.#options;
    const wanted = this.#passwords;
    const kept = readAccess(dataFolder);
    const isOther = format !== undefined && !isNew && !isOurs(readMark(dataFolder), format);
    const arranges = isOther || kept?.prepared !== PREPARED;
    if (!this.#isSole && kept?.superuser === wanted.superuser && !arranges) return;
    const prepared = arranges ? 0 : PREPARED;
    const known = [kept?.superuser, kept?.former].filter((password) => typeof password === "string");
    let isTaken = false;
    for (const former of known) {
      // written before it is tried: a kill in between leaves both
      writeAccess(dataFolder, { ...wanted, former, prepared });
      isTaken ||= await takeRoles(this.#dsnOf(this.#firstDatabase, SUPERUSER, former), wanted, arranges);
      if (isTaken) break;
    }
    if (!isTaken) await this.#resetRoles(place);
    if (!arranges) return;
    for (const database of this.#isSole
      ? [SOLE_DATABASE]
      : await listPostgresDatabases(this.superuserDsn(this.#firstDatabase))) {
      await prepareDatabase(this.superuserDsn(database), database, this.#preparing);
    }
    writeAccess(dataFolder, { ...wanted, former: null, prepared: PREPARED });
  }

  async #resetRoles(place: ServerPaths): Promise<void> {
    const { bin, data_folder: dataFolder } = place;
    const { superuser } = this.#passwords;
    this.#options.log.info({}, "PostgreSQL is given a password");
    await this.#endServer();
    await runAlone({ bin, data_folder: dataFolder, is_synced: true }, this.#firstDatabase, [resetPassword(superuser)]);
    writeAccess(dataFolder, { ...this.#passwords, former: superuser, prepared: 0 });
    await this.#start(place);
    if (await takeRoles(this.superuserDsn(this.#firstDatabase), this.#passwords, true)) return;
    throw appError("postgres_failed", { detail: "PostgreSQL does not take the password that it was given." });
  }

  get #firstDatabase(): string {
    return this.#isSole ? SOLE_DATABASE : "postgres";
  }

  /**
   * Another version ran on the cluster last, or nobody knows: its databases say whether this one will upgrade any. Then the cluster is
   * copied before, while the server, which has just ended in order, does not run; and marked before the first step, so that no later
   * start takes what is half upgraded for what it was.
   */
  async #prepareUpgrade(place: ServerPaths, format: ClusterFormat): Promise<void> {
    const { bin, folder, log } = this.#options;
    const { data_folder: dataFolder } = place;
    const marked = readMark(dataFolder)?.catalog;
    const databases = this.#isSole ? [SOLE_DATABASE] : await listPostgresDatabases(this.superuserDsn("postgres"));
    const found = await findFormats(
      // what they keep is the owner's, who could have put a function of its own there
      databases.map((database) => this.dsn(database)),
      format,
    );
    // newer than ours: it is refused where a database is opened, and keeps its mark
    if (found !== undefined && found.newest > format.newest) return;
    const isOlder = found !== undefined && found.oldest < format.newest;
    if (isOlder && marked !== format.newest) {
      await this.#endServer();
      await copyBeforeUpgrade({ bin, folder, data_folder: dataFolder, log, signal: this.#copying.signal });
      await writeMark(dataFolder, format);
      await this.#start(place);
      return;
    }
    // a full disk is no reason not to start: the next start looks again
    await writeMark(dataFolder, format).catch((error: unknown) =>
      log.warn({ err: error }, "the cluster was not marked"),
    );
  }

  /** Starts the server; the processes of one that was killed may need a moment to notice and go. */
  async #start(place: ServerPaths): Promise<void> {
    const until = performance.now() + LEFTOVERS_MS;
    for (;;) {
      if (this.#isStopping || !this.#ownsHome()) throw stoppedMeanwhile();
      const { address, data_folder: dataFolder } = place;
      address.prepare();
      const send = place.way === "pg_ctl" ? sendByPgCtl(place.bin) : undefined;
      await clearStaleLocks(dataFolder, address.socket_folder, this.#options.log, send);
      await address.claim();
      try {
        await startPostgres(place, (server) => {
          this.#server = server;
        });
        return;
      } catch (error) {
        const isLeftover = error instanceof Error && error.message.includes("pre-existing shared memory block");
        if (!isLeftover || performance.now() > until) throw error;
        await sleep(FIRST_RETRY_MS);
      }
    }
  }

  /** From now on the server is there for others, and comes back when it ends. */
  #serve(place: ServerPaths): void {
    this.#state = "up";
    this.#options.log.info({ postgres_pid: this.#server?.pid }, "PostgreSQL is up");
    const server = this.#server;
    void server?.ended.then(() => this.#revive(place, server));
  }

  async #revive(place: ServerPaths, server: ServerHandle): Promise<void> {
    if (this.#isStopping) return;
    const { log } = this.#options;
    this.#state = "starting";
    log.warn({ postgres_pid: server.pid, ...server.end }, "PostgreSQL ended, it is started again");
    for (
      let pause = FIRST_RETRY_MS;
      !this.#isStopping && this.#ownsHome();
      pause = Math.min(pause * 2, LONGEST_RETRY_MS)
    ) {
      try {
        await this.#startTaken(place, false);
        this.#serve(place);
        return;
      } catch (error) {
        if (this.#isStopping || !this.#ownsHome()) return;
        log.error({ err: error }, "PostgreSQL could not be started again");
        await sleep(pause);
      }
    }
  }
}

async function settlesWithin(work: Promise<unknown>, waitMs: number): Promise<boolean> {
  const timer = new AbortController();
  const timeout = sleep(waitMs, false, { signal: timer.signal }).catch(() => false);
  const first = await Promise.race([work.then(() => true), timeout]);
  timer.abort();
  return first;
}

function stoppedMeanwhile(): Error {
  return appError("postgres_failed", { detail: "PostgreSQL was stopped while it started." });
}
