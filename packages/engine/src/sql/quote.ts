/** Quotes a name for SQL: `"a ""b"""`; any text becomes one identifier. @throws Error for NUL, which PostgreSQL
 *  names cannot contain */
export function quoteIdent(name: string): string {
  refuseNul(name);
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes text as an SQL literal, safe for any value of `standard_conforming_strings`. @throws Error for NUL, which
 *  PostgreSQL texts cannot contain */
export function quoteLiteral(text: string): string {
  refuseNul(text);
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

/** A table's full quoted name: `"public"."docs"`. */
export function quoteTable(table: { readonly folder: string; readonly name: string }): string {
  return `${quoteIdent(table.folder)}.${quoteIdent(table.name)}`;
}

/** The part of a text that PostgreSQL can store: without NUL and lone surrogates. */
export function storableText(text: string): string {
  return text.replaceAll("\0", "\uFFFD").replace(/\p{Surrogate}/gu, "\uFFFD");
}

function refuseNul(text: string): void {
  if (text.includes("\0")) throw new Error("text for SQL contains NUL");
}
