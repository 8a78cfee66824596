import type { Completion } from "./complete.ts";
import type { CachedTable } from "./table-cache.ts";

/** Words of SQL that people type often. */
const KEYWORDS = [
  ..."and as asc between by case count desc distinct else end exists from group having in inner is join left like".split(
    " ",
  ),
  ..."limit not null offset on or order over partition select sum then union using values when where with".split(" "),
];
const MENTIONED = /\b(?:from|join)\s+([\w./"-]+)(?:\s+(?:as\s+)?([a-z_]\w*))?/gi;
/** The cursor is where a table is named. */
const AT_TABLE = /\b(?:from|join|table)\s+(?:[\w.]*|"[^"]*)$/i;

/** Completes a statement of SQL at its end, by the tables of its database. */
export function completeSql(text: string, tables: readonly CachedTable[]): Completion {
  const typed = /(?:"[^"]*|[a-z_]\w*(?:\.\w*)?)$|$/i.exec(text)?.[0] ?? "";
  const names = AT_TABLE.test(text) ? tables.map(sqlName) : namesAt(text, typed, tables);
  const lower = typed.toLowerCase();
  const found = [...new Set(names.filter((name) => name.toLowerCase().startsWith(lower)))].sort();
  // the shell completes what begins as it was typed
  return [found.map((name) => `${typed}${name.slice(typed.length)}`), typed];
}

function namesAt(text: string, typed: string, tables: readonly CachedTable[]): string[] {
  const mentioned = [...text.matchAll(MENTIONED)].flatMap(([, name = "", alias]) => {
    const plain = name.replaceAll('"', "").toLowerCase();
    const table = tables.find(({ path }) => path === plain);
    return table === undefined ? [] : [{ table, names: [plain, alias?.toLowerCase()] }];
  });
  const dot = typed.indexOf(".");
  if (dot >= 0) {
    const owner = typed.slice(0, dot).toLowerCase();
    const named = mentioned.find(({ names }) => names.includes(owner))?.table;
    const table = named ?? tables.find(({ path }) => path === owner);
    return (table?.columns ?? []).map((column) => `${owner}.${column}`);
  }
  const from = mentioned.length === 0 ? tables : mentioned.map(({ table }) => table);
  const keywords = /[A-Z]/.test(typed) ? KEYWORDS.map((word) => word.toUpperCase()) : KEYWORDS;
  return [...keywords, ...from.flatMap(({ columns }) => columns), ...tables.map(sqlName)];
}

/** `docs`, `"reports/docs"`: a path with a folder needs quotes. */
function sqlName({ path }: CachedTable): string {
  return path.includes("/") ? `"${path}"` : path;
}
