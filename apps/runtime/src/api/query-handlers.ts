import { appError, toProblem } from "@appdb/contract/errors";
import type { queryRequestSchema, rowsQuerySchema, sqlRequestSchema } from "@appdb/contract/routes/data-queries";
import { explainFullDisk } from "@appdb/engine/answers/answers";
import { ARROW_ROWS } from "@appdb/engine/data-queries/arrow-rows";
import { MSGPACK_ROWS } from "@appdb/engine/data-queries/msgpack-rows";
import { NDJSON_ROWS } from "@appdb/engine/data-queries/ndjson-rows";
import type { RowsFormat } from "@appdb/engine/data-queries/rows-format";
import type { DataQueryInput } from "@appdb/engine/data-queries/run-query";
import type { Logger } from "@appdb/engine/ports";
import { endOf } from "@appdb/http/mount-api";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { DatabaseReads } from "../data-reads/database-reads.ts";
import { sendPieces } from "../data-reads/send-pieces.ts";
import type { SqlReads } from "../data-reads/sql-reads.ts";
import { headersOf } from "./json-api.ts";

interface Call<Params, Body> {
  readonly params: Params;
  readonly body: Body;
  readonly query: z.output<typeof rowsQuerySchema>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}
type QueryCall<Params> = Call<Params, z.output<typeof queryRequestSchema>>;
type SqlCall<Params> = Call<Params, z.output<typeof sqlRequestSchema>>;

interface Opening<Params> {
  readonly openReads: (call: Pick<QueryCall<Params>, "params" | "body">) => Promise<DatabaseReads>;
  readonly openSql: (params: Params) => Promise<SqlReads>;
}

/** The routes that run queries of requests, for each API that has them. */
export function queryHandlers<Params>(log: Logger, { openReads, openSql }: Opening<Params>) {
  return {
    queryRun: async (call: QueryCall<Params>) =>
      await sendRows(log, call, async () => {
        const reads = await openReads(call);
        return (output) => reads.run(call.body, output);
      }),
    sqlRun: async (call: SqlCall<Params>) =>
      await sendRows(log, call, async () => {
        const reads = await openSql(call.params);
        return (output) => reads.run(call.body, output);
      }),
  };
}

type Run = (output: Pick<DataQueryInput, "format" | "send" | "signal">) => Promise<void>;

/** Sends the messages of a result. An error after the first one is the last message. */
async function sendRows(
  log: Logger,
  { query, reply, request }: Call<unknown, unknown>,
  open: () => Promise<Run>,
): Promise<void> {
  const format = chooseFormat(request.headers.accept, query.rows);
  const signal = endOf(reply);
  const run = await open();
  const begin = () => {
    reply.hijack();
    reply.raw.writeHead(200, { ...headersOf(reply), "content-type": format.media_type });
  };
  const send = sendPieces(reply.raw, signal, begin);
  try {
    await run({ format, send, signal });
  } catch (error) {
    if (!reply.sent) throw error;
    const problem = toProblem(explainFullDisk(error), request.id);
    if (problem.code === "internal_error" && !signal.aborted) {
      log.error({ err: error, req: request.id }, "a query failed");
    }
    if (!signal.aborted) reply.raw.write(format.message({ error: problem }));
  }
  reply.raw.end();
}

/** @throws not_acceptable, invalid_request */
function chooseFormat(accept: string | undefined, rows: "plain" | "arrow"): RowsFormat {
  const isPacked = accept?.includes(MSGPACK_ROWS.media_type) === true;
  if (rows === "arrow" && !isPacked) {
    throw appError("invalid_request", {
      detail: "Rows in Arrow's format are messages of msgpack.",
      hint: `Send the header accept: ${MSGPACK_ROWS.media_type}`,
    });
  }
  if (rows === "arrow") return ARROW_ROWS;
  return isPacked ? MSGPACK_ROWS : NDJSON_ROWS;
}
