import type { IncomingMessage } from "node:http";
import { type Client, createClient, type Fetched } from "@appdb/contract/clients/client";
import { appError } from "@appdb/contract/errors";
import type { Schema } from "@appdb/contract/routes/api";
import { POD_API } from "@appdb/contract/routes/pod-api";
import { findTooMany } from "@appdb/http/value-bounds";
import { fetchPod, type PodAddress } from "./fetch-pod.ts";

/** Nothing that a pod does for one request is silent for longer: functions, statements and imports have limits below. */
const SILENCE_MS = 900_000;
/** A plan of thousands of tables is far below this; rows are handed on piece by piece. */
const MAX_DOCUMENT_BYTES = 64_000_000;
/** Of a line that says how far something is. */
const MAX_LINE_LENGTH = 8_000_000;
const UNAUTHORIZED = 401;

/** How the pod of a database is reached. */
export interface DatabaseAddress extends PodAddress {
  readonly uri: string;
}

export type PodClient = Client<typeof POD_API, PodAnswer>;
export interface PodAnswer extends Fetched {
  readonly body: IncomingMessage;
}

/**
 * A pod's API. Its documents are checked, because a pod runs code of strangers.
 * @throws what the pod refuses a request with; database_not_reached when nothing answers, or no document of the contract
 */
export function podClient({ uri, ...address }: DatabaseAddress): PodClient {
  const ask = fetchPod({ ...address, silence_ms: SILENCE_MS, most_bytes: MAX_DOCUMENT_BYTES });
  return createClient<typeof POD_API, PodAnswer>(POD_API, {
    url: "",
    fetch: async (path, init) => {
      const answer = await ask(path, init);
      // a pod that does not know its own token is not the one that was asked
      if (answer.status === UNAUTHORIZED) {
        // a body that nobody reads would hold its connection
        answer.body.destroy();
        throw new Error("The pod refuses its token.");
      }
      return answer;
    },
    headers: () => ({}),
    lost: (_route, cause) => notReached(uri, cause),
    interrupted: (cause) => notReached(uri, cause),
    failed: (_route, _what, cause) => notReached(uri, cause),
    check: (schema, document) => checkDocument(uri, schema, document),
    most_line_length: MAX_LINE_LENGTH,
  });
}

/** A document of a pod, as the contract has it. @throws database_not_reached for another one */
export function checkDocument(uri: string, schema: Schema, document: unknown): unknown {
  const tooMany = findTooMany(document);
  if (tooMany !== undefined) throw notReached(uri, new Error(`The pod's answer has ${tooMany}.`));
  const parsed = schema.safeParse(document);
  if (!parsed.success) throw notReached(uri, parsed.error);
  return parsed.data;
}

export function notReached(uri: string, cause?: unknown): Error {
  return appError("database_not_reached", {
    detail: `${uri} does not answer at this moment.`,
    hint: `See how it is, then try again: cli db status ${uri}`,
    meta: { uri },
    cause,
  });
}
