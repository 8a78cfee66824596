import { type IncomingMessage, request } from "node:http";
import type { FetchLike } from "@appdb/contract/clients/client";
import type { PodEndpoint } from "@appdb/pods/driver/pod-driver";
import { writeBody } from "@appdb/system/network/write-body";
import type { Secret } from "@appdb/system/secret";
import { connectPod } from "./connect-pod.ts";
import type { PodAnswer } from "./pod-client.ts";

const FIRST_ERROR = 400;
/** Maximum size of a pod's refusal. */
const MAX_PROBLEM_BYTES = 4_000_000;

/** How the API of a pod is reached. */
export interface PodAddress {
  readonly endpoint: PodEndpoint;
  readonly token: Secret;
}

export interface FetchPodInput extends PodAddress {
  /** Maximum silence of the pod. */
  readonly silence_ms: number;
  /** Maximum size of an answer that is read as a whole. */
  readonly max_bytes: number;
  /** Counts the bytes of such an answer as they arrive. @throws what refuses it */
  readonly count?: ((signal: AbortSignal) => (bytes: number) => void) | undefined;
}

/** `fetch` to a pod's API, with its token. A body that is a stream goes piece by piece. */
export function fetchPod(input: FetchPodInput): FetchLike<PodAnswer, string | AsyncIterable<Uint8Array>> {
  const { count, max_bytes: maxBytes, endpoint, silence_ms: silenceMs, token } = input;
  return async (path, { body, headers: extraHeaders, method, signal }) => {
    const length = typeof body === "string" ? { "content-length": String(Buffer.byteLength(body)) } : {};
    const headers = { authorization: `Bearer ${token.reveal()}`, ...extraHeaders, ...length };
    // a connection for this request only: an idle one would keep the pod awake and outlive it
    const createConnection = () => connectPod(endpoint, silenceMs);
    const aborting = signal === undefined ? {} : { signal };
    const sending = request({ createConnection, method, path, headers, timeout: silenceMs, ...aborting });
    sending.on("timeout", () => sending.destroy(silence()));
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sending.once("response", resolve);
      sending.on("error", reject);
    });
    if (body === undefined || typeof body === "string") sending.end(body);
    // the answer reports the reason, because the pod may refuse the rest of the body
    else writeBody(sending, body).catch((error: unknown) => sending.destroy(toError(error)));
    const answer = await answered;
    const status = answer.statusCode ?? 0;
    const most = status < FIRST_ERROR ? maxBytes : Math.min(maxBytes, MAX_PROBLEM_BYTES);
    const counted = signal === undefined ? undefined : count?.(signal);
    return { status, body: answer, text: () => readText(answer, most, counted) };
  };
}

async function readText(
  answer: IncomingMessage,
  maxBytes: number,
  counted: ((bytes: number) => void) | undefined,
): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    bytes += (piece as Buffer).length;
    if (bytes > maxBytes) throw new Error("The pod's answer is too long.");
    counted?.(bytes);
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function silence(): Error {
  return Object.assign(new Error("The pod was silent for too long."), { code: "ETIMEDOUT" });
}
