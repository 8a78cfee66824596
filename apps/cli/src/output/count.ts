/** `1 table`, `2 tables`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** `1 table, 7 views`; views only if there are any. */
export function countTables(tables: number, views: number): string {
  return [count(tables, "table"), ...(views === 0 ? [] : [count(views, "view")])].join(", ");
}
