import { existsSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { findDeviceName } from "@appdb/contract/device-names";
import { HOME_PATHS } from "@appdb/contract/home";
import { localMediaPlace } from "@appdb/contract/media-place";
import { MEDIA_SCHEME } from "@appdb/contract/media-uri";
import { parseLocalTarget } from "@appdb/contract/names";
import { urlOf } from "@appdb/contract/routes/api";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import type { ServiceLimits } from "@appdb/contract/service-limits";
import type { Migration } from "@appdb/engine/catalog/ensure-catalog";
import type { Clock, Logger, SqlPool } from "@appdb/engine/ports";
import type { QueryLimits } from "@appdb/engine/sql/query-limits";
import type { ManagedStore } from "@appdb/media/files/managed-store";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";
import { createLocalManifests, type LocalManifests } from "../code/local-manifests.ts";
import { ProgramCode } from "../code/program-code.ts";
import { isProcessOwnerAlive } from "../code/program-processes.ts";
import { createRuntimeStore, type RuntimeStore } from "../code/runtime-store.ts";
import type { DaemonConfig } from "../config/config.ts";
import { DatabaseReads } from "../data-reads/database-reads.ts";
import { PsqlSessions } from "../data-reads/psql-sessions.ts";
import { localCode } from "../data-reads/query-code.ts";
import { QueryWorkers } from "../data-reads/query-workers.ts";
import { maxRowBytes } from "../data-reads/row-bytes.ts";
import { SqlReads } from "../data-reads/sql-reads.ts";
import { TableWrites } from "../data-writes/table-writes.ts";
import { DAEMON_CONNECTIONS } from "../databases/connection-names.ts";
import { explainOutage } from "../databases/explain-outage.ts";
import { type CreateFillRunner, createFillRunner } from "../databases/fill-runner.ts";
import { type OpenDatabase, OpenDatabases } from "../databases/open-databases.ts";
import { openKnown } from "../databases/open-known.ts";
import { RowFiles } from "../databases/row-files.ts";
import { ScratchDatabases } from "../databases/scratch-databases.ts";
import { createMachineDisk, type MachineDisk, type MachineDiskInput } from "../disks/machine-disk.ts";
import { openManagedStore } from "../media/open-managed-store.ts";
import { forkService, type ServiceProgram } from "../services/fork-service.ts";
import { Services } from "../services/service-processes.ts";
import { createServiceStore, type StoredService } from "../services/service-store.ts";
import { createTerminalStore, type TerminalStore } from "../services/terminal-services.ts";
import type { MediaOf } from "../services/update-services.ts";

/** Dependencies of the daemon's requests. */
export interface DaemonDeps {
  readonly home: string;
  readonly token: string;
  readonly started_at: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly postgres: PostgresProvider;
  /** The disk of PostgreSQL; undefined if that is not ours. */
  readonly machine_disk: MachineDisk | undefined;
  /** Names why PostgreSQL does not answer. */
  explainOutage(error: unknown): unknown;
  readonly databases: OpenDatabases;
  readonly runtimes: RuntimeStore;
  readonly services: Services;
  readonly terminals: TerminalStore;
  readonly mediaOf: MediaOf;
  /** The media store of a database, for people. @throws table_not_found, invalid_target */
  openManagedStore(database: string): Promise<ManagedStore>;
  /** The files of a database's media cells, for people. */
  rowFilesOf(database: string, sql: SqlPool): RowFiles;
  /** What writes rows of a database, for people. */
  writesOf(database: string, sql: SqlPool): TableWrites;
  /** Makes the next write to a database use its last update. */
  renewWrites(database: string): Promise<void>;
  readonly manifests: LocalManifests;
  readonly scratch: ScratchDatabases;
  readonly programs: ProgramCode;
  /** Deletes the functions of programs that have ended, and ends the workers that have them. */
  sweepPrograms(): Promise<void>;
  /** Maximum size of a request body that is read into memory. */
  readonly body_bytes: number;
  closeWrites(): Promise<void>;
  closeMedia(): Promise<void>;
  /** The ad-hoc queries of a database. */
  readsOf(database: OpenDatabase): DatabaseReads;
  /** The SQL of people in a database. */
  sqlReadsOf(database: OpenDatabase): SqlReads;
  /** The sessions of psql in a database. */
  psqlOf(database: OpenDatabase): PsqlSessions;
  closeReads(): Promise<void>;
  /** Starts workers with the Python and environment of a stored runtime. */
  readonly createRunner: CreateFillRunner;
  /** Limits of the queries that columns run while jobs compute them. */
  readonly query_limits: QueryLimits;
  /** Limits of services. */
  readonly limits: ServiceLimits;
  /** Starts an orderly shutdown; returns immediately. */
  requestStop(): void;
}

export interface DaemonInput {
  readonly config: DaemonConfig;
  readonly home: string;
  readonly token: string;
  readonly log: Logger;
  readonly postgres: PostgresProvider;
  readonly migrations: readonly Migration[];
  readonly program: ServiceProgram;
  requestStop(): void;
}

/** Builds the dependencies of the daemon's requests. Starts nothing. */
export function composeDaemon(input: DaemonInput): DaemonDeps {
  const { config, home, log, migrations, postgres, program } = input;
  const clock: Clock = { now: Date.now };
  const runtimes = createRuntimeStore(join(home, HOME_PATHS.runtimes));
  const mediaOf: MediaOf = (database, env) => localMediaPlace(join(home, HOME_PATHS.media, database), env);
  const programs = new ProgramCode(join(home, HOME_PATHS.programs), isProcessOwnerAlive);
  const createRunner: CreateFillRunner = (database, ...job) =>
    createFillRunner({ limits: config.limits, log, runtimes, programs, mediaOf }, database, ...job);
  const writes = new Map<SqlPool, TableWrites>();
  const reads = new Map<SqlPool, DatabaseReads>();
  const sqlReads = new Map<SqlPool, SqlReads>();
  const psqlSessions = new Map<SqlPool, PsqlSessions>();
  const rowFiles = new Map<SqlPool, RowFiles>();
  const managedStores = new Map<SqlPool, Promise<ManagedStore>>();
  const isOwnServer = postgres.superuserDsn !== undefined;
  const machineDisk = isOwnServer ? createMachineDisk(homeDisk(home)) : undefined;
  const databases = new OpenDatabases({
    refuseNew: (name) => findDeviceName("database", name),
    postgres,
    migrations,
    clock,
    log,
    // several homes may share an external server, but each home has one daemon
    owner: `daemon of ${hostname()}:${home}`,
    application_name: DAEMON_CONNECTIONS,
    createRunner,
    ...(machineDisk === undefined ? {} : { admit: machineDisk.admit }),
    query_limits: config.limits,
    async onClose(sql) {
      const opened = [
        writes.get(sql),
        psqlSessions.get(sql),
        reads.get(sql),
        sqlReads.get(sql),
        rowFiles.get(sql),
        await managedStores.get(sql),
      ];
      for (const uses of [writes, psqlSessions, reads, sqlReads, rowFiles, managedStores]) uses.delete(sql);
      for (const one of opened) await one?.[Symbol.asyncDispose]();
    },
  });
  const specFolder = join(home, HOME_PATHS.specs);
  // spec files of services that a killed daemon was starting
  if (existsSync(specFolder)) rmSync(specFolder, { recursive: true, force: true });
  const services = new Services({
    store: createServiceStore(join(home, HOME_PATHS.services)),
    clock,
    log,
    log_folder: join(home, HOME_PATHS.serviceLogs),
    fork: async (service: StoredService) => {
      const database = await databases.open(parseLocalTarget(service.target).database);
      return forkService(program, specFolder, {
        dsn: database.dsn,
        target: service.target,
        manifest: service.manifest,
        runtime: service.runtime,
        services: [service.service],
        host: "127.0.0.1",
        port: service.port,
        limits: config.limits,
        media: mediaOf(parseLocalTarget(service.target).database, service.runtime.env),
      });
    },
  });
  const manifests = createLocalManifests({ folder: join(home, HOME_PATHS.manifests), runtimes, log });
  const openStore = (name: string, sql: SqlPool) =>
    openManagedStore({
      sql,
      folder: join(home, HOME_PATHS.media, name),
      objects: undefined,
      uri: `${MEDIA_SCHEME}${name}/home`,
      secret: input.token,
      database: name,
      log,
      room: async () => undefined,
    });
  const queryWorkers = new QueryWorkers({ clock, log });
  const rowFilesOf: DaemonDeps["rowFilesOf"] = (name, sql) => {
    const known = rowFiles.get(sql);
    if (known !== undefined) return known;
    const printAddress = (base: string, token: string) =>
      base + urlOf(LOCAL_ROUTES.fileShow.path, { db: name }, { token });
    const files = new RowFiles({ sql, log, place: mediaOf(name, {}), env: {}, printAddress });
    rowFiles.set(sql, files);
    return files;
  };
  const sqlReadsOf: DaemonDeps["sqlReadsOf"] = ({ dsn, name, sql }) => {
    const known = sqlReads.get(sql);
    if (known !== undefined) return known;
    const made = new SqlReads({
      database: name,
      dsn,
      sql,
      superuser_dsn: postgres.superuserDsn?.(name),
      application_name: DAEMON_CONNECTIONS,
      max_row_bytes: maxRowBytes(config.limits.result_bytes),
      limits: config.limits,
      log,
    });
    sqlReads.set(sql, made);
    return made;
  };
  return {
    home,
    token: input.token,
    started_at: new Date(clock.now()).toISOString(),
    clock,
    log,
    postgres,
    machine_disk: machineDisk,
    explainOutage: (error) => explainOutage(error, postgres),
    databases,
    runtimes,
    services,
    mediaOf,
    terminals: createTerminalStore(join(home, HOME_PATHS.terminals)),
    async openManagedStore(text) {
      const { name, sql } = await openKnown({ databases }, text);
      const opening = managedStores.get(sql) ?? openStore(name, sql);
      managedStores.set(sql, opening);
      opening.catch(() => managedStores.delete(sql));
      return await opening;
    },
    rowFilesOf,
    readsOf({ dsn, name, sql }) {
      const known = reads.get(sql);
      if (known !== undefined) return known;
      const made = new DatabaseReads({
        database: name,
        dsn,
        is_own_server: isOwnServer,
        application_name: DAEMON_CONNECTIONS,
        max_row_bytes: maxRowBytes(config.limits.result_bytes),
        limits: config.limits,
        log,
        row_files: rowFilesOf(name, sql),
        workers: queryWorkers,
        createRunner,
        findCode: localCode(runtimes, programs),
      });
      reads.set(sql, made);
      return made;
    },
    sqlReadsOf,
    psqlOf(database) {
      const { dsn, name, sql } = database;
      const known = psqlSessions.get(sql);
      if (known !== undefined) return known;
      const made = new PsqlSessions({
        database: name,
        dsn,
        sql,
        superuser_dsn: postgres.superuserDsn?.(name),
        application_name: DAEMON_CONNECTIONS,
        sql_reads: sqlReadsOf(database),
        log,
        admitWrites: async () => undefined,
      });
      made.collect();
      psqlSessions.set(sql, made);
      return made;
    },
    async closeReads() {
      await Promise.all([...psqlSessions.values()].map((one) => one[Symbol.asyncDispose]()));
      await queryWorkers[Symbol.asyncDispose]();
      await Promise.all([...reads.values(), ...sqlReads.values()].map((one) => one[Symbol.asyncDispose]()));
    },
    manifests,
    programs,
    async sweepPrograms() {
      if (!(await programs.sweep(() => databases.programModules()))) return;
      queryWorkers.endUnused();
      for (const one of writes.values()) one.endPrograms();
    },
    scratch: new ScratchDatabases({ home, databases, manifests, postgres, log }),
    body_bytes: config.limits.body_bytes,
    writesOf(name, sql) {
      const known = writes.get(sql);
      if (known !== undefined) return known;
      const opened = new TableWrites({
        sql,
        clock,
        log,
        limits: config.limits,
        runtimes,
        programs,
        manifests,
        mediaOf: (env) => mediaOf(name, env),
        printAddress: printLocalAddress(name),
      });
      writes.set(sql, opened);
      return opened;
    },
    async renewWrites(name) {
      // A request about a database that does not exist makes none.
      const database = await databases.find(name);
      if (database !== undefined) writes.get(database.sql)?.renew();
    },
    async closeWrites() {
      await Promise.all([...writes.values()].map((one) => one[Symbol.asyncDispose]()));
    },
    async closeMedia() {
      await Promise.all([...rowFiles.values()].map((files) => files[Symbol.asyncDispose]()));
      const opened = await Promise.allSettled(managedStores.values());
      for (const store of opened) if (store.status === "fulfilled") await store.value[Symbol.asyncDispose]();
    },
    createRunner,
    query_limits: config.limits,
    limits: config.limits,
    requestStop: input.requestStop,
  };
}

/** Makes the function that prints the daemon's path of a file in a database. */
function printLocalAddress(name: string): (base: string, token: string) => string {
  return (base, token) => base + urlOf(LOCAL_ROUTES.fileShow.path, { db: name }, { token });
}

function homeDisk(home: string): MachineDiskInput {
  return { folder: home, name: `The disk of the home ${home}`, free_it: "Free space on that disk" };
}
