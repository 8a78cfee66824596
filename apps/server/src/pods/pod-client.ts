import type { IncomingMessage } from "node:http";
import { type Client, createClient, type Fetched } from "@appdb/contract/clients/client";
import { isBroken, lostWrite } from "@appdb/contract/clients/lost-write";
import { AppError, appError, type Problem } from "@appdb/contract/errors";
import type { Route, Schema } from "@appdb/contract/routes/api";
import { POD_API } from "@appdb/contract/routes/pod-api";
import { findTooMany } from "@appdb/http/value-bounds";
import { type FetchPodInput, fetchPod, type PodAddress } from "./fetch-pod.ts";

/** Longer than any silence of a pod: functions, statements and imports have lower limits. */
const SILENCE_MS = 900_000;
/** Far above a plan of thousands of tables. Rows are streamed. */
const MAX_DOCUMENT_BYTES = 64_000_000;
/** Maximum length of a progress line. */
const MAX_LINE_LENGTH = 8_000_000;
const UNAUTHORIZED = 401;

/** How the pod of a database is reached. */
export interface DatabaseAddress extends PodAddress {
  readonly uri: string;
  /** Why the pod ended, after a connection to it broke; missing for work of the server itself. */
  readonly whyEnded?: () => Promise<MemoryEnd | undefined>;
  /** Counts documents for a request of an organization; missing for work of the server itself. */
  readonly count?: FetchPodInput["count"];
}

/** A pod that ended because it needed too much memory. */
export interface MemoryEnd {
  /** Of its database, at that time. */
  readonly memory_mb: number;
}

export type PodClient = Client<typeof POD_API, PodAnswer>;
export interface PodAnswer extends Fetched {
  readonly body: IncomingMessage;
}

/**
 * Creates the client of a pod's API. It validates documents, because a pod runs untrusted code.
 * @throws the pod's refusals; server_too_old for a route that the pod does not have; commit_unknown for a write of rows
 * whose connection broke; database_not_reached without an answer, or for one that does not match the contract
 */
export function podClient({ uri, whyEnded, ...address }: DatabaseAddress, silenceMs = SILENCE_MS): PodClient {
  const ask = fetchPod({ ...address, silence_ms: silenceMs, max_bytes: MAX_DOCUMENT_BYTES });
  return createClient<typeof POD_API, PodAnswer>(POD_API, {
    url: "",
    fetch: async (path, init) => {
      const answer = await ask(path, init).catch(async (cause: unknown) => {
        const end = isBroken(cause) && init.signal?.aborted !== true ? await whyEnded?.() : undefined;
        throw end === undefined ? cause : new EndedByMemory(end, cause);
      });
      // a pod that refuses its own token is not the requested one
      if (answer.status === UNAUTHORIZED) {
        // an unread body would occupy its connection
        answer.body.destroy();
        throw new Error("The pod refuses its token.");
      }
      return answer;
    },
    headers: () => ({}),
    lost: (route, cause) =>
      cause instanceof AppError
        ? cause
        : explained(uri, lostWrite(uri, route, cause) ?? podUnreachable(uri, cause), cause),
    refused: (route, problem) => (isUnknownRoute(problem) ? previousBuild(uri, route) : undefined),
    interrupted: (cause) => podUnreachable(uri, cause),
    failed: (_route, _what, cause) => podUnreachable(uri, cause),
    check: (schema, document) => checkDocument(uri, schema, document),
    most_line_length: MAX_LINE_LENGTH,
  });
}

/** Validates a pod's document by the contract. @throws database_not_reached if it does not match */
export function checkDocument(uri: string, schema: Schema, document: unknown): unknown {
  const tooMany = findTooMany(document);
  if (tooMany !== undefined) throw podUnreachable(uri, new Error(`The pod's answer has ${tooMany}.`));
  const parsed = schema.safeParse(document);
  if (!parsed.success) throw podUnreachable(uri, parsed.error);
  return parsed.data;
}

/** Whether a pod refuses a route that it does not have. Its other refusals with this code are about what a route asks. */
function isUnknownRoute({ code, detail }: Problem): boolean {
  return code === "not_found" && / has no [A-Z]+ \/v\d+\/\S*$/.test(detail);
}

/** The error of a pod that started before the server was upgraded. */
function previousBuild(uri: string, { method, path }: Route): Error {
  return appError("server_too_old", {
    detail: `The database ${uri} still runs the previous build of the server, which does not know ${method} ${path}.`,
    hint: `Restart it: cli db restart ${uri}`,
    meta: { uri },
  });
}

/** The connection to a pod broke, because the pod needed too much memory. */
class EndedByMemory extends Error {
  readonly memory_mb: number;

  constructor({ memory_mb: memoryMb }: MemoryEnd, cause: unknown) {
    super(`the pod needed more than ${memoryMb} MB of memory`, { cause });
    this.memory_mb = memoryMb;
  }
}

/** The error of a broken connection, with the reason if the pod lacked memory. What is unknown stays so. */
function explained(uri: string, error: AppError, cause: unknown): AppError {
  if (!(cause instanceof EndedByMemory)) return error;
  const { memory_mb: memoryMb } = cause;
  const more = `Give it more memory_mb in its entry of service.toml: cli db update ${uri}`;
  return new AppError(error.code, {
    detail: `${error.message} Its pod needed more memory than the memory_mb of the database, ${memoryMb} MB, and was restarted.`,
    hint: error.code === "commit_unknown" && error.hint !== undefined ? `${more}   ${error.hint}` : more,
    meta: { ...error.meta, reason: "out_of_memory", memory_mb: memoryMb },
    cause,
  });
}

export function podUnreachable(uri: string, cause?: unknown): AppError {
  return appError("database_not_reached", {
    detail: `${uri} does not answer.`,
    hint: `Check its status, then try again: cli db status ${uri}`,
    meta: { uri },
    cause,
  });
}
