/** The PostgreSQL schema of a parsed local target: `public` for the root, else its folders joined by `/`
 *  (`main/reports/2024` -> `reports/2024`). contract's names refuse folders that would collide with PostgreSQL's or ours. */
export function folderSchema(target: string): string {
  const cut = target.indexOf("/");
  return cut < 0 ? "public" : target.slice(cut + 1);
}
