import { createHash } from "node:crypto";
import type { Expr } from "@appdb/contract/expressions";
import type { Manifest, ManifestFunction } from "@appdb/contract/manifest";
import { computedWithQueries, functionsReadBy } from "../bound-queries/column-queries.ts";
import type { CatalogColumn } from "../catalog/catalog.ts";
import { withoutOwn } from "../expressions/made-rows.ts";
import { mapParts } from "../expressions/tree.ts";

/** Digests of the application functions' code, by function id. Another digest means other code. */
export type CodeDigests = ReadonlyMap<string, string>;

/**
 * A function's code is its own text and the modules that it uses. Its own module is excluded: the digest includes the
 * parts that the function calls. Other functions and tables in the file change with every edit and do not matter.
 */
export function codeDigests(manifest: Pick<Manifest, "functions" | "modules" | "app_file">): CodeDigests {
  const modules = new Map(manifest.modules.map((module) => [module.path, module.sha256]));
  return new Map(manifest.functions.map((fn) => [fn.id, digestOf(fn, modules, manifest.app_file)]));
}

function digestOf(fn: ManifestFunction, modules: ReadonlyMap<string, string>, appFile: string): string {
  const used = fn.uses.filter((path) => path !== fn.source.file && path !== appFile && modules.has(path)).sort();
  if (used.length === 0) return fn.digest;
  const lines = [fn.digest, ...used.map((path) => `${path} ${modules.get(path)}`)];
  return createHash("sha256").update(lines.join("\n")).digest("hex");
}

/** The functions whose previous code computed a column's values. A column without known code is not stale. The columns
 *  that made rows compute of themselves are columns of their own table, and stale there. */
export function previousCode(
  column: Pick<CatalogColumn, "computed" | "code">,
  digests: CodeDigests,
): readonly string[] {
  if (column.computed === null) return [];
  const { queries = [], ...own } = { ...column.computed, expr: ofTable(column.computed.expr) };
  const read = computedWithQueries({ queries: [...queries] }, { computed: own }) ?? own;
  return functionsReadBy(read).filter((id) => {
    const [known, now] = [column.code?.[id], digests.get(id)];
    return known !== undefined && now !== undefined && known !== now;
  });
}

function ofTable(expr: Expr): Expr {
  const inner = mapParts(expr, ofTable);
  return inner.node === "call" ? withoutOwn(inner) : inner;
}

/** The code digests behind the values of a computed column; null for one that calls no function. */
export function codeOf(
  column: Pick<CatalogColumn, "computed">,
  knownDigest: (functionId: string) => string | undefined,
): Readonly<Record<string, string>> | null {
  if (column.computed === null) return null;
  const known = functionsReadBy(column.computed).flatMap((id) => {
    const digest = knownDigest(id);
    return digest === undefined ? [] : [[id, digest] as const];
  });
  return known.length === 0 ? null : Object.fromEntries(known);
}
