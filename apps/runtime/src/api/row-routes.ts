import { appError } from "@appdb/contract/errors";
import { rowDeleteSchema, rowUpdateSchema, type WRITE_SCHEMAS, type Written } from "@appdb/contract/routes/data-writes";
import { JSON_HEADERS, wholeText } from "@appdb/engine/answers/answers";
import { conditionSql } from "@appdb/engine/conditions/condition-sql";
import { CELL_ERRORS_HEADER } from "@appdb/engine/routes/cell-error-header";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import { scanMembers } from "@appdb/engine/rows/scan-members";
import { splitArray } from "@appdb/engine/rows/split-array";
import { endOf } from "@appdb/http/mount-api";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { TableWrites } from "../data-writes/table-writes.ts";
import { type DataSource, tableIn } from "../databases/data-handlers.ts";
import { Connections } from "../http/connections.ts";
import { unsupportedMediaType } from "../http/http-errors.ts";
import { limitWholeBodies } from "../http/whole-bodies.ts";
import { carryRequest, readWholeBody } from "./carry-request.ts";
import { type ApiDeps, explained, parseRequest } from "./json-api.ts";

const NO_CONTENT = 204;

/** A database whose rows people write. */
export interface WrittenSource extends Pick<DataSource, "sql" | "uri"> {
  readonly writes: TableWrites;
  /** Called for each piece of a streamed body. @throws the error that ends the request */
  check(): void;
}

export interface RowRoutesDeps extends ApiDeps {
  /** Maximum size of a body that is read into memory. */
  readonly body_bytes: number;
  /** Memory of the database's pod; omitted for this machine. */
  readonly memory_mb?: number;
}

interface Call<Params> {
  readonly params: Params & { readonly table: string };
  readonly reply: FastifyReply;
  readonly request: FastifyRequest;
}

/** The routes of the data API that write rows, for each API that has them. `open` finds the database of a request. */
export function rowHandlers<Params>(
  app: FastifyInstance,
  deps: RowRoutesDeps,
  open: (params: Params) => Promise<WrittenSource>,
) {
  const { body_bytes: bodyBytes, log, memory_mb: memoryMb } = deps;
  const connections = new Connections(app.server);
  const reading = { bodies: limitWholeBodies(bodyBytes, memoryMb), body_bytes: bodyBytes };
  const explain = (error: unknown) => explained(error, deps, "POST");
  const openRows = async (params: Params & { readonly table: string }) => {
    const source = await open(params);
    const { table, path } = await tableIn(source, params.table);
    return { ...source, table, target: path.target.text };
  };
  const openTable = async (params: Params & { readonly table: string }) => {
    const opened = await openRows(params);
    const { name, rows_of: rowsOf, view } = opened.table;
    const of = view?.table.name ?? rowsOf?.table;
    if (of !== undefined) throw notWritable(name, of);
    return opened;
  };
  return {
    rowInsert: async ({
      params,
      query: { on_error: onError, return_rows: returnRows },
      reply,
      request,
    }: Call<Params> & { readonly query: z.output<typeof WRITE_SCHEMAS.rowInsert.query> }) => {
      const { check, table, target, writes } = await openTable(params);
      const carrier = { ...reading, connections, log, check, explain };
      await writes.use(table, target, async (opened) => {
        const route = opened.insert(onError);
        await carryRequest(carrier, returnRows === "1" ? route : counting(route), request, reply);
      });
    },
    rowCompute: async ({
      params,
      query: { on_error, outputs },
      reply,
      request,
    }: Call<Params> & { readonly query: z.output<typeof WRITE_SCHEMAS.rowCompute.query> }) => {
      const { check, table, target, writes } = await openRows(params);
      const carrier = { ...reading, connections, log, check, explain };
      await writes.use(table, target, async (opened) => {
        await carryRequest(carrier, await opened.compute({ on_error, outputs: outputs?.split(",") }), request, reply);
      });
    },
    rowUpdate: async ({ params, reply, request }: Call<Params>) => {
      const { table, target, writes } = await openTable(params);
      const signal = endOf(reply);
      using body = await readJson(request, reading);
      const { text, value } = body;
      const [byKeys, byCondition] = rowUpdateSchema.options;
      if (hasMember(value, "where")) {
        const { on_error, set, where } = parseTree(byCondition, value);
        const update = { table, where: conditionSql(table, where), set, on_error };
        return await writes.use(table, target, ({ writer }) => writer.updateWhere(update, signal));
      }
      const { if_not_exists, on_error } = parseTree(byKeys, value);
      const rows = await elementsOf(text, "rows");
      return await writes.use(table, target, ({ writer }) => writer.update({ rows, if_not_exists, on_error }, signal));
    },
    rowDelete: async ({ params, reply, request }: Call<Params>) => {
      const { table, target, writes } = await openTable(params);
      const signal = endOf(reply);
      using body = await readJson(request, reading);
      const { text, value } = body;
      const [byKeys, byCondition] = rowDeleteSchema.options;
      if (hasMember(value, "where")) {
        const where = conditionSql(table, parseTree(byCondition, value).where);
        return await writes.use(table, target, ({ writer }) => writer.deleteWhere(where, signal));
      }
      parseTree(byKeys, value);
      const keys = await elementsOf(text, "keys");
      return await writes.use(table, target, ({ writer }) => writer.delete(keys, signal));
    },
  };
}

/** The route, which answers the numbers of rows and failed cells (`writtenSchema`) instead of the rows. */
function counting(route: CompiledRoute): CompiledRoute {
  return {
    ...route,
    handle: async (request) => {
      const headers = { ...request.headers, prefer: "return=minimal" };
      const answer = await route.handle({ ...request, headers });
      if (answer.status >= 300) return answer;
      const { num_rows: inserted } =
        answer.status === NO_CONTENT ? { num_rows: 1 } : (JSON.parse(wholeText(answer)) as { num_rows: number });
      const errors = failedCells(answer.headers[CELL_ERRORS_HEADER] ?? "");
      const written: Written = { inserted, updated: 0, deleted: 0, errors };
      return { status: 200, headers: { ...answer.headers, ...JSON_HEADERS }, body: JSON.stringify(written) };
    },
  };
}

/** The number of failed cells in a header of `cellErrorHeaders` or of many rows: `fare;rows=3, tax;type="CellError"`. */
function failedCells(header: string): number {
  const items = header.match(/(?:"(?:[^"\\]|\\.)*"|[^",])+/g) ?? [];
  return items.reduce((sum, item) => sum + Number(/;rows=(\d+)$/.exec(item)?.[1] ?? 1), 0);
}

function notWritable(name: string, table: string): Error {
  return appError("invalid_request", {
    detail: `${name} is a view. Its rows are made of rows of the table ${table}.`,
    hint: `Change the rows of ${table}.`,
    meta: { table: name, base: table },
  });
}

/** A JSON body with its text. @throws invalid_json, payload_too_large, overloaded, unsupported_media_type */
async function readJson(
  request: FastifyRequest,
  reading: Parameters<typeof readWholeBody>[1],
): Promise<{ readonly text: string; readonly value: unknown } & Disposable> {
  const type = request.headers["content-type"];
  if (type?.split(";", 1)[0]?.trim().toLowerCase() !== "application/json") throw unsupportedMediaType(type);
  const whole = await readWholeBody(request, reading);
  try {
    return { ...parseJson(whole.content), [Symbol.dispose]: () => whole[Symbol.dispose]() };
  } catch (error) {
    whole[Symbol.dispose]();
    throw error;
  }
}

/** @throws invalid_json */
function parseJson(text: string | Buffer): { readonly text: string; readonly value: unknown } {
  if (typeof text !== "string") {
    throw appError("invalid_json", { detail: "The body is not UTF-8.", hint: "Encode the JSON text as UTF-8." });
  }
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    throw appError("invalid_json", {
      detail: `The body is not JSON: ${error instanceof Error ? error.message : String(error)}.`,
      hint: "Send a JSON object.",
      cause: error,
    });
  }
}

function hasMember(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name);
}

/** Parses a body with expressions. @throws invalid_request */
function parseTree<T>(schema: z.ZodType<T>, value: unknown): T {
  try {
    return parseRequest(schema, value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw appError("invalid_request", {
      detail: "The expressions of the request are nested too deeply.",
      hint: "Simplify the expression.",
      cause: error,
    });
  }
}

/** The texts of the elements of a list, with all digits of their integers. */
async function elementsOf(text: string, member: string): Promise<readonly string[]> {
  const elements: string[] = [];
  for await (const some of splitArray(scanMembers(text).get(member) ?? "[]")) elements.push(...some);
  return elements;
}
