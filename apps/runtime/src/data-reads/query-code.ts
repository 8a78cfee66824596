import { appError } from "@appdb/contract/errors";
import type { ManifestFunction } from "@appdb/contract/manifest";
import type { requestCodeSchema } from "@appdb/contract/routes/data-queries";
import type { BoundQuery } from "@appdb/engine/catalog/bind-query";
import { readRuntime } from "@appdb/engine/catalog/catalog-store";
import type { SqlPool } from "@appdb/engine/ports";
import type { z } from "zod";
import type { ProgramCode } from "../databases/program-code.ts";
import type { RuntimeStore } from "../databases/runtime-store.ts";
import type { TreeManifests } from "../databases/tree-manifests.ts";

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
    if (program !== null) programs.store(program);
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

/** The code of a hosted query: the project files of the last updates of its tables. */
export function hostedCode(sql: SqlPool, manifests: Pick<TreeManifests, "applied">): FindCode {
  return async (_code, { tables }, called) => {
    const ids = await Promise.all(tables.map(({ table }) => readRuntime(sql, table.id)));
    const names = tables.map(({ table }) => table.name).join(", ");
    let missing = called[0] ?? "";
    for (const id of new Set(ids.filter((one) => one !== null))) {
      const { functions } = await manifests.applied(id);
      const known = new Set(functions.map((one) => one.id));
      const unknown = called.find((one) => !known.has(one));
      if (unknown === undefined) return { functions, runtime_id: id };
      missing = unknown;
    }
    throw unknownFunction(
      missing,
      `The project files of the last update of ${names} do not have it.`,
      "Update the tables by the file that declares it: cli schema update <app file> <target>",
    );
  };
}

/** A hosted database runs no code of its caller. @throws invalid_request, function_missing */
export function refuseCallersCode({ program, runtime }: RequestCode): void {
  if (program !== null) {
    throw appError("function_missing", {
      detail: "A hosted database runs functions of its own project files; the request has functions of a program.",
      hint: "Move the functions into a module of the project, and run: cli db update",
    });
  }
  if (runtime === null) return;
  throw appError("invalid_request", {
    detail: "A hosted database runs its own project files; the request has a runtime.",
    hint: "Send no runtime, or null.",
    errors: [{ pointer: "/runtime", detail: "The runtime must be null." }],
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
