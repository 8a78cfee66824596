import { appError, toProblem } from "@appdb/contract/errors";
import type { queryRequestSchema, rowsQuerySchema } from "@appdb/contract/routes/data-queries";
import { explainFullDisk } from "@appdb/engine/answers/answers";
import { ARROW_ROWS } from "@appdb/engine/data-queries/arrow-rows";
import { MSGPACK_ROWS } from "@appdb/engine/data-queries/msgpack-rows";
import { NDJSON_ROWS } from "@appdb/engine/data-queries/ndjson-rows";
import type { RowsFormat } from "@appdb/engine/data-queries/rows-format";
import type { Logger } from "@appdb/engine/ports";
import { endOf } from "@appdb/http/mount-api";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { DatabaseReads } from "../databases/database-reads.ts";
import { sendPieces } from "../databases/send-pieces.ts";
import { headersOf } from "./json-api.ts";

interface QueryCall<Params> {
  readonly params: Params;
  readonly body: z.output<typeof queryRequestSchema>;
  readonly query: z.output<typeof rowsQuerySchema>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** The route that runs a query of a request, for each API that has it. */
export function queryHandlers<Params>(
  log: Logger,
  open: (call: Pick<QueryCall<Params>, "params" | "body">) => Promise<DatabaseReads>,
) {
  return {
    queryRun: async ({ body, params, query, reply, request }: QueryCall<Params>) => {
      const format = chooseFormat(request.headers.accept, query.rows);
      const reads = await open({ params, body });
      const signal = endOf(reply);
      const begin = () => {
        reply.hijack();
        reply.raw.writeHead(200, { ...headersOf(reply), "content-type": format.media_type });
      };
      const send = sendPieces(reply.raw, signal, begin);
      try {
        await reads.run(body, { format, send, signal });
      } catch (error) {
        if (!reply.sent) throw error;
        const problem = toProblem(explainFullDisk(error), request.id);
        if (problem.code === "internal_error" && !signal.aborted) {
          log.error({ err: error, req: request.id }, "a query failed");
        }
        if (!signal.aborted) reply.raw.write(format.message({ error: problem }));
      }
      reply.raw.end();
    },
  };
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
