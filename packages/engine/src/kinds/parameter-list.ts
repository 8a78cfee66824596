import type { ManifestParameter } from "@appdb/contract/manifest";
import type { ColumnType, VectorPrecision } from "@appdb/contract/types";
import { quoteIdent } from "../sql/quote.ts";
import { vectorType } from "./array.ts";
import { fromTransport, storageCollation, storageType, transportType } from "./storage-type.ts";

/**
 * The value of a statement's placeholder. It is a parameter of the query, an array of values, or an internal value: a
 * table version, a row value where a page starts, a page's row count, or a vector.
 */
export type Placeholder =
  | { readonly parameter: string }
  | { readonly array: number }
  | { readonly version_of: number }
  | { readonly page_key: number; readonly type: string }
  | { readonly page_rows: true }
  | { readonly vector: string; readonly dimensions: number };

/** The `$1`, `$2` ... of a statement under construction. No value of a request is ever part of its text. */
export class ParameterList {
  readonly #declared: readonly ManifestParameter[];
  readonly #places: Placeholder[] = [];
  readonly #byName = new Map<string, string>();
  readonly #many: boolean;
  #arrays = 0;

  /** `many`: the statement runs for many arguments at once, which are columns of a row `asked`. */
  constructor(declared: readonly ManifestParameter[], many = false) {
    this.#declared = declared;
    this.#many = many;
  }

  get placeholders(): readonly Placeholder[] {
    return this.#places;
  }

  /** SQL of a parameter's value. */
  value(name: string): string {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const declared = this.#declared.find((parameter) => parameter.name === name);
    if (declared === undefined) throw new TypeError(`The query has no parameter ${name}.`);
    if (this.#many) return `(${fromTransport(askedColumn(name), declared.type)})`;
    const placeholderText = `${this.#add({ parameter: name })}::${storageType(declared.type)}`;
    const collation = storageCollation(declared.type);
    const sql = collation === "" ? placeholderText : `(${placeholderText}${collation})`;
    this.#byName.set(name, sql);
    return sql;
  }

  /** SQL of the next array of values. */
  array(type: ColumnType): string {
    const placeholderText = this.#add({ array: this.#arrays });
    this.#arrays += 1;
    return `${placeholderText}::${transportType(type)}[]`;
  }

  /** SQL of the vector that a similarity compares with, by its name. */
  vector(name: string, precision: VectorPrecision, dimensions: number): string {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const sql = `${this.#add({ vector: name, dimensions })}::${vectorType(precision, dimensions)}`;
    this.#byName.set(name, sql);
    return sql;
  }

  /** SQL of a table's version when the query was compiled. */
  version(tableId: number): string {
    return `${this.#add({ version_of: tableId })}::bigint`;
  }

  /** SQL of a value of the row where a page starts: that of its `at`th sort key. */
  pageKey(at: number, type: ColumnType): string {
    const placeholderText = `${this.#add({ page_key: at, type: storageType(type) })}::${storageType(type)}`;
    const collation = storageCollation(type);
    return collation === "" ? placeholderText : `(${placeholderText}${collation})`;
  }

  /** SQL of the number of rows of a page. */
  pageRows(): string {
    return `${this.#add({ page_rows: true })}::bigint`;
  }

  #add(placeholder: Placeholder): string {
    this.#places.push(placeholder);
    return `$${this.#places.length}`;
  }
}

/** The column of `asked` that holds a parameter's values. */
export function askedColumn(name: string): string {
  return `asked.${quoteIdent(`p:${name}`)}`;
}
