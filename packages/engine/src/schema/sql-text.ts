/** Quotes a name for SQL; any text is one identifier. Names come from parsed manifests: no NUL, at most 63 bytes. */
export function quoteIdent(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes text as an SQL literal for the places that take no parameters (COMMENT ON). Holds with any setting of
 *  standard_conforming_strings. */
export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

/** A table's full quoted name: `"public"."docs"`. */
export function quoteTable(table: { readonly folder: string; readonly name: string }): string {
  return `${quoteIdent(table.folder)}.${quoteIdent(table.name)}`;
}

/** What PostgreSQL can store of a text: it has no NUL and no lone surrogates. */
export function storableText(text: string): string {
  return text.replaceAll("\0", "\uFFFD").replace(/\p{Surrogate}/gu, "\uFFFD");
}
