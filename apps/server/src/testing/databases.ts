import type { TreeEntry } from "@appdb/contract/control/project-tree";
import type { DatabaseState, EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { sql } from "kysely";
import { type DesiredDatabase, firstDesired } from "../database/desired.ts";
import { recordBlobs } from "../storage/blob-store.ts";
import { storeTree } from "../storage/store-tree.ts";
import { type FakePod, openFakePod } from "./fake-pod.ts";
import type { TestServer } from "./open-server.ts";
import { makePeople, type TestOrg, type TestPeople } from "./people.ts";
import { digestOf } from "./tar.ts";

export const RESOURCES = { cpu: 1, memory_mb: 1_024, disk_gb: 10, workers: 1 } as const;

export interface MadeDatabase {
  readonly name?: string;
  readonly state?: DatabaseState;
  /** Differences from the default state of a new database. */
  readonly desired?: Partial<DesiredDatabase>;
  /** The observed state if it differs from the desired one. Null for a database that was never started. */
  readonly observed?: Partial<DesiredDatabase> | null;
}

/** Inserts a database in a state that the reconciler leaves. */
export async function makeDatabase(server: TestServer, org: TestOrg, made: MadeDatabase = {}): Promise<string> {
  const desired = { ...firstDesired(RESOURCES), ...made.desired };
  const { is_awake: _, ...observed } = { ...desired, ...made.observed };
  const { state = "AVAILABLE" } = made;
  const row = await server.deps.db
    .insertInto("control.databases")
    .values({
      org_id: org.id,
      name: made.name ?? "main",
      state,
      desired: JSON.stringify(desired),
      observed: made.observed === null ? null : JSON.stringify(observed),
      ...(state === "DELETING" ? { purge_at: sql<Date>`now() + interval '7 days'` } : {}),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return row.id;
}

/** An organization with people and an AVAILABLE database `main`. */
export interface HostedDatabase extends TestPeople {
  readonly database_id: string;
}

export async function makeHostedDatabase(server: TestServer): Promise<HostedDatabase> {
  const people = await makePeople(server);
  return { ...people, database_id: await makeDatabase(server, people.org) };
}

/** A hosted database with project files, and a pod that the test answers for. */
export interface DatabaseWithPod extends HostedDatabase, AsyncDisposable {
  readonly pod: FakePod;
  readonly files: TreeEntry[];
  /** The digest of the files. */
  readonly digest: string;
}

export async function openDatabaseWithPod(
  server: TestServer,
  texts: Readonly<Record<string, string>> = {},
): Promise<DatabaseWithPod> {
  const people = await makePeople(server);
  const files = await makeFiles(server, people.org, texts);
  const { digest } = await server.deps.db
    .transaction()
    .execute((tx) => storeTree(tx, people.org.id, files, server.deps.config.quotas.storage));
  const databaseId = await makeDatabase(server, people.org, { desired: { tree: digest } });
  const pod = await openFakePod(server, { id: databaseId, org_id: people.org.id });
  return {
    ...people,
    database_id: databaseId,
    pod,
    files,
    digest,
    [Symbol.asyncDispose]: () => pod[Symbol.asyncDispose](),
  };
}

/** The row, operations, waiting jobs and events of a database after a request. */
export async function readDatabaseRecords(server: TestServer, databaseId: string) {
  const { rows } = await sql<{
    state: DatabaseState;
    generation: number;
    desired: DesiredDatabase;
    purged_in_s: number | null;
    operations: { kind: string; state: string }[];
    jobs: number;
    events: string[];
  }>`select d.state, d.generation, d.desired, round(extract(epoch from purge_at - now()))::int as purged_in_s,
      (select coalesce(jsonb_agg(jsonb_build_object('kind', o.kind, 'state', o.state) order by o.id), '[]')
        from control.operations o where o.database_id = d.id) as operations,
      (select count(*)::int from control.jobs j where j.key = 'reconcile-database ' || d.id) as jobs,
      (select coalesce(jsonb_agg(e.action || ' ' || e.outcome order by e.id), '[]') from control.events e
        join control.operations o on o.id = e.operation_id where o.database_id = d.id) as events
    from control.databases d where d.id = ${databaseId}`.execute(server.deps.db);
  return rows[0];
}

/** The files of a project in the form of an upload. The organization has the bytes of those in `uploaded`. */
export async function makeFiles(
  server: TestServer,
  org: TestOrg,
  texts: Readonly<Record<string, string>>,
  uploaded: readonly string[] = Object.keys(texts),
): Promise<TreeEntry[]> {
  const entries = Object.entries(texts).map(([path, text]) => ({
    path,
    size: Buffer.byteLength(text),
    is_executable: false,
    link: null,
    chunks: text === "" ? [] : [digestOf(text)],
  }));
  for (const path of uploaded) {
    const bytes = Buffer.from(texts[path] ?? "");
    if (bytes.length === 0) continue;
    await server.deps.blobs.put(org.id, digestOf(bytes), [bytes]);
    await recordBlobs(server.deps.db, org.id, [{ digest: digestOf(bytes), bytes: bytes.length }]);
  }
  return entries.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** An environment without additional packages. */
export const NO_PACKAGES: EnvironmentDocument = {
  source: null,
  files: [],
  python_version: null,
  system_packages: [],
  uv_options: null,
};
