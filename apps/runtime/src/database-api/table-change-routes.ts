import { appError } from "@appdb/contract/errors";
import { isProgramFunction, shownFunctionName } from "@appdb/contract/program-code";
import type { POD_API } from "@appdb/contract/routes/pod-api";
import type { Handlers } from "../api/json-api.ts";
import { differingFiles, filesDiffer } from "../code/differing-files.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { refuseCallersCode } from "../data-reads/query-code.ts";
import { changeDatabase, readDefinition, readHistory, type TableChangeDeps } from "../databases/table-changes.ts";
import { findBrokenByChange } from "../services/broken-services.ts";

/** Changes that give space back, also on a full disk. */
const FREEING: ReadonlySet<string> = new Set(["drop_table", "drop_folder", "drop_index"]);

/** Routes for definitions and changes of single tables of the database. */
export function tableChangeHandlers(
  deps: DatabasePodDeps,
): Pick<Handlers<typeof POD_API>, "historyList" | "tableChange" | "tableDefinition"> {
  const { change_code, database, databases, modules, programs, runtimes, spec, sql } = deps;
  return {
    tableDefinition: async ({ params: { table } }) => {
      await deps.ready();
      return await readDefinition({ sql, uri: spec.uri }, table);
    },
    historyList: async ({ query }) => {
      await deps.ready();
      return await readHistory({ sql, uri: spec.uri }, query);
    },
    tableChange: async ({ body: { files, project_root: _root, runtime: _runtime, services, ...request } }) => {
      refuseCallersCode({ ...request, runtime: null });
      // the hint of a full disk is to drop tables
      if (!FREEING.has(request.change.change)) await deps.disk.admit();
      await deps.ready();
      const differing = differingFiles(files === null ? null : runtimes.of(files).project_root, request.digests);
      if (differing.length > 0) throw filesDiffer(differing, `Upload them first: cli db update ${spec.uri}`);
      // what a request says of a program's function does not count
      const functions = request.functions.map((one) =>
        isProgramFunction(one.id) ? (programs.find(one.id)?.definition ?? refuseMissing(one.id)) : one,
      );
      const runtime = functions.length === 0 ? null : runtimes.of(files);
      // Hosted tables belong to no project folder.
      const ofFiles = { ...request, functions, runtime, project_root: null };
      return async (emit, signal) => {
        const open = () => databases.open(database);
        const onApplied: TableChangeDeps["onApplied"] = (_target, code, isCalled) => change_code.keep(code, isCalled);
        try {
          if (runtime !== null && !request.dry_run) {
            await modules.require(functions, { files, runtime, signal });
            change_code.admit(ofFiles);
          }
          const { manifest, plan } = await changeDatabase(
            { ...deps, open, uri: spec.uri, owns_projects: false, onApplied, onFilled: () => deps.writes.renew() },
            ofFiles,
            emit,
            signal,
          );
          const breaks = findBrokenByChange({ plan, manifest }, services);
          return { plan: breaks.length === 0 ? plan : { ...plan, breaks } };
        } finally {
          deps.writes.renew();
        }
      };
    },
  };
}

function refuseMissing(id: string): never {
  const name = shownFunctionName(id).slice(0, 200);
  throw appError("program_not_found", {
    detail: `The change calls ${name}, which no running program has stored in the database.`,
    hint: "Store it with POST .../programs, as the library does, then send the change again.",
    meta: { function: name },
  });
}
