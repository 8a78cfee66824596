import { join } from "node:path";
import { MEDIA_FOLDERS } from "@appdb/contract/media-place";
import type { DatabasePodSpec } from "@appdb/contract/pod-spec";
import { PROGRAMS_FOLDER } from "@appdb/contract/program-code";
import { PROGRAM_LIMITS } from "@appdb/contract/routes/programs";
import { limitsOfPod } from "@appdb/contract/service-limits";
import { ensureCatalog, type Migration, upgradeCatalog } from "@appdb/engine/catalog/ensure-catalog";
import { SERVICE_CONNECTIONS } from "@appdb/engine/catalog/reader-connections";
import { readLimitedUse, readMediaUse } from "@appdb/engine/media/media-objects";
import type { Clock, Logger, SqlPool } from "@appdb/engine/ports";
import { PAGE_BYTES } from "@appdb/engine/queries/list-rows";
import type { QueryLimits } from "@appdb/engine/sql/query-limits";
import type { ManagedStore } from "@appdb/media/files/managed-store";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { refuseWrites, tellDiskRoom, tellMediaLimit } from "@appdb/postgres/client/refuse-writes";
import type { EmbeddedPostgres } from "@appdb/postgres/cluster/embedded-postgres";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";
import { createSteadyClock } from "@appdb/system/processes/steady-clock";
import { HostedChangeCode } from "../code/hosted-change-code.ts";
import { ModuleCheck } from "../code/module-check.ts";
import { ProgramLeases } from "../code/program-leases.ts";
import { ProgramReturns } from "../code/program-returns.ts";
import { TreeManifests } from "../code/tree-manifests.ts";
import { createTreeRuntimes, type TreeRuntimes } from "../code/tree-runtimes.ts";
import { DatabaseReads } from "../data-reads/database-reads.ts";
import { PsqlSessions } from "../data-reads/psql-sessions.ts";
import { hostedCode } from "../data-reads/query-code.ts";
import { QueryWorkers } from "../data-reads/query-workers.ts";
import { maxRowBytes } from "../data-reads/row-bytes.ts";
import { SqlReads } from "../data-reads/sql-reads.ts";
import { TableWrites } from "../data-writes/table-writes.ts";
import { POD_CONNECTIONS } from "../databases/connection-names.ts";
import { DatabaseUse } from "../databases/database-use.ts";
import { type CreateFillRunner, createFillRunner } from "../databases/fill-runner.ts";
import { OpenDatabases } from "../databases/open-databases.ts";
import { printFileAddress, RowFiles } from "../databases/row-files.ts";
import { UseMeter } from "../databases/use-meter.ts";
import { DiskGuard } from "../disks/disk-guard.ts";
import { createMachineDisk, type MachineDisk } from "../disks/machine-disk.ts";
import { ServerReserve, shareRefusal } from "../disks/server-reserve.ts";
import { SpoolRoom } from "../disks/spool-room.ts";
import { openManagedStore } from "../media/open-managed-store.ts";

/** Timeout for PostgreSQL's list of connections. */
const HEALTH_MS = 1_500;

const GB = 1024 ** 3;

const { cache, home, scratch, uploads } = MEDIA_FOLDERS;

/** Dependencies of a database pod's requests. */
export interface DatabasePodDeps {
  readonly spec: Pick<DatabasePodSpec, "uri" | "token" | "resources" | "run_folder">;
  /** Name of the database in PostgreSQL. */
  readonly database: string;
  readonly clock: Clock;
  /** Clock for durations; it cannot be set. */
  readonly steady: Clock;
  readonly meter: Pick<UseMeter, "read">;
  readonly log: Logger;
  readonly postgres: PostgresProvider;
  /**
   * Resolves when PostgreSQL has started and an existing catalog has this version's format. Safe to repeat.
   * @throws catalog_too_new, postgres_failed, postgres_unsupported
   */
  ready(): Promise<void>;
  /** Reads and inserts rows. */
  readonly sql: SqlPool;
  /**
   * For operations that the database owner may not perform: service roles, refusing writes. Its statements contain no
   * request values.
   */
  readonly superuser: SqlPool;
  readonly databases: OpenDatabases;
  readonly runtimes: TreeRuntimes;
  readonly manifests: TreeManifests;
  /** Functions of running programs. */
  readonly programs: ProgramLeases;
  readonly change_code: HostedChangeCode;
  readonly modules: ModuleCheck;
  readonly writes: TableWrites;
  /** The files of media cells, for people. */
  readonly row_files: RowFiles;
  readonly reads: DatabaseReads;
  readonly sql_reads: SqlReads;
  readonly psql: PsqlSessions;
  readonly use: DatabaseUse;
  readonly disk: DiskGuard;
  /** The disk of the server, which all databases share. */
  readonly machine_disk: MachineDisk;
  /** The media store of the database, for people. @throws as `ready` */
  managedStore(): Promise<ManagedStore>;
  readonly lifecycle: Lifecycle;
  readonly createRunner: CreateFillRunner;
  readonly query_limits: QueryLimits;
  /** Maximum size of a request body that is read into memory. */
  readonly body_bytes: number;
  /** Maximum bytes of a page of rows. */
  readonly page_bytes: number;
  readonly memory_mb: number;
  /** Starts an orderly shutdown; returns immediately. */
  requestStop(): void;
}

/** Startup progress of the pod. */
export interface Lifecycle {
  /** Whether requests are answered: PostgreSQL has started, and the catalog has this version's format. */
  is_ready: boolean;
  is_stopping: boolean;
}

export interface ComposeDatabaseInput {
  readonly spec: DatabasePodSpec;
  readonly database: string;
  readonly log: Logger;
  readonly postgres: Pick<EmbeddedPostgres, keyof PostgresProvider | "superuserDsn">;
  /** Of the catalog. */
  readonly migrations: readonly Migration[];
  requestStop(): void;
}

/** Builds the dependencies of the pod's requests. Starts nothing. */
export function composeDatabase(input: ComposeDatabaseInput): DatabasePodDeps & AsyncDisposable {
  const { spec, database, log, migrations, postgres } = input;
  const clock: Clock = { now: Date.now };
  const steady = createSteadyClock();
  const limits = { ...spec.limits, workers: spec.resources.workers };
  const runtimes = createTreeRuntimes(spec.files_folder, spec.runtime);
  const changes = new HostedChangeCode(join(spec.data_folder, "change-code.json"));
  const folder = join(spec.data_folder, "manifests");
  const manifests = new TreeManifests({ folder, runtimes, changes, log });
  const returns = new ProgramReturns({ file: join(spec.data_folder, "program-modules.json"), log });
  const programs = new ProgramLeases({
    folder: join(spec.data_folder, PROGRAMS_FOLDER),
    returns,
    clock: steady,
    limits: PROGRAM_LIMITS,
    python: spec.runtime.python_version,
    neededByJobs: () => databases.programModules(),
    log,
    onChange() {
      queryWorkers.endUnused();
      writes.endPrograms();
    },
  });
  const createRunner: CreateFillRunner = (database, ...job) =>
    createFillRunner({ limits, log, runtimes, programs: programs.code, mediaOf: () => spec.media }, database, ...job);
  const isInBucket = spec.media.objects !== undefined;
  const mediaLimit = spec.media_gb === undefined ? undefined : spec.media_gb * GB;
  const refuse = shareRefusal((full) => refuseWrites(superuser, full));
  const reserve = new ServerReserve({
    folder: spec.data_folder,
    floor_bytes: spec.disk_floor_bytes,
    log,
    refuseWrites: (isReached) => refuse("server", isReached),
  });
  const spools = new SpoolRoom({
    // temporary folders of pods are in memory
    folder: spec.data_folder,
    uri: spec.uri,
    room: async () => (await disk.room()).bytes,
  });
  const disk: DiskGuard = new DiskGuard({
    folders: [
      spec.data_folder,
      spec.log_folder,
      spec.services_folder,
      // files that were stored before the server had a bucket use the disk, and are not many more later
      ...[cache, uploads, scratch, ...(isInBucket ? [home] : [])].map((name) => join(spec.media.folder, name)),
    ],
    readMedia: async () => (await readLimitedUse(sql)) ?? (await readMediaUse(sql, home)),
    is_media_in_bucket: isInBucket,
    media_limit_bytes: mediaLimit,
    uri: spec.uri,
    media_uri: spec.media.home_address ?? spec.uri,
    resources: spec.resources,
    log,
    clock: steady,
    usedAt: () => use.last_touched_at,
    spools,
    reserve,
    refuseWrites: (isFull) => refuse("database", isFull),
    tellRoom: (bytes) => tellDiskRoom(superuser, bytes),
  });
  const machineDisk = createMachineDisk({
    folder: spec.data_folder,
    name: "The disk of the server",
    free_it: "Ask the operator of the server to free space on its disk",
  });
  const admit = async () => {
    await disk.admit();
    await machineDisk.admit();
  };
  const databases = new OpenDatabases({
    postgres,
    migrations,
    clock,
    log,
    owner: `pod of ${spec.database_id}`,
    application_name: POD_CONNECTIONS,
    createRunner: async (database, ...job) => {
      // jobs of an update write like the update itself
      await admit();
      return await createRunner(database, ...job);
    },
    plain_runtime_id: runtimes.save(runtimes.of(null), null),
    admit,
    query_limits: limits,
  });
  const sql = createPgPool({
    dsn: postgres.dsn(database),
    max: limits.connections,
    statement_timeout_ms: limits.statement_timeout_ms,
    application_name: POD_CONNECTIONS,
    log,
    status_command: `cli db status ${spec.uri}`,
  });
  const printAddress = printFileAddress(spec.uri);
  const writes = new TableWrites({
    sql,
    clock: steady,
    log,
    limits: limitsOfPod(limits, spec.resources.memory_mb),
    runtimes,
    plain_runtime: runtimes.of(null),
    programs: programs.code,
    manifests,
    mediaOf: () => spec.media,
    printAddress,
    openSpool: () => spools.open(),
  });
  const rowFiles = new RowFiles({ sql, log, place: spec.media, env: spec.runtime.env, printAddress });
  const queryWorkers = new QueryWorkers({ clock: steady, log });
  const rowBytes = maxRowBytes(limits.result_bytes, spec.resources.memory_mb);
  const reads = new DatabaseReads({
    database,
    dsn: postgres.dsn(database),
    is_own_server: true,
    application_name: POD_CONNECTIONS,
    max_row_bytes: rowBytes,
    limits,
    log,
    row_files: rowFiles,
    workers: queryWorkers,
    createRunner,
    findCode: hostedCode({ sql, manifests, programs, runtimes }),
  });
  const sqlReads = new SqlReads({
    database,
    dsn: postgres.dsn(database),
    sql,
    superuser_dsn: postgres.superuserDsn(database),
    application_name: POD_CONNECTIONS,
    max_row_bytes: rowBytes,
    limits,
    log,
  });
  const psql = new PsqlSessions({
    database,
    dsn: postgres.dsn(database),
    sql,
    superuser_dsn: postgres.superuserDsn(database),
    application_name: POD_CONNECTIONS,
    sql_reads: sqlReads,
    log,
    admitWrites: () => disk.admit(),
  });
  // a separate connection, so that the health check works while all others are busy
  const watching = createPgPool({
    dsn: postgres.dsn(database),
    max: 1,
    statement_timeout_ms: HEALTH_MS,
    application_name: POD_CONNECTIONS,
    log,
  });
  const superuser = createPgPool({
    dsn: postgres.superuserDsn(database),
    max: 1,
    statement_timeout_ms: limits.statement_timeout_ms,
    application_name: POD_CONNECTIONS,
    log,
  });
  const use = new DatabaseUse({
    sql: watching,
    clock: steady,
    application_name: POD_CONNECTIONS,
    services: SERVICE_CONNECTIONS,
  });
  let prepared: Promise<void> | undefined;
  const ready = () => {
    prepared ??= postgres.start().then(async () => {
      // opens the connection early; if this fails, the next health check reports it
      watching.query({ text: "select 1" }).catch(() => undefined);
      await tellMediaLimit(superuser, mediaLimit);
      // before a service can connect
      await reserve.watch();
      await upgradeCatalog(sql, migrations);
      psql.collect();
      returns.begin();
    });
    return prepared;
  };
  let managedStore: Promise<ManagedStore> | undefined;
  const openStore = () =>
    openManagedStore({
      sql,
      folder: spec.media.folder,
      objects: spec.media.objects,
      uri: spec.media.home_address ?? spec.uri,
      secret: spec.link_token,
      database: spec.database_id,
      log,
      room: () => disk.room(),
      admit: () => reserve.admit(),
    });
  return {
    spec,
    database,
    clock,
    steady,
    meter: new UseMeter(steady),
    log,
    postgres,
    ready,
    async managedStore() {
      await ready();
      // files can be put before the first table
      await ensureCatalog(sql, migrations);
      managedStore ??= openStore();
      // the next request tries again
      managedStore.catch(() => {
        managedStore = undefined;
      });
      return await managedStore;
    },
    sql,
    superuser,
    databases,
    runtimes,
    manifests,
    programs,
    change_code: changes,
    modules: new ModuleCheck({ limits, log, uri: spec.uri }),
    writes,
    row_files: rowFiles,
    reads,
    sql_reads: sqlReads,
    psql,
    use,
    disk,
    machine_disk: machineDisk,
    lifecycle: { is_ready: false, is_stopping: false },
    createRunner,
    query_limits: limits,
    body_bytes: limits.body_bytes,
    page_bytes: maxRowBytes(PAGE_BYTES, spec.resources.memory_mb),
    memory_mb: spec.resources.memory_mb,
    requestStop: input.requestStop,
    async [Symbol.asyncDispose]() {
      disk[Symbol.dispose]();
      reserve[Symbol.dispose]();
      returns[Symbol.dispose]();
      const opened = await managedStore?.catch(() => undefined);
      await opened?.[Symbol.asyncDispose]();
      await writes[Symbol.asyncDispose]();
      await psql[Symbol.asyncDispose]();
      await queryWorkers[Symbol.asyncDispose]();
      await reads[Symbol.asyncDispose]();
      await sqlReads[Symbol.asyncDispose]();
      await rowFiles[Symbol.asyncDispose]();
      // no worker runs its functions any more
      programs[Symbol.dispose]();
      await databases[Symbol.asyncDispose]();
      await Promise.all([sql, watching, superuser].map((pool) => pool[Symbol.asyncDispose]()));
    },
  };
}
