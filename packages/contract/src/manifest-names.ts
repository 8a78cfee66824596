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

interface DeclaredIterator {
  readonly fn: string;
  readonly is_udf: boolean;
  readonly outputs: readonly { readonly name: string }[];
}

interface DeclaredTable {
  readonly name: string;
  readonly columns: readonly DeclaredColumn[];
  readonly unstored?: readonly DeclaredColumn[] | undefined;
  readonly indexes: readonly { readonly name: string | null; readonly source: Place }[];
  readonly view?: { readonly iterator?: DeclaredIterator | undefined } | undefined;
  readonly source: Place;
}

/** Columns with the vectors of embedding indexes, which the library names. */
const HIDDEN = /^_embedding_[a-z0-9_]{1,52}$/;

/** `udfs:parts`: a module and a name. */
const FUNCTION_ID = /^[^:]+:[^:]+$/;
/** `string.string_splitter`: a namespace and a name. */
const LIBRARY_FUNCTION = /^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/;

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
  const { fn = "", is_udf: isUdf, outputs = [] } = table.view?.iterator ?? {};
  if (isUdf !== undefined && !(isUdf ? FUNCTION_ID : LIBRARY_FUNCTION).test(fn)) {
    refuse({ name: fn, path: ["view", "iterator", "fn"] }, "an iterator", table.source, "it names no function");
  }
  for (const [at, { name }] of outputs.entries()) {
    const isTwice = outputs.findIndex((output) => output.name === name) < at;
    const problem = isTwice ? "another output has it" : findOutputProblem(name);
    refuse({ name, path: ["view", "iterator", "outputs", at, "name"] }, "an output", table.source, problem);
  }
}

function findOutputProblem(name: string): string | undefined {
  if (name === "pos") return "it is the number of the row";
  // Every object of JavaScript has a member of this name.
  if (name === "constructor") return "it is reserved";
  return findNameProblem("column", name);
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
