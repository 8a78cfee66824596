/** Quotes a name for SQL: `"a ""b"""`; any text is one identifier. @throws Error when it holds NUL, which no name of PostgreSQL can */
export function quoteIdent(name: string): string {
  refuseNul(name);
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes text as an SQL literal, safe whatever `standard_conforming_strings` says. @throws Error when it holds NUL, which no text of PostgreSQL can */
export function quoteLiteral(text: string): string {
  refuseNul(text);
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

/** A table's full quoted name: `"public"."docs"`. */
export function quoteTable(table: { readonly folder: string; readonly name: string }): string {
  return `${quoteIdent(table.folder)}.${quoteIdent(table.name)}`;
}

/** What PostgreSQL can store of a text: it has no NUL and no lone surrogates. */
export function storableText(text: string): string {
  return text.replaceAll("\0", "\uFFFD").replace(/\p{Surrogate}/gu, "\uFFFD");
}

function refuseNul(text: string): void {
  if (text.includes("\0")) throw new Error("text for SQL holds NUL");
}
