/** The PostgreSQL database of a parsed local target: `main` of `main/reports`. */
export function targetDatabase(target: string): string {
  return target.split("/", 1)[0] ?? target;
}

/** The PostgreSQL schema of a parsed local target: `public` for the root, else its folders joined by `/`
 *  (`main/reports/2024` -> `reports/2024`). contract's names refuse folders that would collide with PostgreSQL's or ours. */
export function folderSchema(target: string): string {
  const cut = target.indexOf("/");
  return cut < 0 ? "public" : target.slice(cut + 1);
}
