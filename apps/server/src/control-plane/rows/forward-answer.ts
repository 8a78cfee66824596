import { endOf } from "@appdb/http/mount-api";
import type { FastifyReply } from "fastify";
import {
  type DatabaseAddress,
  type PodAnswer,
  type PodClient,
  podClient,
  podUnreachable,
} from "../../pods/pod-client.ts";

const JSON_TYPE = "application/json";
/** The failed cells of an insert that returns its rows. */
const CELL_ERRORS = "x-cell-errors";
const PRINTABLE = /^[ -~]{1,8192}$/;
const STREAMS = ["application/x-ndjson", "application/msgpack"] as const;

/** Sends the answer's bytes as data only: a pod's data comes from untrusted callers. */
export async function forwardAnswer({ body, status }: PodAnswer, reply: FastifyReply): Promise<void> {
  const type = STREAMS.find((one) => body.headers["content-type"]?.startsWith(one) === true);
  const failed = String(body.headers[CELL_ERRORS] ?? "");
  await reply
    .code(status)
    .headers(PRINTABLE.test(failed) ? { [CELL_ERRORS]: failed } : {})
    .type(type ?? "application/json; charset=utf-8")
    .send(body);
}

/**
 * Sends a pod's document as bytes. Its size depends on the members: parsed documents would fill the memory of the
 * control plane, and parsing them would delay other organizations.
 * @throws the pod's refusals; database_not_reached for an answer of another type
 */
export async function forwardDocument(
  pod: DatabaseAddress,
  reply: FastifyReply,
  open: (client: PodClient, options: { readonly signal: AbortSignal }) => Promise<PodAnswer>,
): Promise<void> {
  const answer = await open(podClient(pod), { signal: endOf(reply) });
  const type = answer.body.headers["content-type"];
  if (type?.startsWith(JSON_TYPE) !== true) {
    // an unread body would occupy its connection
    answer.body.destroy();
    throw podUnreachable(pod.uri, new Error(`The pod's answer has the type ${type}.`));
  }
  await forwardAnswer(answer, reply);
}
