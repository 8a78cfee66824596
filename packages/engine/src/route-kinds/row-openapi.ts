import type { ErrorCode } from "@appdb/contract/errors";
import type { Manifest, ManifestColumn } from "@appdb/contract/manifest";
import type { MadeRowsAnswer } from "@appdb/contract/views";
import type { Json, JsonObject } from "../kinds/kind.ts";
import { isMedia } from "../kinds/media.ts";
import { errorResponses, FILE, MEDIA, UPLOADS } from "../openapi/errors.ts";
import { IDEMPOTENCY_HEADERS, IDEMPOTENCY_PARAMETER } from "../openapi/idempotency.ts";
import { operationId } from "../openapi/named-schemas.ts";
import { FILE_SCHEMA, fileContent, type ObjectSchema, objectSchema, valueSchema } from "../openapi/schemas.ts";
import { CELL_ERRORS_HEADER } from "../routes/cell-error-header.ts";
import { MINIMAL_RESPONSE, PREFER_PARAMETER } from "../routes/minimal-answer.ts";
import { lowerViews } from "../views/lower-views.ts";
import { allColumns, type OverRow } from "./over-row.ts";
import type { OpenApiInput } from "./route-kind.ts";

type Columns = ReadonlyMap<string, ManifestColumn>;

/** The parts in which kinds of routes over a row differ. */
interface RowOperation {
  readonly summary: string;
  /** Describes a successful response. */
  readonly done: string;
  /** The schema of a request's values. */
  readonly row: ObjectSchema;
  readonly body: JsonObject;
  /** Content of the response, given the schema of a row. */
  readonly content?: (answer: Json) => JsonObject;
  readonly errors: readonly ErrorCode[];
  /** The route writes a row, so the request can have an idempotency key and ask for no body. */
  readonly isStored: boolean;
}

/** The operation of a route that takes values of a row and returns values of it. */
export function describeRowRoute(
  route: OverRow,
  { manifest, path, schemas }: OpenApiInput,
  { summary, done, row, body, content = jsonContent, errors, isStored }: RowOperation,
): Json {
  const { columns } = tableOf(manifest, route.table);
  const { name, comment } = subjectOf(manifest, route);
  const { uploads = [] } = route;
  const isFile = route.file_response === true;
  const operation = {
    operationId: operationId(route, path),
    summary,
    ...(comment == null ? {} : { description: comment }),
    tags: [name],
    ...(isStored ? { parameters: [IDEMPOTENCY_PARAMETER, PREFER_PARAMETER] } : {}),
    requestBody: withForm(body, row, uploads),
    responses: {
      "200": {
        description: isFile ? "The file." : done,
        ...answerHeaders(route, isStored),
        content: isFile ? fileContent(columns.get(route.outputs[0] ?? "")?.type) : content(answerOf(columns, route)),
      },
      ...(isStored ? { "204": MINIMAL_RESPONSE } : {}),
      ...errorResponses([
        ...errors,
        ...([...columns.values()].some(({ type }) => isMedia(type.kind)) ? MEDIA : []),
        ...(uploads.length === 0 ? [] : UPLOADS),
        ...(isFile ? FILE : []),
        ...(route.export_sql == null ? [] : (["export_failed"] as const)),
      ]),
    },
  };
  return schemas.nameIn(operation, route, path);
}

/** The body, and the same values as a form whose files are parts. */
export function withForm(body: JsonObject, row: ObjectSchema, uploads: readonly string[]): JsonObject {
  if (uploads.length === 0) return body;
  const files = Object.fromEntries(uploads.map((name) => [name, FILE_SCHEMA]));
  const form = { schema: { ...row, properties: { ...row.properties, ...files } } };
  return { ...body, content: { "multipart/form-data": form, ...(body.content as JsonObject) } };
}

/** A body that must be a JSON object. */
export function requiredBody(schema: Json): JsonObject {
  return { required: true, content: jsonContent(schema) };
}

/** The table or view that a route names, for descriptions. */
export function subjectOf(manifest: Manifest, route: OverRow): { name: string; comment: string | null | undefined } {
  const name = route.kind === "compute" ? (route.of_view?.name ?? route.table) : route.table;
  const known = [...lowerViews(manifest).views, ...manifest.tables];
  return { name, comment: known.find((candidate) => candidate.name === name)?.comment };
}

/** The table data that descriptions of its routes need. */
export function tableOf(manifest: Manifest, name: string) {
  const table = manifest.tables.find((candidate) => candidate.name === name);
  return { columns: new Map(table === undefined ? [] : allColumns(table).map((column) => [column.name, column])) };
}

/** A response with the number of changed rows. */
export const COUNT: Json = {
  type: "object",
  properties: { num_rows: { type: "integer", minimum: 0 } },
  required: ["num_rows"],
  additionalProperties: false,
};

function jsonContent(schema: Json): JsonObject {
  return { "application/json": { schema } };
}

/** The annotation of an application function describes its result. An updated row can have cells that failed
 *  earlier, in columns that the update does not compute. */
function answerOf(columns: Columns, route: OverRow): Json {
  if (route.handler !== null) return (route.handler.response ?? {}) as Json;
  const mayFail = route.on_error === "ignore" || "key" in route;
  const how = mayFail ? "failing output" : "output";
  const view = route.kind === "compute" ? route.of_view : undefined;
  if (view === undefined) return objectSchema(columns, route.outputs, how);
  if (view.made !== undefined) return { type: "array", items: madeRow(view.made) };
  const known = new Map(
    route.outputs.flatMap((output) => {
      const column = columns.get(output);
      const name = view.names[output] ?? output;
      return column === undefined ? [] : [[name, { ...column, name }] as const];
    }),
  );
  const row = objectSchema(known, [...known.keys()], how);
  // Null for a row that is not one of the view.
  return view.member === null ? row : { anyOf: [row, { type: "null" }] };
}

/** A row that a request's row makes. All its columns can be null. */
function madeRow({ outputs }: MadeRowsAnswer): Json {
  return {
    type: "object",
    properties: Object.fromEntries(outputs.map(({ name, type, nullable }) => [name, valueSchema(type, nullable)])),
    required: outputs.map(({ name }) => name),
    additionalProperties: false,
  };
}

function answerHeaders(route: OverRow, isStored: boolean): JsonObject {
  const headers = {
    ...(isStored ? IDEMPOTENCY_HEADERS : {}),
    ...(route.on_error === "ignore" ? CELL_ERROR_HEADERS : {}),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}

const CELL_ERROR_HEADERS: JsonObject = {
  [CELL_ERRORS_HEADER]: {
    description: 'Columns that failed and are null, with the type of their error: `fare;type="ZeroDivisionError"`',
    schema: { type: "string" },
  },
};
