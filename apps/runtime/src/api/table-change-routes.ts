import { type LocalTarget, parseLocalTarget, serviceText } from "@appdb/contract/names";
import type { BrokenService, SchemaPlan } from "@appdb/contract/plan";
import type { LOCAL_API } from "@appdb/contract/routes/local-api";
import { findService } from "@appdb/engine/services/compare-routes";
import type { DaemonDeps } from "../composition/compose.ts";
import { openKnown } from "../databases/open-known.ts";
import { changeDatabase, readDefinition, readHistory } from "../databases/table-changes.ts";
import { findBrokenServices } from "../services/broken-services.ts";
import type { StoredService } from "../services/service-store.ts";
import type { Handlers } from "./json-api.ts";

/** Routes for definitions and changes of single tables. */
export function tableChangeHandlers(
  deps: DaemonDeps,
): Pick<Handlers<typeof LOCAL_API>, "historyList" | "tableChange" | "tableDefinition"> {
  return {
    tableDefinition: async ({ params: { db, table } }) => {
      const { name, sql } = await openKnown(deps, db);
      return await readDefinition({ sql, uri: name }, table);
    },
    historyList: async ({ params: { db }, query }) => await readHistory((await openKnown(deps, db)).sql, query),
    tableChange: async ({ body, params: { db } }) => {
      const target = parseLocalTarget(db);
      const open = async (isFirst: boolean) => {
        if (isFirst) return await deps.databases.open(target.database);
        const isPlannedFirst = body.change.change === "create_table" || body.change.change === "create_folder";
        return isPlannedFirst ? await deps.databases.find(target.database) : await openKnown(deps, db);
      };
      if (body.program !== null) deps.programs.store(body.program);
      return async (emit, signal) => {
        const onApplied = deps.manifests.keepCode;
        const { manifest, plan } = await changeDatabase(
          { ...deps, open, uri: target.database, owns_projects: true, onApplied },
          body,
          emit,
          signal,
        ).finally(() => deps.renewWrites(target.database));
        const breaks = findBroken(deps, target, { plan, manifest, project_root: body.runtime?.project_root });
        return { plan: breaks.length === 0 ? plan : { ...plan, breaks } };
      };
    },
  };
}

interface Changed {
  readonly plan: SchemaPlan;
  readonly manifest: Parameters<typeof findBrokenServices>[1]["manifest"] | null;
  readonly project_root: string | undefined;
}

/** Running services that the change breaks: those of columns that went, and those of tables that went. */
function findBroken(
  { services }: DaemonDeps,
  target: LocalTarget,
  { manifest, plan, project_root: projectRoot }: Changed,
): BrokenService[] {
  const running = services
    .list(undefined)
    .filter(({ catalog_path: of, endpoint }) => endpoint !== null && parseLocalTarget(of).database === target.database)
    .flatMap(({ catalog_path: of }) => services.present(of));
  const stored = [...new Map(running.map(({ stored: one }) => [`${one.target}/${one.service}`, one])).values()];
  const gone = plan.tables.flatMap(({ ops, path }) =>
    ops.flatMap(({ details, op, target: what }) => {
      if (what !== "table") return [];
      if (op === "drop") return [path];
      const { moved_from: movedFrom, renamed_from: renamedFrom } = details;
      if (typeof movedFrom === "string") return [`${target.database}/${movedFrom}`];
      return typeof renamedFrom === "string" ? [`${path.slice(0, path.lastIndexOf("/"))}/${renamedFrom}`] : [];
    }),
  );
  const ofGone = stored.flatMap((service) => usersOf(service, gone, projectRoot));
  const known = new Set(ofGone.map(({ service }) => service));
  const ofChanged = manifest === null ? [] : findBrokenServices(plan, { manifest, project_root: projectRoot }, stored);
  return [...ofGone, ...ofChanged.filter(({ service }) => !known.has(service))];
}

/** A service with a route over one of some tables. */
function usersOf(
  { manifest, runtime, service, target }: StoredService,
  gone: readonly string[],
  projectRoot: string | undefined,
): BrokenService[] {
  const routes = findService(manifest, service)?.routes ?? [];
  const tables = new Set(
    routes.flatMap((route) => {
      if ("table" in route) return [route.table];
      const query = "query" in route ? manifest.queries.find(({ id }) => id === route.query)?.query : undefined;
      return query === undefined ? [] : [query.from, ...query.joins].map(({ table }) => table);
    }),
  );
  const used = [...tables].map((table) => `${target}/${table}`).filter((path) => gone.includes(path));
  if (used.length === 0) return [];
  return [
    {
      service: serviceText({ catalog_path: target, name: service }),
      tables: used,
      app_file: manifest.app_file,
      project_root: runtime.project_root === projectRoot ? null : runtime.project_root,
      is_defined: true,
      is_destructive: false,
    },
  ];
}
