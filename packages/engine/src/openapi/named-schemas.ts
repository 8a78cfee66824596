import type { ManifestRoute } from "@appdb/contract/manifest";
import type { Json } from "../kinds/kind.ts";

type Members = { readonly [key: string]: Json };

/** Unique within a service. Candidates: the verb, the route's path, the whole path, the method. */
export function operationId(route: ManifestRoute, path: string): string {
  return [route.kind, wordOf(route.path), wordOf(path), route.method].filter((part) => part !== "").join("_");
}

/** `/orders/of` becomes `OrdersOf`. */
function titleOf(path: string): string {
  const parts = path.split("/").map((part) => wordOf(part));
  return parts.map((part) => part.slice(0, 1).toUpperCase() + part.slice(1)).join("");
}

function wordOf(path: string): string {
  return path.replace(/\W+/g, "_").replace(/^_|_$/g, "");
}

/**
 * Schemas of a service by name. Generators make a class of each. Inline schemas would get invented names or be refused.
 */
export class NamedSchemas {
  readonly #schemas = new Map<string, Json>();

  add(name: string, schema: Json): Json {
    let unique = name;
    for (let next = 2; !isSame(this.#schemas.get(unique) ?? schema, schema); next += 1) unique = `${name}${next}`;
    this.#schemas.set(unique, schema);
    return { $ref: `#/components/schemas/${unique}` };
  }

  toJSON(): Members {
    return Object.fromEntries(this.#schemas);
  }

  /** The operation of a route with references in place of its body and response schemas. */
  nameIn(operation: Json, route: ManifestRoute, path: string, answer = `${titleOf(route.path)}Response`): Json {
    const { requestBody, responses, ...rest } = operation as { readonly [key: string]: Members };
    const body = { whole: `Body_${operationId(route, path)}`, row: `Body_${operationId(route, path)}` };
    const { "200": done, ...others } = responses as { readonly [status: string]: Members };
    return {
      ...rest,
      ...(requestBody === undefined ? {} : { requestBody: this.#named(requestBody, body) }),
      responses: {
        ...(done === undefined
          ? {}
          : { "200": this.#named(done, { whole: answer, row: answer.replace(/Response$/, "RowResponse") }) }),
        ...others,
      },
    } as Json;
  }

  #named(holder: Members, names: Names): Json {
    const { "application/json": json, ...others } = holder.content as { readonly [type: string]: Members };
    if (json === undefined) return holder;
    const content = { "application/json": { ...json, schema: this.#reference(json.schema ?? {}, names) }, ...others };
    return { ...holder, content };
  }

  #reference(schema: Json, names: Names): Json {
    const { type, oneOf, items, properties } = schema as Members;
    const [row = {}, many, ...count] = (oneOf ?? []) as Json[];
    // Requests and responses with many rows: a row, an array of rows, or their number.
    if (many !== undefined && isSame(many, { type: "array", items: row })) {
      const one = this.#reference(row, { ...names, row: names.whole });
      const counted = count.map((number) => this.add("InsertedRows", number));
      return { oneOf: [one, { type: "array", items: one }, ...counted] };
    }
    if (type === "array") return { ...(schema as Members), items: this.#reference(items ?? {}, names) };
    if (type !== "object" || properties === undefined) return schema;
    const { rows, ...more } = properties as Members;
    const isList = rows !== undefined && Object.keys(more).length === 0 && names.row !== names.whole;
    if (!isList) return this.add(names.whole, schema);
    const listed = this.#reference(rows, { whole: names.row, row: names.row });
    return this.add(names.whole, { ...(schema as Members), properties: { rows: listed } });
  }
}

interface Names {
  readonly whole: string;
  /** The name of the schema of a row in `rows`. */
  readonly row: string;
}

function isSame(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
