/** The words that begin a statement of SQL. */
export const SQL_WORDS = ["select", "with", "explain", "table", "values"] as const;

const BEGINS_SQL = new RegExp(`^\\s*(?:${SQL_WORDS.join("|")})(?![\\w-])`, "i");
/** What can contain a semicolon that ends nothing: strings, names, comments, dollar-quoted strings. */
const SPAN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$/y;
const OPEN = /'|"|\/\*|\$\w*\$/y;

export function beginsSql(line: string): boolean {
  return BEGINS_SQL.test(line);
}

/** Words of SQL that write, where a command of the same name has a table and a key. */
const WRITES: Readonly<Record<string, string>> = { delete: "from", insert: "into", drop: "table" };
const NO_COMMANDS: ReadonlySet<string> = new Set(["create", "alter", "truncate", "merge"]);

/** Whether typed words are SQL that writes: `delete from docs`, `update docs set n = 1`, `create table x (n int)`. */
export function writesBySql(words: readonly string[]): boolean {
  const [first = "", second = "", third = ""] = words.map((word) => word.toLowerCase());
  if (NO_COMMANDS.has(first)) return second !== "";
  if (first === "update") return third === "set";
  return third !== "" && WRITES[first] === second && second !== "";
}

/** The first statement of a text without its semicolon, and the text after it. Undefined if none ends there. */
export function cutStatement(text: string): { readonly statement: string; readonly rest: string } | undefined {
  let at = 0;
  while (at < text.length) {
    if (text[at] === ";") return { statement: text.slice(0, at).trim(), rest: text.slice(at + 1).trim() };
    SPAN.lastIndex = at;
    const span = SPAN.exec(text)?.[0];
    OPEN.lastIndex = at;
    if (span === undefined && OPEN.test(text)) return undefined;
    at += span?.length ?? 1;
  }
  return undefined;
}
