import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import type { SchemaPlan } from "@appdb/contract/plan";
import { udfsOf } from "../expressions/needs-python.ts";

/** @throws function_missing */
export function refuseUnknown({ tables }: Manifest, functions: ReadonlyMap<string, unknown>): void {
  const missing = tables.flatMap(functionsCalled).find((id) => !functions.has(id));
  if (missing === undefined) return;
  throw appError("function_missing", {
    detail: `The change calls the function ${missing}, which neither the request nor the database has.`,
    hint: "Send the function with the change. A hosted database runs functions of its project files only.",
    meta: { function: missing },
  });
}

/** The ids of the application's functions that the columns of a table or view call. */
export function functionsCalled({ columns, view }: ManifestTable): string[] {
  return [
    ...columns.flatMap(({ computed }) => (computed === null ? [] : udfsOf(computed.expr))),
    ...(view?.filter == null ? [] : udfsOf(view.filter.expr)),
    ...(view?.iterator?.is_udf === true ? [view.iterator.fn] : []),
  ];
}

export function refuseImpossible(plan: SchemaPlan): void {
  const refused = plan.tables.flatMap(({ ops, path }) =>
    ops.filter(({ severity }) => severity === "unsupported").map(({ description }) => `${path}: ${description}`),
  );
  if (refused.length === 0) return;
  throw appError("schema_unsupported", {
    detail: `The change is not possible. ${refused.join(". ")}.`,
    hint: "Nothing was changed. Make another change.",
    meta: { plan: { ...plan, status: "refused" } },
  });
}

export function refuseTablesOfOthers({ tables }: SchemaPlan): void {
  const owned = tables.filter(({ ops, project }) => project !== undefined && ops.length > 0);
  refuseOwned(owned.map(({ path, project }) => [path, project ?? ""]));
}

export function refuseOwned(owned: readonly (readonly [path: string, project: string])[]): void {
  const [first] = owned;
  if (first === undefined) return;
  throw appError("other_project", {
    detail: `${owned.map(([path, project]) => `${path} belongs to the project ${project}`).join("; ")}. Nothing was changed.`,
    hint: `Change it from there: cd ${first[1]}`,
    meta: { tables: owned.map(([path, project]) => ({ path, project })) },
  });
}

/** The refusal of a change with a column that calls a query. */
export function ofQuery(): Error {
  return appError("invalid_request", {
    detail: "A column of this change calls a query, which only an application file can declare.",
    hint: "Declare the column in the file, then: cli schema update",
  });
}
