import { appError, fromProblem, parseProblem, toProblem } from "@appdb/contract/errors";
import { COLUMNS_TYPE, SENDER_HEADER } from "@appdb/contract/routes/data-writes";
import { FREE_MACHINE_DISK, problemHeaders, type RouteAnswer } from "@appdb/engine/answers/answers";
import type { Logger } from "@appdb/engine/ports";
import type { ArrivingBodies } from "@appdb/engine/routes/arriving-bodies";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import type { FastifyReply, FastifyRequest } from "fastify";
import { BodyStream } from "../http/body-stream.ts";
import type { Connections } from "../http/connections.ts";
import { fromHttpError, unsupportedMediaType } from "../http/http-errors.ts";
import { refuseEncoding } from "../http/packed-body.ts";
import { readBody } from "../http/read-body.ts";
import { sendAnswer } from "../http/send-answer.ts";

export interface CarryDeps {
  readonly connections: Connections;
  readonly log: Logger;
  /** Maximum size of a body that is read into memory. */
  readonly body_bytes: number;
  readonly bodies: ArrivingBodies;
  /** Names what the program knows about the cause of an error, which the route does not know. */
  explain(error: unknown): Promise<unknown>;
  /** Called for each piece of a streamed body. @throws the error that ends the request */
  check(): void;
}

/** Passes a request to a compiled route and sends its answer. */
export async function carryRequest(
  deps: CarryDeps,
  route: CompiledRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { connections, log } = deps;
  const { raw, headers, id } = request;
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  const refusal = refuseEncoding(headers);
  if (refusal !== undefined) throw refusal;
  const hasColumns = type === COLUMNS_TYPE && route.takes_columns === true;
  const isStreamed = hasColumns || (type !== undefined && route.streams?.includes(type) === true);
  if (!isStreamed && type !== "application/json") throw unsupportedMediaType(headers["content-type"]);
  const signal = connections.signalOf(raw);
  const stream = isStreamed ? new BodyStream(raw, signal) : undefined;
  using whole = isStreamed ? undefined : await readWholeBody(request, deps);
  reply.hijack();
  const pieces = stream === undefined ? undefined : checked(stream, () => deps.check());
  const search = searchOf(request.url);
  const packedBytes = () => stream?.packedBytes();
  // none on this machine, where all requests are those of one person
  const sender = headers[SENDER_HEADER]?.toString();
  const answer = await route.handle({
    body: whole?.content ?? "",
    stream: pieces,
    packedBytes,
    has_columns: hasColumns,
    search,
    headers,
    id,
    signal,
    sender,
  });
  whole?.[Symbol.dispose]();
  const given = await explainAnswer(answer, deps);
  await sendAnswer({ request: raw, response: reply.raw, id, log, cors: null, draining: connections.draining }, given);
  stream?.drop();
}

/** Problems of PostgreSQL and its disk. */
const OF_MACHINE: ReadonlySet<string> = new Set(["commit_unknown", "database_unavailable", "disk_full"]);

/** A route converts its errors itself, and knows neither the machine's disk nor how PostgreSQL was started. */
export async function explainAnswer(
  answer: RouteAnswer,
  { explain }: Pick<CarryDeps, "explain">,
): Promise<RouteAnswer> {
  const { body, status } = answer;
  const problem = status >= 500 && typeof body === "string" ? parseProblem(body) : undefined;
  if (problem === undefined || !OF_MACHINE.has(problem.code)) return answer;
  const error = fromProblem(problem);
  // the other disks that can be full have hints of their own
  const isOfPostgres = error.code === "disk_full" && error.hint === FREE_MACHINE_DISK;
  const known = await explain(isOfPostgres ? appError("disk_full", { detail: error.message, cause: error }) : error);
  const explained = toProblem(known, problem.instance);
  const headers = { ...answer.headers, ...problemHeaders(explained.code) };
  return { ...answer, status: explained.status, headers, body: JSON.stringify(explained) };
}

async function* checked(stream: BodyStream, check: () => void): AsyncGenerator<Uint8Array, void> {
  for await (const piece of stream) {
    check();
    yield piece;
  }
}

/** A body in memory, which counts until it is disposed: text, or bytes that are not UTF-8. */
export interface WholeBody extends Disposable {
  readonly content: string | Buffer;
}

/** Reads a body into memory. @throws payload_too_large, overloaded */
export function readWholeBody(
  { raw, url }: FastifyRequest,
  { bodies, body_bytes: bodyBytes }: Pick<CarryDeps, "bodies" | "body_bytes">,
): Promise<WholeBody> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, content: string | Buffer = "", counted?: Disposable) => {
      if (error === null) resolve({ content, [Symbol.dispose]: () => counted?.[Symbol.dispose]() });
      else reject(fromHttpError(error, url));
    };
    readBody(raw, bodyBytes, done, bodies);
  });
}

function searchOf(url: string): string {
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark + 1);
}
