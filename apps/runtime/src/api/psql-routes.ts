import { pipeline } from "node:stream/promises";
import type { PsqlEnd, psqlRequestSchema } from "@appdb/contract/routes/psql";
import type { Logger } from "@appdb/engine/ports";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { PsqlSessions } from "../data-reads/psql-sessions.ts";
import { headersOf } from "./json-api.ts";

/** Proxies close connections after a minute of silence. */
const ALIVE_MS = 20_000;

interface Opening<Params> {
  readonly params: Params;
  readonly body: z.output<typeof psqlRequestSchema> & {
    /** Missing on this machine, where everything belongs to one person. */
    readonly caller?: string;
  };
  readonly reply: FastifyReply;
}

interface Connecting<Params> {
  readonly params: Params & { readonly session: string };
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

type Emit = (line: object) => void;

/** The routes of sessions of psql, for each API that has them. */
export function psqlHandlers<Params>(log: Logger, open: (params: Params) => Promise<PsqlSessions>) {
  const openSession = async ({ body: { caller = "", folder }, params, reply }: Opening<Params>, writes: boolean) => {
    const sessions = await open(params);
    const session = await sessions.open({ caller, folder, writes });
    return async (emit: Emit, signal: AbortSignal) => {
      const { ended, ends_at: endsAt, id, password, user } = session;
      const alive = setInterval(() => emit({ event: "alive" }), ALIVE_MS);
      try {
        emit({ event: "session", session: id, user, password, database: sessions.database, ends_at: endsAt });
        // a client that left meanwhile closed the response before it was watched
        if (!reply.raw.destroyed) await anyOf([signal, ended]);
        if (ended.aborted) emit({ event: "ended", reason: ended.reason as PsqlEnd });
      } finally {
        clearInterval(alive);
        await sessions.close(session);
      }
      return {};
    };
  };
  return {
    psqlRead: (call: Opening<Params>) => openSession(call, false),
    psqlWrite: (call: Opening<Params>) => openSession(call, true),
    psqlConnect: async ({ params, reply, request: { id, raw: up } }: Connecting<Params>): Promise<void> => {
      const { answers, guard, socket } = await (await open(params)).connect(params.session);
      reply.hijack();
      const down = reply.raw;
      down.writeHead(200, { ...headersOf(reply), "content-type": "application/octet-stream" });
      // the client waits for the head before it sends
      down.flushHeaders();
      socket.once("refused", (response: Buffer) => {
        socket.destroy();
        down.end(response);
      });
      // either side may end both, at any time
      const ways = [pipeline(up, guard, socket), pipeline(socket, answers, down)];
      for (const way of ways) way.catch((error: unknown) => log.debug({ err: error, req: id }, "a tunnel was cut"));
      await Promise.allSettled(ways);
      socket.destroy();
    },
  };
}

async function anyOf(signals: readonly AbortSignal[]): Promise<void> {
  const any = AbortSignal.any([...signals]);
  if (any.aborted) return;
  await new Promise<void>((resolve) => any.addEventListener("abort", () => resolve(), { once: true }));
}
