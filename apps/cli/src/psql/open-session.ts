import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import type { Fetched } from "@appdb/contract/clients/client";
import { AppError, appError } from "@appdb/contract/errors";
import type { Target } from "@appdb/contract/names";
import {
  PSQL_BLOCKS,
  PSQL_PAUSE_MINUTES,
  type PsqlEnd,
  type PsqlLine,
  type PsqlSessionLine,
} from "@appdb/contract/routes/psql";
import { fatalResponse } from "@appdb/system/network/postgres-errors";
import type { Context } from "../context.ts";
import { readStartup } from "./read-startup.ts";

const LOOPBACK = "127.0.0.1";
const BYTES = { "content-type": "application/octet-stream" };

const REASONS: Readonly<Record<PsqlEnd, string>> = {
  time: "it was open for the longest time",
  idle: "it was idle for too long",
  blocking: `locks of your sessions made others wait ${PSQL_BLOCKS} times`,
  disk_full: "the database takes no more writes",
  stopped: "the database stopped",
  revoked: "the key or sign-in was removed, or may no longer use the database",
  server_stopped: "the server stopped or restarted",
};

/** A session of psql, which programs of this machine reach by a port. They send its password. */
export interface OpenPsql extends AsyncDisposable {
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly host: string;
  readonly port: number;
  readonly ends_at: string;
  /** Resolves when the server ends the session, with the error to show. */
  readonly ended: Promise<Error>;
}

/** Opens a session, and a port that leads to PostgreSQL. @throws errors of the daemon or the server */
export async function openPsql(ctx: Context, target: Target, writes: boolean): Promise<OpenPsql> {
  const closing = new AbortController();
  const signal = AbortSignal.any([ctx.signal, closing.signal]);
  const api = await openApi(ctx, target, { writes, signal });
  const lines = api.lines[Symbol.asyncIterator]();
  const session = await firstLine(lines, target);
  const over = endOf(lines, target);
  let end: Error | undefined;
  void over.then((reason) => {
    end = reason;
  });
  const connections = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    void carry(socket, session.user, async (sent) => {
      if (end !== undefined) throw end;
      return await api.connect(session.session, sent);
    });
  });
  server.listen({ host: LOOPBACK, port: 0, exclusive: true });
  await once(server, "listening");
  return {
    user: session.user,
    password: session.password,
    database: session.database,
    ends_at: session.ends_at,
    host: LOOPBACK,
    port: (server.address() as AddressInfo).port,
    ended: over,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of connections) socket.destroy();
      closing.abort();
    },
  };
}

interface PsqlApi {
  readonly lines: AsyncIterable<PsqlLine>;
  connect(session: string, sent: AsyncIterable<Uint8Array>): Promise<Fetched>;
}

async function openApi(
  ctx: Context,
  target: Target,
  { signal, writes }: { readonly writes: boolean; readonly signal: AbortSignal },
): Promise<PsqlApi> {
  const name = writes ? "psqlWrite" : "psqlRead";
  const body = { folder: target.folders.join("/") };
  const options = { signal, headers: BYTES };
  if (target.kind === "local") {
    const client = await ctx.daemon.ensure();
    const params = { db: target.database };
    return {
      lines: client.lines(name, { params, body }, signal),
      connect: (session, sent) => client.open("psqlConnect", { params: { ...params, session }, sent }, options),
    };
  }
  const { client } = await (await ctx.control()).open();
  const params = { org: target.uri.organization, db: target.uri.database };
  return {
    lines: client.lines(name, { params, body }, signal),
    connect: (session, sent) => client.open("psqlConnect", { params: { ...params, session }, sent }, options),
  };
}

async function firstLine(lines: AsyncIterator<PsqlLine>, target: Target): Promise<PsqlSessionLine> {
  const { value } = (await lines.next()) as { value: PsqlLine | undefined };
  if (value?.event === "session") return value;
  throw ended(target, "the connection to the server broke");
}

async function endOf(lines: AsyncIterator<PsqlLine>, target: Target): Promise<Error> {
  try {
    for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
      if (next.value.event === "ended")
        return ended(target, REASONS[next.value.reason] ?? "the server ended it", next.value.reason);
    }
    return ended(target, "the connection to the server ended");
  } catch (error) {
    return error instanceof Error ? error : ended(target, String(error));
  }
}

function ended({ text }: Target, why: string, reason?: PsqlEnd): AppError {
  return appError("interrupted", {
    detail: `The session of psql with ${text} ended: ${why}.`,
    hint: `${reason === "blocking" ? `Wait ${PSQL_PAUSE_MINUTES} minutes, then open` : "Open"} another one: cli psql ${text}`,
  });
}

/** Carries the bytes of a connection. A refusal is sent in PostgreSQL's protocol, so that its client shows it. */
async function carry(
  socket: Socket,
  user: string,
  connect: (sent: AsyncIterable<Uint8Array>) => Promise<Fetched>,
): Promise<void> {
  // the pipeline reports errors; until then no one else listens
  socket.on("error", () => undefined);
  try {
    const startup = await readStartup(socket, user);
    if (startup === undefined) {
      socket.end(fatalResponse("28000", "This connection is only for the user of the session."));
      return;
    }
    const { body } = await connect(following(startup, socket));
    if (body === null) throw new TypeError("The response has no body.");
    await pipeline(body, socket);
  } catch (error) {
    if (!socket.writable) return;
    const text =
      error instanceof AppError ? [error.message, error.hint].filter(Boolean).join(" ") : "The tunnel broke.";
    socket.end(fatalResponse("08006", text));
  } finally {
    socket.destroySoon();
  }
}

async function* following(first: Buffer, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
