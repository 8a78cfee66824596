import type { Manifest } from "@appdb/contract/manifest";
import { parseTarget } from "@appdb/contract/names";
import {
  type ImportedFile,
  type PodTrees,
  podManifestRequestSchema,
  podSchemaApplyRequestSchema,
  podSchemaPlanRequestSchema,
  podTablesCheckRequestSchema,
  type TableHindrance,
} from "@appdb/contract/routes/pod";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import { listRuntimes } from "@appdb/engine/catalog/catalog-store";
import { emptyCatalog, hasCatalog, loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { findHindrances } from "@appdb/engine/endpoints/check-tables";
import type { FastifyInstance } from "fastify";
import { answerEvents, endOf } from "../api/events.ts";
import { parseRequest } from "../api/parse.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { applyTarget, planForPerson, type TargetPlace } from "../databases/schema.ts";

/** Manifests of trees, and plans and updates of the tables by them. */
export function addSchemaRoutes(app: FastifyInstance, deps: DatabasePodDeps): void {
  const { manifests, runtimes } = deps;
  app.post(POD_ROUTES.manifest.path, async (request, reply) => {
    const { files, app_file: appFile } = parseRequest(podManifestRequestSchema, request.body);
    const manifest = await manifests.read(files, appFile, endOf(reply));
    return { manifest, imported: importedBy(manifest) };
  });
  app.get(POD_ROUTES.treeList.path, async (): Promise<PodTrees> => {
    await deps.ready();
    const ids = (await hasCatalog(deps.sql)) ? await listRuntimes(deps.sql) : [];
    return { trees: [...new Set(ids.flatMap((id) => runtimes.treeOf(id) ?? []))] };
  });
  app.post(POD_ROUTES.schemaPlan.path, async (request, reply) => {
    const {
      files,
      app_file: appFile,
      folders,
      manifest: made,
      recompute,
    } = parseRequest(podSchemaPlanRequestSchema, request.body);
    const target = placeOf(deps, folders);
    const signal = endOf(reply);
    const manifest = made ?? (await manifests.read(files, appFile, signal));
    // this pod's Python is not the one that these files are for
    const runtime = made === undefined ? runtimes.of(files) : null;
    const plan = await planForPerson(deps, { manifest, target, runtime, recompute }, signal);
    return { plan, imported: importedBy(manifest) };
  });
  app.post(POD_ROUTES.tablesCheck.path, async (request): Promise<{ hindrances: TableHindrance[] }> => {
    const { folders, manifest } = parseRequest(podTablesCheckRequestSchema, request.body);
    await deps.ready();
    const catalog = (await hasCatalog(deps.sql)) ? await loadCatalog(deps.sql) : emptyCatalog();
    return { hindrances: findHindrances({ manifest, target: placeOf(deps, folders).text }, catalog) };
  });
  app.post(POD_ROUTES.schemaApply.path, async (request, reply) => {
    const { files, app_file: appFile, folders, ...input } = parseRequest(podSchemaApplyRequestSchema, request.body);
    await deps.disk.admit();
    const target = placeOf(deps, folders);
    await answerEvents(deps, request, reply, async (emit, signal) => {
      const manifest = await manifests.read(files, appFile, signal);
      const runtime = runtimes.of(files);
      manifests.keep(runtimes.save(runtime, manifest.app_file), manifest);
      try {
        return { plan: await applyTarget(deps, { ...input, manifest, target, runtime }, emit, signal) };
      } finally {
        deps.inserts.renew();
      }
    });
  });
}

/** Folders of the database as a target of it. @throws invalid_target */
function placeOf({ spec, database }: DatabasePodDeps, folders: readonly string[]): TargetPlace {
  return { database, text: parseTarget([spec.uri, ...folders].join("/")).text };
}

function importedBy({ modules }: Manifest): ImportedFile[] {
  return modules.map(({ path, sha256 }) => ({ path, digest: sha256 }));
}
