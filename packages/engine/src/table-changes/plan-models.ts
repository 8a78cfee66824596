import { appError } from "@appdb/contract/errors";
import type { ManifestTable } from "@appdb/contract/manifest";
import { parseTablePath } from "@appdb/contract/names";
import type { Catalog } from "../catalog/catalog.ts";
import { folderSchema } from "../target.ts";
import { refuseManyColumns } from "../views/order-views.ts";
import type { ChangeInput, Of } from "./change-step.ts";
import { checkReads } from "./check-reads.ts";
import { columnsShown, declarationsAround, findStored, type Stored } from "./read-declaration.ts";

export interface DeclaredTables {
  /** The folder for people: `main/reports`. */
  readonly target: string;
  /** The definitions, and the stored tables that their views need. */
  readonly tables: readonly ManifestTable[];
}

/**
 * The tables of a folder as a program's models declare them. Other tables of the folder stay as they are.
 * @throws invalid_target, invalid_request, invalid_name, table_not_found, column_not_found, app_invalid
 */
export function declareModels(
  { catalog, database }: Pick<ChangeInput, "catalog" | "database">,
  { definitions, folder }: Of<"update_tables">,
): DeclaredTables {
  const base = folder === "" ? database : `${database}/${folder}`;
  const target = parseTablePath(`${base}/${definitions[0]?.name ?? ""}`).target.text;
  const declared = definitions.map(asDeclared);
  refuseTwice(target, declared);
  const shown = new ShownColumns(declared, { catalog, target });
  const others = new Map<string, ManifestTable>();
  for (const one of declared.flatMap((table) => shown.storedBelow(table))) others.set(one.name, one);
  refuseManyColumns([...others.values(), ...declared]);
  for (const table of declared) checkReads(`${base}/${table.name}`, table, shown.below(table));
  return { target, tables: [...others.values(), ...declared] };
}

function asDeclared({ rows_of: _rowsOf, ...table }: ManifestTable): ManifestTable {
  return { ...table, columns: table.columns.map(({ view: _view, ...column }) => column) };
}

/** What views see of their bases, which are declared with them or stored. */
class ShownColumns {
  readonly #declared: ReadonlyMap<string, ManifestTable>;
  readonly #place: { readonly catalog: Catalog; readonly target: string };
  /** Undefined while the columns of a name are looked for. */
  readonly #known = new Map<string, readonly string[] | undefined>();
  readonly #stored = new Map<string, readonly ManifestTable[]>();

  constructor(declared: readonly ManifestTable[], place: { readonly catalog: Catalog; readonly target: string }) {
    this.#declared = new Map(declared.map((table) => [table.name, table]));
    this.#place = place;
  }

  /** The columns that a view sees of its base; none of a table. @throws table_not_found */
  below({ name, view }: ManifestTable): readonly string[] {
    if (view === undefined) return [];
    const base = this.#declared.get(view.base);
    const isCircle = this.#known.has(view.base) && this.#known.get(view.base) === undefined;
    if (base !== undefined && base.name !== name && !isCircle) {
      const seen = view.columns === null ? undefined : new Set(view.columns);
      return this.#columnsOf(base).filter((column) => seen?.has(column) ?? true);
    }
    const stored = this.#find(view.base);
    if (base === undefined && stored !== undefined) return columnsShown(this.#place.catalog, stored);
    const { target } = this.#place;
    throw appError("table_not_found", {
      detail: `The base of the view ${target}/${name} does not exist: ${target}/${view.base}.`,
      hint: "Declare the base among the models, or create it first. A view and its base are in the same folder.",
      meta: { table: `${target}/${view.base}` },
    });
  }

  /** The stored tables below a view that are not declared with it. */
  storedBelow({ view }: ManifestTable): readonly ManifestTable[] {
    if (view === undefined || this.#declared.has(view.base)) return [];
    let found = this.#stored.get(view.base);
    if (found !== undefined) return found;
    const stored = this.#find(view.base);
    const around = stored === undefined ? [] : declarationsAround(this.#place.catalog, stored);
    found = around.filter(({ name }) => !this.#declared.has(name));
    this.#stored.set(view.base, found);
    return found;
  }

  #columnsOf(table: ManifestTable): readonly string[] {
    const known = this.#known.get(table.name);
    if (known !== undefined) return known;
    this.#known.set(table.name, undefined);
    const { columns, unstored = [], view } = table;
    const made = view?.iterator == null ? [] : ["pos", ...view.iterator.outputs.map(({ name }) => name)];
    const own = [...columns, ...unstored].map(({ name }) => name);
    const found = [...this.below(table), ...made, ...own];
    this.#known.set(table.name, found);
    return found;
  }

  #find(name: string): Stored | undefined {
    return findStored(this.#place.catalog, folderSchema(this.#place.target), name);
  }
}

/** @throws invalid_request */
function refuseTwice(target: string, tables: readonly ManifestTable[]): void {
  const twice = tables.find(({ name }, at) => tables.findIndex((other) => other.name === name) !== at);
  if (twice === undefined) return;
  throw appError("invalid_request", {
    detail: `Two models declare the table ${target}/${twice.name}.`,
    hint: "Give one of them another name: class Other(Base, name='other').",
    meta: { table: `${target}/${twice.name}` },
  });
}
