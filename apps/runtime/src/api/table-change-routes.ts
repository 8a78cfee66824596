import { parseLocalTarget } from "@appdb/contract/names";
import type { LOCAL_API } from "@appdb/contract/routes/local-api";
import { makesDatabase } from "@appdb/contract/routes/table-changes";
import { storeProgram } from "../code/program-processes.ts";
import type { DaemonDeps } from "../composition/compose.ts";
import { openKnown } from "../databases/open-known.ts";
import { changeDatabase, readDefinition, readHistory } from "../databases/table-changes.ts";
import { findBrokenByChange, type RunningService, runningOf } from "../services/broken-services.ts";
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
    historyList: async ({ params: { db }, query }) => {
      const { name, sql } = await openKnown(deps, db);
      return await readHistory({ sql, uri: name }, query);
    },
    tableChange: async ({ body, params: { db } }) => {
      const target = parseLocalTarget(db);
      const open = async (isFirst: boolean) => {
        if (isFirst) return await deps.databases.open(target.database);
        return makesDatabase(body.change) ? await deps.databases.find(target.database) : await openKnown(deps, db);
      };
      if (body.program !== null) storeProgram(deps.programs, body.program);
      return async (emit, signal) => {
        const { copy: onMove, keepCode: onApplied } = deps.manifests;
        const onFilled = (): void => void deps.renewWrites(target.database);
        const { manifest, plan } = await changeDatabase(
          { ...deps, open, uri: target.database, owns_projects: true, onApplied, onFilled, onMove },
          body,
          emit,
          signal,
        ).finally(() => deps.renewWrites(target.database));
        const change = { plan, manifest, project_root: body.runtime?.project_root };
        const breaks = findBrokenByChange(change, runningIn(deps, target.database));
        return { plan: breaks.length === 0 ? plan : { ...plan, breaks } };
      };
    },
  };
}

function runningIn({ services }: DaemonDeps, database: string): RunningService[] {
  const running = services
    .list(undefined)
    .filter(({ catalog_path: of, endpoint }) => endpoint !== null && parseLocalTarget(of).database === database)
    .flatMap(({ catalog_path: of }) => services.present(of));
  const stored = new Map(running.map(({ stored: one }) => [`${one.target}/${one.service}`, one]));
  return [...stored.values()].map(runningOf);
}
