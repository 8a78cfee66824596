import type { Manifest, ManifestRoute } from "@appdb/contract/manifest";
import type { TablePlan } from "@appdb/contract/plan";
import type { ServiceState } from "@appdb/contract/routes/control-services";
import type { TableIncompatibility } from "@appdb/contract/routes/pod";
import { aColumn, aManifest, aRowRoute, aTable, aUuid7Key } from "@appdb/testkit/manifest-builder";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { sql } from "kysely";
import { addRelease, markServed } from "../control-plane/services/releases.ts";
import type { DesiredService } from "../database/service-tables.ts";
import { type DatabaseWithPod, openDatabaseWithPod } from "./databases.ts";
import { sendJson } from "./fake-pod.ts";
import type { TestServer } from "./open-server.ts";
import { digestOf } from "./tar.ts";

const source = { file: "app.py", line: 1 };

/** An application with the table `docs` and a service of each name, each with these routes. */
export function anApplication(
  names: readonly string[] = ["ingest"],
  routes: readonly ManifestRoute[] = [aRowRoute("docs", ["title"], ["id"])],
  parts: Partial<Manifest> = {},
): Manifest {
  const services = names.map((name) => ({ name, prefix: "", routes: [...routes], source }));
  const tables = [aTable("docs", [aUuid7Key(), aColumn("title", "string", { nullable: true })])];
  return aManifest({ services, tables, modules: [{ path: "app.py", sha256: digestOf("app") }], ...parts });
}

/** A database whose pod reads application files as configured by the test. */
export interface ApplicationDatabase extends DatabaseWithPod {
  /** The manifest for following requests. */
  manifest: Manifest;
  /** The differing tables for following requests. */
  differing: readonly string[];
  /** The incompatibilities of earlier releases for following requests. */
  hindrances: readonly TableIncompatibility[];
}

export async function openApplicationDatabase(
  server: TestServer,
  texts: Readonly<Record<string, string>> = { "app.py": "app", "other.py": "other" },
): Promise<ApplicationDatabase> {
  const database = await openDatabaseWithPod(server, texts);
  const opened: ApplicationDatabase = { ...database, manifest: anApplication(), differing: [], hindrances: [] };
  database.pod.answer = (asked, response) => {
    if (asked.route === "POST /v1/schema/check") return sendJson(response, { hindrances: opened.hindrances });
    const { app_file: appFile } = JSON.parse(asked.body) as { app_file: string };
    const imported = [{ path: appFile, digest: digestOf(texts[appFile] ?? "") }];
    const manifest = { ...opened.manifest, app_file: appFile };
    if (asked.route === "POST /v1/manifest") return sendJson(response, { manifest, imported });
    const tables = opened.differing.map(
      (path): TablePlan => ({
        path,
        model_cls: "Docs",
        kind: "table",
        exists: true,
        resolution: "update_additive",
        ops: [],
        status: null,
        destructive: false,
        error_count: 0,
      }),
    );
    sendJson(response, { plan: schemaPlan({ tables }), imported });
  };
  return opened;
}

export interface MadeService {
  readonly name?: string;
  readonly state?: ServiceState;
  readonly desired?: Partial<DesiredService>;
  /** The number of releases. The last one is desired, and also serves if the service is AVAILABLE. */
  readonly releases?: number;
  readonly manifest?: Manifest;
}

/** Inserts a service in a state that the reconciler leaves. */
export async function makeService(
  server: TestServer,
  of: Pick<ApplicationDatabase, "org" | "database_id" | "digest">,
  { desired, manifest = anApplication(), name = "ingest", releases = 1, state = "AVAILABLE" }: MadeService = {},
): Promise<string> {
  const wish = { release: releases, is_running: state !== "STOPPED", restarts: 0, ...desired };
  const runs = state === "AVAILABLE" || state === "UPDATING";
  return await server.deps.db.transaction().execute(async (tx) => {
    const { id } = await tx
      .insertInto("control.services")
      .values({
        org_id: of.org.id,
        database_id: of.database_id,
        name,
        state,
        desired: JSON.stringify(wish),
        observed: runs ? JSON.stringify({ release: wish.release, restarts: 0, instance: 1 }) : null,
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    for (let number = 1; number <= releases; number++) {
      await addRelease(tx, id, {
        tree: of.digest,
        environment: null,
        app_file: manifest.app_file,
        manifest,
        workers: 1,
        changes: [`change ${number}`],
        created_by: "ann",
      });
      await markServed(tx, id, number);
    }
    return id;
  });
}

/** The row, operations, jobs and events of a service after requests. */
export async function readServiceRecords(server: TestServer, serviceId: string) {
  const { rows } = await sql<{
    state: ServiceState;
    generation: number;
    is_pruned: boolean;
    desired: DesiredService;
    releases: number[];
    operations: { kind: string; state: string }[];
    jobs: number;
  }>`select s.state, s.generation, s.is_pruned, s.desired,
      array(select number from control.releases r where r.service_id = s.id order by number) as releases,
      (select coalesce(jsonb_agg(jsonb_build_object('kind', o.kind, 'state', o.state) order by o.id), '[]')
        from control.operations o where o.service_id = s.id and o.database_id = s.database_id) as operations,
      (select count(*)::int from control.jobs j where j.key = 'reconcile-service ' || s.id) as jobs
    from control.services s where s.id = ${serviceId}`.execute(server.deps.db);
  return rows[0];
}
