import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, appError } from "@appdb/contract/errors";
import { withinTime } from "@appdb/system/processes/within-time";
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
  SYSTEM_NAMES,
  writeAccess,
} from "./cluster-access.ts";
import { type ClusterFormat, isOwnVersion, markNew, readMark, writeMark } from "./cluster-mark.ts";
import { SOLE_DATABASE } from "./cluster-template.ts";
import { sendByPgCtl } from "./controlled-server.ts";
import { copyDatabase, dropDatabase, hasDatabase, listPostgresDatabases, renameDatabase } from "./database-admin.ts";
import type { EmbeddedPostgresOptions } from "./embedded-options.ts";
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
import { SERVER_WAY, type ServerPaths, startPostgres } from "./server-process.ts";
import { clearStaleLocks } from "./stale-locks.ts";
import { isSameOutage, stoppedMeanwhile } from "./start-failure.ts";
import { StartReserve } from "./start-reserve.ts";

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5_000;
/** Maximum time that processes of a killed server may hold its shared memory before a start fails. */
const LEFTOVERS_MS = 15_000;
const FAST_SHUTDOWN_MS = 30_000;
const IMMEDIATE_SHUTDOWN_MS = 5_000;

/**
 * One PostgreSQL cluster for programs of this machine, reached by a unix socket or, without sockets, by a loopback port
 * (local-address.ts). A server that dies is restarted with increasing pauses until `stop`. The caller holds the home's
 * lock, so that no other process runs this cluster.
 */
export class EmbeddedPostgres implements PostgresProvider {
  readonly #options: EmbeddedPostgresOptions;
  #chosen: Passwords | undefined;
  readonly #address: LocalAddress;
  readonly #reserve: StartReserve;
  #server: ServerHandle | undefined;
  #starting: Promise<void> | undefined;
  #tidying: Promise<void> = Promise.resolve();
  #state: PostgresState = "down";
  #failure: AppError | undefined;
  #isStopping = false;
  #copying = new AbortController();

  constructor(options: EmbeddedPostgresOptions) {
    this.#options = options;
    this.#address = options.address ?? localAddress(options);
    this.#reserve = new StartReserve({ ...options, dsn: () => this.superuserDsn(this.#firstDatabase) });
  }

  start(): Promise<void> {
    this.#starting ??= this.#open().catch((error: unknown) => {
      this.#starting = undefined;
      this.#state = "down";
      this.#keepFailure(error);
      throw error;
    });
    return this.#starting;
  }

  state(): PostgresState {
    return this.#state;
  }

  failure(): AppError | undefined {
    return this.#failure;
  }

  /** An error that is not ours is in the log. */
  #keepFailure(error: unknown): void {
    this.#failure = error instanceof AppError && !this.#isStopping ? error : undefined;
  }

  /** Connects as the owner of the databases, who has no other privileges. */
  dsn(database: string): string {
    return this.#dsnOf(database, OWNER, this.#passwords.owner);
  }

  /** Connects as the superuser, for service roles and server settings. */
  superuserDsn(database: string): string {
    return this.#dsnOf(database, SUPERUSER, this.#passwords.superuser);
  }

  #dsnOf(database: string, user: string, password: string): string {
    const options = [
      // with a disk limit, its watcher can still write when others may not
      ...(this.#isSole ? [WRITES_ALWAYS] : []),
      ...(user === SUPERUSER ? [SYSTEM_NAMES] : []),
    ].join(" ");
    const dsn = this.#address.dsn({ database, user, password });
    return options === "" ? dsn : `${dsn}&options=${encodeURIComponent(options)}`;
  }

  /**
   * A hosted database gets new passwords at each start of its pod. Others keep theirs, because processes that outlive
   * their server know them.
   */
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

  async copyDatabase(from: string, to: string): Promise<void> {
    await copyDatabase(await this.#changing(), from, to);
  }

  async renameDatabase(from: string, to: string): Promise<void> {
    await renameDatabase(await this.#changing(), from, to);
  }

  async dropDatabase(database: string): Promise<void> {
    await dropDatabase(await this.#changing(), database);
  }

  /** Starts the server. Returns the superuser's DSN, for a change of the list of databases. */
  async #changing(): Promise<string> {
    if (this.#isSole) throw new Error("The only database of a cluster stays as it is.");
    await this.start();
    return this.superuserDsn(this.#firstDatabase);
  }

  async stop(): Promise<void> {
    const starting = this.#starting;
    this.#isStopping = true;
    this.#copying.abort();
    this.#starting = undefined;
    await this.#reserve.stop();
    await this.#endServer();
    // finishes making the cluster so that no initdb outlives us; the starter gets the stop as its error
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

  #ownsHome = (): boolean => this.#options.ownsHome?.() ?? true;

  async #endServer(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    // fast shutdown ends sessions and writes a checkpoint; immediate works like a crash; neither loses data
    for (const [signal, waitMs] of [
      ["SIGINT", FAST_SHUTDOWN_MS],
      ["SIGQUIT", IMMEDIATE_SHUTDOWN_MS],
    ] as const) {
      server.signal(signal);
      if (await withinTime(server.ended, waitMs)) break;
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
    const paths = {
      bin,
      data_folder: dataFolder,
      address: this.#address,
      log_file: logFile,
      settings,
      kept_free_bytes: this.#options.kept_free_bytes,
      dies_with_parent: this.#options.dies_with_parent,
      way,
    };
    await this.#startTaken(paths, isNew);
    if (format !== undefined && !isOwnVersion(readMark(dataFolder), format))
      await this.#endOnFailure(this.#prepareUpgrade(paths, format));
    this.#serve(paths);
    // neither is awaited, because the first command is waiting
    const tidy = isNew ? [syncCluster(bin, dataFolder), removeUnfinished(folder)] : [removeUnfinished(folder)];
    this.#tidying = Promise.all(tidy).then(
      () => undefined,
      (error: unknown) => log.warn({ err: error }, "the cluster's folder was not cleaned up"),
    );
  }

  /**
   * Sets the passwords at each start, because a crash soon after the previous start may undo them: they are not synced.
   */
  async #startTaken(paths: ServerPaths, isNew: boolean): Promise<void> {
    await this.#start(paths);
    await this.#endOnFailure(this.#take(paths, isNew));
  }

  /** Stops the server when the work on it fails. */
  async #endOnFailure(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      await this.#endServer();
      throw this.#isStopping ? stoppedMeanwhile() : error;
    }
  }

  /**
   * Makes the server accept this run's passwords, and updates roles and owners after a version without them. When the
   * password is unknown, as after an older version, it is reset while the server is stopped.
   */
  async #take(paths: ServerPaths, isNew: boolean): Promise<void> {
    const { data_folder: dataFolder } = paths;
    const { format } = this.#options;
    const passwords = this.#passwords;
    const stored = readAccess(dataFolder);
    const isOther = format !== undefined && !isNew && !isOwnVersion(readMark(dataFolder), format);
    const arranges = isOther || stored?.prepared !== PREPARED;
    if (!this.#isSole && stored?.superuser === passwords.superuser && !arranges) return;
    const prepared = arranges ? 0 : PREPARED;
    const known = [stored?.superuser, stored?.former].filter((password) => typeof password === "string");
    let isTaken = false;
    for (const oldPassword of known) {
      // written before it is tried: after a kill both passwords are known
      writeAccess(dataFolder, { ...passwords, former: oldPassword, prepared });
      isTaken ||= await takeRoles(this.#dsnOf(this.#firstDatabase, SUPERUSER, oldPassword), passwords, arranges);
      if (isTaken) break;
    }
    if (!isTaken) await this.#resetRoles(paths);
    if (!arranges) return;
    for (const database of this.#isSole
      ? [SOLE_DATABASE]
      : await listPostgresDatabases(this.superuserDsn(this.#firstDatabase))) {
      await prepareDatabase(this.superuserDsn(database), database, this.#preparing);
    }
    writeAccess(dataFolder, { ...passwords, former: null, prepared: PREPARED });
  }

  async #resetRoles(paths: ServerPaths): Promise<void> {
    const { bin, data_folder: dataFolder } = paths;
    const { superuser } = this.#passwords;
    this.#options.log.info({}, "PostgreSQL gets a new password");
    await this.#endServer();
    await runAlone({ bin, data_folder: dataFolder, is_synced: true }, this.#firstDatabase, [resetPassword(superuser)]);
    writeAccess(dataFolder, { ...this.#passwords, former: superuser, prepared: 0 });
    await this.#start(paths);
    if (await takeRoles(this.superuserDsn(this.#firstDatabase), this.#passwords, true)) return;
    throw appError("postgres_failed", { detail: "PostgreSQL does not accept the password that was set." });
  }

  get #firstDatabase(): string {
    return this.#isSole ? SOLE_DATABASE : "postgres";
  }

  /**
   * Handles a cluster whose last version differs or is unknown. If this version will upgrade a database, the cluster is
   * copied first, while the server is stopped cleanly. It is marked before the first migration, so that a later start
   * does not mistake a half-upgraded cluster for the old version.
   */
  async #prepareUpgrade(paths: ServerPaths, format: ClusterFormat): Promise<void> {
    const { bin, folder, log } = this.#options;
    const { data_folder: dataFolder } = paths;
    const marked = readMark(dataFolder)?.catalog;
    const databases = this.#isSole ? [SOLE_DATABASE] : await listPostgresDatabases(this.superuserDsn("postgres"));
    const found = await findFormats(
      // read as the owner, who could have planted a function there
      databases.map((database) => this.dsn(database)),
      format,
    );
    // a newer format is refused when a database is opened, and the mark stays
    if (found !== undefined && found.newest > format.newest) return;
    const isOlder = found !== undefined && found.oldest < format.newest;
    if (isOlder && marked !== format.newest) {
      await this.#endServer();
      await copyBeforeUpgrade({ bin, folder, data_folder: dataFolder, log, signal: this.#copying.signal });
      await writeMark(dataFolder, format);
      await this.#start(paths);
      return;
    }
    // a full disk does not prevent the start; the next start checks again
    await writeMark(dataFolder, format).catch((error: unknown) =>
      log.warn({ err: error }, "the cluster was not marked"),
    );
  }

  /** Starts the server. Processes of a killed server may need a moment to exit. */
  async #start(paths: ServerPaths): Promise<void> {
    const until = performance.now() + LEFTOVERS_MS;
    for (;;) {
      if (this.#isStopping || !this.#ownsHome()) throw stoppedMeanwhile();
      const { address, data_folder: dataFolder } = paths;
      await this.#reserve.prepare();
      address.prepare();
      const send = paths.way === "pg_ctl" ? sendByPgCtl(paths.bin) : undefined;
      await clearStaleLocks(dataFolder, address.socket_folder, this.#options.log, send);
      await address.claim();
      try {
        await startPostgres(paths, (server) => {
          this.#server = server;
        });
        return;
      } catch (error) {
        if (await this.#reserve.rescue(error)) continue;
        const isLeftover = error instanceof Error && error.message.includes("pre-existing shared memory block");
        if (!isLeftover || performance.now() > until) throw error;
        await sleep(FIRST_RETRY_MS);
      }
    }
  }

  /** Makes the server available, and restarts it when it ends. */
  #serve(paths: ServerPaths): void {
    this.#state = "up";
    this.#failure = undefined;
    this.#options.log.info({ postgres_pid: this.#server?.pid }, "PostgreSQL is up");
    this.#reserve.watch(paths.data_folder);
    const server = this.#server;
    void server?.ended.then(() => this.#restart(paths, server));
  }

  async #restart(paths: ServerPaths, server: ServerHandle): Promise<void> {
    if (this.#isStopping) return;
    // its statements fail with the server
    await this.#reserve.stop();
    const { log } = this.#options;
    this.#state = "starting";
    log.warn({ postgres_pid: server.pid, ...server.end }, "PostgreSQL ended and is restarted");
    let before: unknown = this.#failure;
    for (
      let pause = FIRST_RETRY_MS;
      !this.#isStopping && this.#ownsHome();
      pause = Math.min(pause * 2, LONGEST_RETRY_MS)
    ) {
      try {
        await this.#startTaken(paths, false);
        this.#serve(paths);
        return;
      } catch (error) {
        if (this.#isStopping || !this.#ownsHome()) return;
        // an outage is logged once, however many attempts it takes
        if (!isSameOutage(before, error)) log.error({ err: error }, "PostgreSQL could not be restarted");
        before = error;
        this.#keepFailure(error);
        await sleep(pause);
      }
    }
  }
}
