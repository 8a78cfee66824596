import type * as z from "zod";
import { type AppError, appError } from "./errors.ts";
import { findNameProblem, shown } from "./names.ts";

/** A name with its place in the table. */
interface Declared {
  readonly name: string;
  readonly path: readonly (string | number)[];
}

interface DeclaredColumn {
  readonly name: string;
  readonly is_hidden?: boolean | undefined;
  readonly source: Place;
}

interface Place {
  readonly file: string;
  readonly line: number;
}

interface DeclaredTable {
  readonly name: string;
  readonly columns: readonly DeclaredColumn[];
  readonly unstored?: readonly DeclaredColumn[] | undefined;
  readonly indexes: readonly { readonly name: string | null; readonly source: Place }[];
  readonly view?:
    | { readonly iterator?: { readonly outputs: readonly { readonly name: string }[] } | undefined }
    | undefined;
  readonly source: Place;
}

/** Columns with the vectors of embedding indexes, which the library names. */
const HIDDEN = /^_embedding_[a-z0-9_]{1,52}$/;

/**
 * Refuses names that a file cannot declare, as the library does (declare/names.py). Code of the application can write
 * another manifest than the library, and lowering and the catalog give meaning to names like `docs.title`.
 */
export function checkNames(table: DeclaredTable, context: z.RefinementCtx): void {
  const refuse = ({ name, path }: Declared, what: string, { file, line }: Place, problem: string | undefined) => {
    if (problem === undefined) return;
    const message = `${file}:${line}: '${shown(name)}' cannot be the name of ${what}: ${problem}`;
    context.addIssue({ code: "custom", message, path: [...path], params: { wrong_name: name.slice(0, 200) } });
  };
  const named = { name: table.name, path: ["name"] };
  refuse(named, table.view === undefined ? "a table" : "a view", table.source, findNameProblem("table", table.name));
  for (const member of ["columns", "unstored"] as const) {
    for (const [at, { is_hidden: isHidden, name, source }] of (table[member] ?? []).entries()) {
      const problem = isHidden === true && HIDDEN.test(name) ? undefined : findNameProblem("column", name);
      refuse({ name, path: [member, at, "name"] }, "a column", source, problem);
    }
  }
  for (const [at, { name, source }] of table.indexes.entries()) {
    if (name === null) continue;
    refuse({ name, path: ["indexes", at, "name"] }, "an index", source, findNameProblem("table", name));
  }
  for (const [at, { name }] of (table.view?.iterator?.outputs ?? []).entries()) {
    const problem = name === "pos" ? "it is the number of the row" : findNameProblem("column", name);
    refuse({ name, path: ["view", "iterator", "outputs", at, "name"] }, "an output", table.source, problem);
  }
}

/** The error for the first name that `checkNames` refused. Undefined when a manifest is invalid for other reasons. */
export function wrongName({ issues }: z.ZodError): AppError | undefined {
  for (const issue of issues) {
    if (issue.code !== "custom" || issue.params?.["wrong_name"] === undefined) continue;
    return appError("app_invalid", {
      detail: `${issue.message}.`,
      hint: "Give it another name: a letter (a-z) first, then letters, digits and '_'.",
      meta: { name: issue.params["wrong_name"] },
    });
  }
  return undefined;
}
