import { type IncomingMessage, request } from "node:http";
import { appError } from "@appdb/contract/errors";
import { CALL_FILE_BYTES } from "@appdb/contract/routes/control-paths";
import type { ServiceCallAnswer, serviceCallSchema } from "@appdb/contract/routes/control-services";
import type * as z from "zod";
import type { ServerConfig } from "../../config/config.ts";
import { localDoor } from "../../edge/admin-socket.ts";

/** A longer answer is cut here: live queries never end. */
const MAX_MS = 30_000;
const MAX_BYTES = 512_000;
/** Types of answers that are read as a file. */
const FILE = /^(?:image|video|audio)\/|^application\/(?:octet-stream|pdf|zip|vnd\.)/;

export interface CallCaller {
  /** The service's address. Null if no gateway serves it. */
  readonly endpoint: string | null;
  /** The person's IP address, for the gateway's log. */
  readonly address: string;
  readonly signal: AbortSignal;
}

/**
 * Sends a request to a service through the gateway's admin socket, with the given key and the gateway's usual checks
 * and limits. Resolves with any answer.
 * @throws service_not_available if no gateway answers, service_timeout
 */
export async function callService(
  config: Pick<ServerConfig, "home" | "runtime_base">,
  caller: CallCaller,
  call: z.output<typeof serviceCallSchema>,
): Promise<ServiceCallAnswer> {
  if (caller.endpoint === null) throw noGateway();
  const { host, pathname, protocol } = new URL(caller.endpoint);
  const body = call.body === null ? undefined : Buffer.from(call.body, call.encoding === "base64" ? "base64" : "utf8");
  const timeout = AbortSignal.timeout(MAX_MS);
  const signal = AbortSignal.any([caller.signal, timeout]);
  const startedAt = performance.now();
  const sending = request({
    socketPath: localDoor(config),
    // a connection for this request only
    agent: false,
    method: call.method,
    path: pathname + call.path,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...call.headers,
      ...(body === undefined ? {} : { "content-length": body.length }),
      host,
      "x-api-key": call.api_key,
      "x-forwarded-for": caller.address,
      "x-forwarded-proto": protocol.slice(0, -1),
    },
    signal,
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sending.once("response", resolve);
    sending.on("error", (cause) => reject(timeout.aborted ? tooLong(cause) : noGateway(cause)));
  });
  sending.end(body);
  const answer = await answered;
  const read = await readAnswer(answer);
  const ms = Math.round((performance.now() - startedAt) * 1_000) / 1_000;
  const headers = [];
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
    headers.push({ name: (answer.rawHeaders[at] ?? "").toLowerCase(), value: answer.rawHeaders[at + 1] ?? "" });
  }
  return {
    status: answer.statusCode ?? 0,
    ms,
    headers,
    ...read,
    request_id: String(answer.headers["x-request-id"] ?? ""),
  };
}

/** The answer, or its start if it is long, slow or interrupted. */
async function readAnswer(
  answer: IncomingMessage,
): Promise<Pick<ServiceCallAnswer, "body" | "bytes" | "content" | "is_cut">> {
  const maxBytes = FILE.test(answer.headers["content-type"] ?? "") ? CALL_FILE_BYTES : MAX_BYTES;
  const pieces: Buffer[] = [];
  let bytes = 0;
  let isCut = false;
  try {
    for await (const piece of answer) {
      const part = (piece as Buffer).subarray(0, maxBytes - bytes);
      pieces.push(part);
      bytes += part.length;
      isCut = part.length < (piece as Buffer).length;
      if (isCut) break;
    }
  } catch {
    isCut = true;
  }
  const whole = Buffer.concat(pieces);
  const body = toText(whole, isCut);
  return { body, content: body === null && !isCut ? whole.toString("base64") : null, bytes, is_cut: isCut };
}

/** Null for bytes that are not text. A cut answer may end within a character. */
function toText(bytes: Buffer, isCut: boolean): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return null;
  }
}

function noGateway(cause?: unknown): Error {
  return appError("service_not_available", {
    detail: "The gateway of this server does not answer.",
    hint: "Try again in a moment. Call a gateway on another machine from a terminal.",
    cause,
  });
}

function tooLong(cause: unknown): Error {
  return appError("service_timeout", {
    detail: `The service did not start its answer within ${MAX_MS / 1_000} seconds.`,
    hint: "Call it from a terminal, which waits longer.",
    cause,
  });
}
