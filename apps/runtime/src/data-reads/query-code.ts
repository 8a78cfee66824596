import { appError } from "@appdb/contract/errors";
import type { ManifestFunction } from "@appdb/contract/manifest";
import { isProgramFunction, shownFunctionName } from "@appdb/contract/program-code";
import type { requestCodeSchema } from "@appdb/contract/routes/data-queries";
import type { BoundQuery } from "@appdb/engine/bound-queries/bind-query";
import { readRuntime } from "@appdb/engine/catalog/catalog-store";
import type { SqlPool } from "@appdb/engine/ports";
import type { z } from "zod";
import { differingFiles, filesDiffer } from "../code/differing-files.ts";
import type { ProgramCode } from "../code/program-code.ts";
import type { LeasedFunction, ProgramLeases } from "../code/program-leases.ts";
import { storeProgram } from "../code/program-processes.ts";
import type { RuntimeStore } from "../code/runtime-store.ts";
import type { TreeManifests } from "../code/tree-manifests.ts";
import type { TreeRuntimes } from "../code/tree-runtimes.ts";

export type RequestCode = z.output<typeof requestCodeSchema>;

/** Where the functions of a query are: their definitions, and the stored runtime that has them. */
export interface FoundCode {
  readonly functions: readonly ManifestFunction[];
  readonly runtime_id: string;
}

/** Finds the code of a query that calls these functions. @throws function_missing, invalid_request */
export type FindCode = (code: RequestCode, query: BoundQuery, called: readonly string[]) => Promise<FoundCode>;

/** The code of a local query: the caller's own program. */
export function localCode(runtimes: Pick<RuntimeStore, "save">, programs: Pick<ProgramCode, "store">): FindCode {
  return async ({ functions, program, runtime }, _query, called) => {
    if (program !== null) storeProgram(programs, program);
    const known = new Set(functions.map(({ id }) => id));
    const missing = called.find((id) => !known.has(id));
    if (missing !== undefined)
      throw unknownFunction(missing, "The request does not describe it.", "Send it in functions.");
    if (runtime !== null) return { functions, runtime_id: runtimes.save(runtime, null) };
    throw appError("invalid_request", {
      detail: `Python computes a part of the query${called.length === 0 ? "" : ` (${called.join(", ")})`}, and the request has no runtime.`,
      hint: "Send the runtime of your program, as the library does.",
      errors: [{ pointer: "/runtime", detail: "The query needs a runtime." }],
    });
  };
}

export interface HostedCodeDeps {
  readonly sql: SqlPool;
  readonly manifests: Pick<TreeManifests, "applied">;
  readonly programs: Pick<ProgramLeases, "find" | "returned">;
  readonly runtimes: Pick<TreeRuntimes, "of" | "save" | "treeOf">;
}

/**
 * The code of a hosted query: the project files of the last updates of its tables, and functions that a program which
 * may change tables has stored. The request only names them.
 */
export function hostedCode({ manifests, programs, runtimes, sql }: HostedCodeDeps): FindCode {
  return async ({ digests }, { tables }, called) => {
    const wanted = called.filter(isProgramFunction);
    if (wanted.length > 0) await programs.returned(wanted);
    const leased = wanted.map((id) => programs.find(id) ?? refuseEnded(id));
    const ofPrograms = leased.map(({ definition }) => definition);
    const ofProject = called.filter((id) => !isProgramFunction(id));
    const [first] = leased;
    if (first !== undefined && ofProject.length === 0) return { functions: ofPrograms, runtime_id: runtimeOf(first) };
    const ids = await Promise.all(tables.map(({ table }) => readRuntime(sql, table.id)));
    const names = tables.map(({ table }) => table.name).join(", ");
    const isPlain = called.length === 0 && ids.every((id) => id === null);
    if (isPlain) return { functions: [], runtime_id: runtimes.save(runtimes.of(null), null) };
    let missing = ofProject[0] ?? "";
    let differing: readonly string[] = [];
    for (const id of new Set(ids.filter((one) => one !== null))) {
      const { functions } = await manifests.applied(id);
      const known = new Set(functions.map((one) => one.id));
      const unknown = ofProject.find((one) => !known.has(one));
      if (unknown === undefined) {
        differing = differingFiles(runtimes.of(runtimes.treeOf(id) ?? null).project_root, digests);
        if (differing.length > 0) continue;
        const rest = functions.filter((one) => !isProgramFunction(one.id));
        return { functions: [...rest, ...ofPrograms], runtime_id: id };
      }
      missing = unknown;
    }
    if (differing.length > 0) {
      throw filesDiffer(differing, `Upload them, and update the columns of ${names} that call them: cli db update`);
    }
    throw unknownFunction(
      missing,
      `The project files of the last update of ${names} do not have it.`,
      "Update the tables by the file that declares it: cli schema update <app file> <target>",
    );
  };

  function runtimeOf({ files }: LeasedFunction): string {
    return runtimes.save(runtimes.of(files), null);
  }
}

/** A query needs no permission to run code, so that it brings none. @throws invalid_request, function_missing */
export function refuseCallersCode({ program, runtime }: RequestCode): void {
  if (program !== null) {
    throw appError("function_missing", {
      detail: "The request has functions of a program. A hosted database takes them under a lease.",
      hint: "Store them with POST .../programs, as the library does, and send null.",
    });
  }
  if (runtime === null) return;
  throw appError("invalid_request", {
    detail: "A hosted database runs its own project files; the request has a runtime.",
    hint: "Send no runtime, or null.",
    errors: [{ pointer: "/runtime", detail: "The runtime must be null." }],
  });
}

function refuseEnded(id: string): never {
  const name = shownFunctionName(id).slice(0, 200);
  throw appError("function_missing", {
    detail: `The query calls ${name}. It was defined in a notebook or program that has ended.`,
    hint: "Move the function into a module of the project, for example functions.py, and run: cli db update",
    meta: { function: name },
  });
}

function unknownFunction(id: string, why: string, hint: string): Error {
  const name = id.slice(0, 200);
  return appError("function_missing", {
    detail: `The query calls ${name === "" ? "Python" : name}. ${why}`,
    hint,
    meta: { function: name },
  });
}
