/** The words that begin a statement of SQL. */
export const SQL_WORDS = ["select", "with", "explain", "table", "values"] as const;

const BEGINS_SQL = new RegExp(`^\\s*(?:${SQL_WORDS.join("|")})(?![\\w-])`, "i");
/** What can contain a semicolon that ends nothing: strings, names, comments, dollar-quoted strings. */
const SPAN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$/y;
const OPEN = /'|"|\/\*|\$\w*\$/y;

export function beginsSql(line: string): boolean {
  return BEGINS_SQL.test(line);
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
