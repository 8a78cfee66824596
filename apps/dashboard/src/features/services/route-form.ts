/** One value of a request, for the form. */
export interface RouteField {
  readonly name: string;
  readonly place: "path" | "query" | "header" | "body";
  readonly kind: "text" | "number" | "boolean" | "choice" | "json" | "file";
  /** The options of a choice. */
  readonly choices: readonly string[];
  readonly is_required: boolean;
  readonly is_nullable: boolean;
  /** Its description. */
  readonly help: string;
}

/** The parts of a request to a route. */
export interface RouteForm {
  readonly method: string;
  /** As declared: `/visits/{id}`. */
  readonly path: string;
  /** The route's own description. */
  readonly summary: string;
  readonly fields: readonly RouteField[];
  /** Whether it accepts JSON. Fields with place `body` are its members; without any, it is written as a whole. */
  readonly has_body: boolean;
  /** Whether the fields with place `body` are sent as a form, because some are files. */
  readonly takes_files: boolean;
  /** The accepted content type if it is not JSON, which a form cannot create. */
  readonly other_type: string | undefined;
}

type Schema = Readonly<Record<string, unknown>>;

const FORM = "multipart/form-data";
const PARAMETER = /\{(\w+)[^}]*\}/g;
/** Headers that the gateway and the client set, or that calls by hand do not need. */
const LEFT_OUT = new Set(["x-api-key", "authorization", "cookie", "prefer", "idempotency-key"]);

/** Reads a route's input from its service's OpenAPI document. An undescribed route has the parameters of its path. */
export function readRouteForm(document: unknown, { method, path }: Pick<RouteForm, "method" | "path">): RouteForm {
  const all = objectOf(document);
  const operation = objectOf(objectOf(objectOf(all["paths"])[path])[method.toLowerCase()]);
  const parameters = listOf(operation["parameters"]).map((parameter) => resolve(all, parameter));
  const content = objectOf(resolve(all, operation["requestBody"])["content"]);
  const types = Object.keys(content);
  const json = types.find((type) => /[/+]json\b/.test(type));
  const isDescribed = Object.keys(operation).length > 0;
  const row = json === undefined ? {} : rowSchema(all, objectOf(content[json])["schema"]);
  const form = rowSchema(all, objectOf(content[FORM])["schema"]);
  const takesFiles = Object.values(objectOf(form["properties"])).some((schema) => isFile(resolve(all, schema)));
  const body = takesFiles ? form : row;
  const named = parameters.flatMap((parameter) => toField(all, parameter));
  const inPath = [...path.matchAll(PARAMETER)].map(([, name = ""]) => name);
  const unnamed = inPath.filter((name) => !named.some((field) => field.place === "path" && field.name === name));
  return {
    method,
    path,
    summary: textOf(operation["summary"]) || textOf(operation["description"]),
    fields: [...unnamed.map((name) => fieldOf(name, "path", {}, true)), ...named, ...bodyFields(all, body)],
    has_body: json !== undefined || takesFiles || (!isDescribed && method !== "GET"),
    takes_files: takesFiles,
    other_type: json === undefined && !takesFiles ? types[0] : undefined,
  };
}

function toField(document: Schema, parameter: Schema): RouteField[] {
  const { in: place, name, required, schema } = parameter;
  if (typeof name !== "string" || (place !== "path" && place !== "query" && place !== "header")) return [];
  if (place === "header" && LEFT_OUT.has(name.toLowerCase())) return [];
  const field = fieldOf(name, place, resolve(document, schema), required === true || place === "path");
  return [{ ...field, help: field.help || textOf(parameter["description"]) }];
}

/** The schema of a row, also for a body of several rows. */
function rowSchema(document: Schema, schema: unknown): Schema {
  const found = resolve(document, schema);
  const one = [...listOf(found["oneOf"]), ...listOf(found["anyOf"])].map((part) => resolve(document, part));
  return one.find((part) => part["properties"] !== undefined) ?? found;
}

function bodyFields(document: Schema, body: Schema): RouteField[] {
  const required = listOf(body["required"]);
  return Object.entries(objectOf(body["properties"])).map(([name, schema]) =>
    fieldOf(name, "body", resolve(document, schema), required.includes(name)),
  );
}

function fieldOf(name: string, place: RouteField["place"], schema: Schema, isRequired: boolean): RouteField {
  const variants = listOf(schema["anyOf"]).map(objectOf);
  const isNullable = typesOf(schema).includes("null") || variants.some((variant) => variant["type"] === "null");
  const [only = schema, ...others] = variants.filter((variant) => variant["type"] !== "null");
  const value = others.length === 0 ? only : {};
  const choices = listOf(value["enum"]).filter((choice) => typeof choice === "string");
  const kind = choices.length > 0 && choices.length === listOf(value["enum"]).length ? "choice" : kindOf(value, place);
  return { name, place, kind, choices, is_required: isRequired, is_nullable: isNullable, help: helpOf(schema, value) };
}

/** A text whose content is another type, or bytes, is a file (OpenAPI 3.1 and 3.0). The address of one has a format. */
function isFile({ contentMediaType, format, type }: Schema): boolean {
  return type === "string" && (format === "binary" || (format === undefined && contentMediaType !== undefined));
}

function kindOf(schema: Schema, place: RouteField["place"]): RouteField["kind"] {
  if (place === "body" && isFile(schema)) return "file";
  const [type, ...more] = typesOf(schema).filter((one) => one !== "null");
  if (more.length === 0 && type === "string") return "text";
  if (more.length === 0 && (type === "integer" || type === "number")) return "number";
  if (more.length === 0 && type === "boolean") return "boolean";
  // values in an address are text
  return place === "body" ? "json" : "text";
}

/** The description, otherwise the type with an example. */
function helpOf(schema: Schema, value: Schema): string {
  const own = textOf(schema["description"]) || textOf(value["description"]);
  const types = typesOf(value).filter((type) => type !== "null");
  const type =
    types.length > 1 || isFile(value) ? "" : textOf(value["format"]).replace(/^(int64|double)$/, "") || types.join("");
  const [example = value["default"]] = [...listOf(schema["examples"]), ...listOf(value["examples"])];
  const isTelling = example !== undefined && example !== null && example !== "text" && typeof example !== "boolean";
  const shown = !isTelling ? "" : `such as ${typeof example === "string" ? example : JSON.stringify(example)}`;
  return own || [type === "string" ? "" : type, shown].filter((part) => part !== "").join(", ");
}

function typesOf(schema: Schema): unknown[] {
  return [schema["type"]].flat().filter((type) => type !== undefined);
}

const MAX_STEPS = 10;

/** The target of a reference, or an empty schema. */
function resolve(document: Schema, schema: unknown): Schema {
  let found = objectOf(schema);
  for (let step = 0; step < MAX_STEPS && typeof found["$ref"] === "string"; step += 1) {
    const parts = found["$ref"].startsWith("#/") ? found["$ref"].slice(2).split("/") : [""];
    found = parts.reduce<Schema>(
      (at, part) => objectOf(at[part.replaceAll("~1", "/").replaceAll("~0", "~")]),
      document,
    );
  }
  return found;
}

function objectOf(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
