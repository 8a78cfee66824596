import { isHosted } from "@appdb/contract/names";

/** The PostgreSQL schema of a parsed target: `public` for the root, else its folders joined by `/`
 *  (`main/reports/2024` and `cloud://acme:main/reports/2024` -> `reports/2024`). contract's names refuse folders
 *  that would collide with reserved schemas. */
export function folderSchema(target: string): string {
  const cut = target.indexOf("/", isHosted(target) ? target.indexOf("//") + 2 : 0);
  return cut < 0 ? "public" : target.slice(cut + 1);
}

/** The command that recomputes a column with values of previous code, or the rows of a view. */
export function recomputeCommand(target: string, appFile: string, table: string, column: string | null): string {
  if (isHosted(target)) return `cli schema update ${appFile} ${target} --recompute`;
  return `cli recompute ${target}/${table}${column === null ? "" : ` ${column}`}`;
}
