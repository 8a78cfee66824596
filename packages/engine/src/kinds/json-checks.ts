import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import { type ColumnType, displayType } from "@appdb/contract/types";
import type { ErrorObject, ValidateFunction } from "ajv";
import { describe } from "../values/describe-value.ts";
import { parseDate, parseTimestamp } from "../values/parse-time.ts";
import { ValueError } from "../values/value-error.ts";
import { JSON_TYPE } from "./kinds.ts";

/** Reports where a parsed JSON value violates a schema; undefined when it is valid. */
export type JsonCheck = (value: unknown) => ValueError | undefined;

/** The checks of Json types with a schema, each compiled once. */
export interface JsonChecks {
  /** Undefined for a type without checks. @throws TypeError for a schema that was not compiled */
  of(type: ColumnType): JsonCheck | undefined;
}

/**
 * Compiles the schemas of types (JSON Schema, draft 2020-12). `format` is checked for date-time, date and uuid, as in
 * columns of these types. A check stops at the first violation, and names all keys that are missing there.
 * @throws Error with the compiler's message for an invalid schema
 */
export async function compileJsonChecks(types: Iterable<ColumnType>): Promise<JsonChecks> {
  const checks = new Map<string, JsonCheck>();
  for (const { schema } of types) {
    if (schema === undefined) continue;
    const key = JSON.stringify(schema);
    if (!checks.has(key)) checks.set(key, await compile(schema));
  }
  return {
    of({ schema }) {
      if (schema === undefined) return undefined;
      const check = checks.get(JSON.stringify(schema));
      if (check === undefined) throw new TypeError("A schema was not compiled before its first use.");
      return check;
    },
  };
}

/**
 * Compiles the schemas of all columns in a manifest.
 * @throws app_invalid with file and line for an invalid schema
 */
export async function compileManifestChecks(manifest: Pick<Manifest, "tables">): Promise<JsonChecks> {
  const columns = manifest.tables.flatMap((table) => table.columns.map((column) => ({ table, column })));
  for (const { table, column } of columns) {
    await compileJsonChecks([column.type]).catch((error: unknown) => {
      throw schemaInvalid(table, column, error);
    });
  }
  return compileJsonChecks(columns.map(({ column }) => column.type));
}

function schemaInvalid(table: ManifestTable, column: ManifestColumn, error: unknown): Error {
  const { file, line } = column.source;
  return appError("app_invalid", {
    detail: `${file}:${line}: The schema of column ${table.name}.${column.name} cannot be used: ${
      error instanceof Error ? error.message : String(error)
    }.`,
    hint: "Write a JSON Schema of draft 2020-12 without references to other documents.",
    meta: { table: table.name, column: column.name },
    cause: error,
  });
}

async function compile(schema: Readonly<Record<string, unknown>>): Promise<JsonCheck> {
  // Only loaded for applications with a schema. One instance each, so that equal $id do not collide.
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const ajv = new Ajv2020({ strict: false, verbose: true, logger: false });
  ajv.addFormat("date-time", (text: string) => !(parseTimestamp(text) instanceof ValueError));
  ajv.addFormat("date", (text: string) => !(parseDate(text) instanceof ValueError));
  ajv.addFormat("uuid", /^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i);
  const validate = ajv.compile(schema);
  if ("$async" in validate) throw new Error("the keyword $async is not part of JSON Schema");
  return (value) => (validate(value) ? undefined : misfitOf(validate));
}

/** The last error is that of the outermost schema; earlier ones come from tried branches. */
function misfitOf(validate: ValidateFunction): ValueError {
  const error = validate.errors?.at(-1);
  if (error === undefined) throw new TypeError("A schema refused a value without a reason.");
  const { instancePath, keyword, params } = error;
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") {
    const key: string = params.additionalProperty ?? params.unevaluatedProperty;
    return new ValueError(`The key ${JSON.stringify(key)} is not allowed here.`, `${instancePath}/${escaped(key)}`);
  }
  return new ValueError(describeIssue(error), instancePath);
}

function describeIssue({ keyword, parentSchema, data, message }: ErrorObject): string {
  switch (keyword) {
    case "required":
      return missingKeys(parentSchema?.required, data);
    case "type":
    case "format":
    case "anyOf":
    case "enum":
      return `Expected ${nameOf(parentSchema)}, got ${describe(data)}.`;
    default:
      return `The value ${message ?? "does not match its schema"}; it is ${describe(data)}.`;
  }
}

/** The compiler's check stops at the first missing key. This lists all missing keys. */
function missingKeys(required: readonly string[], data: unknown): string {
  const missing = required.filter((key) => !Object.hasOwn(Object(data), key)).map((key) => JSON.stringify(key));
  const last = missing.pop();
  return missing.length === 0
    ? `The key ${last} is missing.`
    : `The keys ${missing.join(", ")} and ${last} are missing.`;
}

/** The name of a schema in app.py, else its own description. */
function nameOf(schema: ErrorObject["parentSchema"]): string {
  const name = displayType({ ...JSON_TYPE, schema: schema ?? {} }, false).slice("Json[".length, -1);
  return name === "..." ? JSON.stringify(schema).slice(0, 200) : name;
}

function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
