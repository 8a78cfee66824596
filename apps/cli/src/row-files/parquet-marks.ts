import type { DataColumn } from "@appdb/contract/routes/data-api";
import type { FileMetaData } from "hyparquet";

/** Metadata of a file: the types of its columns by name, as JSON. The library knows it, too. */
const MARK = "appdb.columns";
/** `Array[(None, 3), int64]`: the lengths and the elements. */
const ARRAY = /^Array\[(?:\(([^)]*)\), )?(\w+)\]/;

/** The metadata of a file with these columns. */
export function marksOf(columns: readonly DataColumn[]): { readonly key: string; readonly value: string } {
  return {
    key: MARK,
    value: JSON.stringify(Object.fromEntries(columns.map(({ name, type }) => [name, typeOf(type)]))),
  };
}

/** The columns of a file whose kind it says: kinds by name. Those of another writer have none. */
export function readMarks({
  created_by: writer,
  key_value_metadata: metadata,
}: FileMetaData): (name: string) => string {
  const text = metadata?.find(({ key }) => key === MARK)?.value;
  // Earlier versions wrote the same texts without metadata.
  if (text === undefined) return () => (writer?.startsWith("appdb version") === true ? "json" : "");
  const found = new Map<string, unknown>(Object.entries(parsed(text) ?? {}));
  return (name) => {
    const type = found.get(name);
    return typeof type === "object" && type !== null && "kind" in type ? String(type.kind) : "";
  };
}

/** Undefined for a mark that others wrote or cut. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function typeOf(shown: string): object {
  const kind = /^\w+/.exec(shown)?.[0].toLowerCase() ?? "";
  const [found, lengths, element = ""] = ARRAY.exec(shown) ?? [];
  if (found === undefined) return { kind };
  const shape = lengths
    ?.split(",")
    .filter((length) => length.trim() !== "")
    .map((length) => (length.trim() === "None" ? null : Number(length)));
  return { kind, dtype: element === "str" ? "string" : element, shape: shape ?? null };
}
