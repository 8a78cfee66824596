import type { Manifest } from "@appdb/contract/manifest";
import { parseTarget } from "@appdb/contract/names";
import type { ImportedFile } from "@appdb/contract/routes/pod";
import type { POD_API } from "@appdb/contract/routes/pod-api";
import { listRuntimes } from "@appdb/engine/catalog/catalog-store";
import { hasCatalog, readDefinitions } from "@appdb/engine/catalog/load-catalog";
import { findIncompatibilities } from "@appdb/engine/endpoints/check-tables";
import { endOf } from "@appdb/http/mount-api";
import type { Handlers } from "../api/json-api.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { explainTarget } from "../databases/explain.ts";
import { giveFiles } from "../databases/give-files.ts";
import { applyTarget, planForPerson, pruneTarget, type TargetFolder } from "../databases/schema.ts";
import { findBrokenServices } from "../services/broken-services.ts";

/** Routes for manifests of trees, and for plans and updates based on them. */
export function schemaHandlers(
  deps: DatabasePodDeps,
): Pick<
  Handlers<typeof POD_API>,
  "manifest" | "queryExplain" | "schemaApply" | "schemaPlan" | "schemaPrune" | "tablesCheck" | "treeList" | "treeUse"
> {
  const { manifests, runtimes } = deps;
  return {
    manifest: async ({ body: { app_file: appFile, files }, reply }) => {
      const manifest = await manifests.read(files, appFile, endOf(reply));
      return { manifest, imported: importedBy(manifest) };
    },
    treeList: async () => {
      await deps.ready();
      const ids = (await hasCatalog(deps.sql)) ? await listRuntimes(deps.sql) : [];
      return { trees: [...new Set(ids.flatMap((id) => runtimes.treeOf(id) ?? []))] };
    },
    treeUse: async ({ body: { files } }) => {
      await deps.ready();
      if (await giveFiles(deps, files)) deps.writes.renew();
      return undefined;
    },
    schemaPlan: async ({ body: { app_file: appFile, files, folders, manifest: made, recompute, services }, reply }) => {
      const target = placeOf(deps, folders);
      const signal = endOf(reply);
      const manifest = made ?? (await manifests.read(files, appFile, signal));
      // these files need another Python than this pod's
      const runtime = made === undefined ? runtimes.of(files) : null;
      const plan = await planForPerson(deps, { manifest, target, runtime, recompute }, signal);
      // a plan that cannot be applied breaks nothing
      const breaks = plan.summary.unsupported === 0 ? findBrokenServices(plan, { manifest }, services) : [];
      return { plan: breaks.length === 0 ? plan : { ...plan, breaks }, imported: importedBy(manifest) };
    },
    schemaPrune: async ({ body: { app_file: appFile, catalog_version: catalogVersion, files, folders }, reply }) => {
      await deps.ready();
      const manifest = await manifests.read(files, appFile, endOf(reply));
      try {
        const input = { manifest, target: placeOf(deps, folders), catalog_version: catalogVersion };
        return { plan: await pruneTarget(deps, input) };
      } finally {
        deps.writes.renew();
      }
    },
    queryExplain: async ({ body: { app_file: appFile, files, folders, ...question }, reply }) => {
      await deps.ready();
      const manifest = await manifests.read(files, appFile, endOf(reply));
      return await explainTarget(deps, { ...question, manifest, target: placeOf(deps, folders) });
    },
    tablesCheck: async ({ body: { folders, manifest } }) => {
      await deps.ready();
      const catalog = await readDefinitions(deps.sql);
      return { hindrances: findIncompatibilities({ manifest, target: placeOf(deps, folders).text }, catalog) };
    },
    schemaApply: async ({ body: { files, app_file: appFile, folders, ...input } }) => {
      await deps.disk.admit();
      const target = placeOf(deps, folders);
      return async (emit, signal) => {
        const manifest = await manifests.read(files, appFile, signal);
        const runtime = runtimes.of(files);
        manifests.store(runtimes.save(runtime, manifest.app_file), manifest);
        try {
          return { plan: await applyTarget(deps, { ...input, manifest, target, runtime }, emit, signal) };
        } finally {
          deps.writes.renew();
        }
      };
    },
  };
}

/** Parses folders of the database as a target. @throws invalid_target */
function placeOf({ spec, database }: DatabasePodDeps, folders: readonly string[]): TargetFolder {
  return { database, text: parseTarget([spec.uri, ...folders].join("/")).text };
}

function importedBy({ modules }: Manifest): ImportedFile[] {
  return modules.map(({ path, sha256 }) => ({ path, digest: sha256 }));
}
