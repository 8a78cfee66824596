import { type IncomingMessage, request } from "node:http";
import { pipeline } from "node:stream/promises";
import { findTooMany } from "@appdb/adapters/http/value-bounds";
import type { Secret } from "@appdb/adapters/secret";
import { appError, fromProblem, parseProblem } from "@appdb/contract/errors";
import type * as z from "zod";
import { connectPod } from "./connect-pod.ts";

/** Nothing that a pod does for one request is silent for longer: functions, statements and imports have limits below. */
const SILENCE_MS = 900_000;
/** A plan of thousands of tables is far below this; rows are handed on piece by piece. */
const MOST_DOCUMENT_BYTES = 64_000_000;
/** Of a line that says how far something is. */
const MOST_LINE_LENGTH = 8_000_000;
const UNAUTHORIZED = 401;
const FIRST_ERROR = 400;

/** A database's pod as its API is reached. */
export interface PodPlace {
  readonly uri: string;
  readonly socket: string;
  readonly token: Secret;
}

export interface PodCall {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** A document to be sent as JSON; or what comes piece by piece, with its headers. */
  readonly body?: object | { readonly stream: AsyncIterable<Uint8Array>; readonly headers: Record<string, string> };
  readonly signal: AbortSignal;
}

/**
 * Asks a pod and answers once the head of its answer is there.
 * @throws what the pod refuses the request with; database_not_reached when nobody answers
 */
export async function callPod(pod: PodPlace, call: PodCall): Promise<IncomingMessage> {
  const answer = await send(pod, call);
  const status = answer.statusCode ?? 0;
  if (status < FIRST_ERROR) return answer;
  const problem = parseProblem((await readWhole(pod, answer)).toString("utf8"));
  // a pod that does not know its own token is not the one that was asked
  if (problem === undefined || status === UNAUTHORIZED) throw notReached(pod.uri);
  throw fromProblem(problem);
}

/** The document that a pod answers, not looked at yet. @throws as callPod */
export async function askDocument(pod: PodPlace, call: PodCall): Promise<unknown> {
  const text = (await readWhole(pod, await callPod(pod, call))).toString("utf8");
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notReached(pod.uri, cause);
  }
}

/** A document of a pod, as the contract has it. @throws database_not_reached for another one */
export function checkDocument<T>({ uri }: PodPlace, schema: z.ZodType<T>, document: unknown): T {
  const tooMany = findTooMany(document);
  if (tooMany !== undefined) throw notReached(uri, new Error(`The pod's answer has ${tooMany}.`));
  const parsed = schema.safeParse(document);
  if (!parsed.success) throw notReached(uri, parsed.error);
  return parsed.data;
}

/** The lines of an answer as they come. @throws database_not_reached when it is cut */
export async function* readLines(pod: PodPlace, answer: IncomingMessage): AsyncGenerator<unknown> {
  let rest = "";
  try {
    for await (const piece of answer.setEncoding("utf8")) {
      const lines = (rest + String(piece)).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MOST_LINE_LENGTH) throw new Error("A line of the pod's answer is too long.");
      for (const line of lines) if (line !== "") yield JSON.parse(line);
    }
  } catch (cause) {
    throw notReached(pod.uri, cause);
  }
}

export function notReached(uri: string, cause?: unknown): Error {
  return appError("database_not_reached", {
    detail: `${uri} does not answer at this moment.`,
    hint: `See how it is, then try again: cli db status ${uri}`,
    meta: { uri },
    cause,
  });
}

async function send(pod: PodPlace, { body, method, path, signal }: PodCall): Promise<IncomingMessage> {
  const streamed = body !== undefined && "stream" in body ? body : undefined;
  const text = body === undefined || streamed !== undefined ? undefined : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${pod.token.reveal()}`,
    ...(text === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    ...streamed?.headers,
  };
  // a connection for this request alone: a kept one would keep the pod awake, and outlive it
  const createConnection = () => connectPod(pod.socket, SILENCE_MS);
  const asked = request({ createConnection, method, path, headers, signal, timeout: SILENCE_MS });
  asked.on("timeout", () => asked.destroy(new Error("The pod said nothing for too long.")));
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    asked.once("response", resolve);
    asked.on("error", (cause) => reject(notReached(pod.uri, cause)));
  });
  if (streamed === undefined) asked.end(text);
  // what ends it early is the answer's business: the pod may refuse the rest of what is sent
  else pipeline(streamed.stream, asked).catch((error: unknown) => asked.destroy(toError(error)));
  return await answered;
}

async function readWhole(pod: PodPlace, answer: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of answer) {
      bytes += (piece as Buffer).length;
      if (bytes > MOST_DOCUMENT_BYTES) throw new Error("The pod's answer is too long.");
      pieces.push(piece as Buffer);
    }
  } catch (cause) {
    throw notReached(pod.uri, cause);
  }
  return Buffer.concat(pieces);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
