import { answerError, type RouteAnswer } from "@appdb/engine/answers/answers";
import type { LinkAnswer, LinkRequest } from "@appdb/pods/link/link";
import type { LinkAsked } from "@appdb/pods/link/serve-link";
import type { DatabasePodDeps } from "../composition/compose-database.ts";

/** Answers requests of the gateway to addresses of the database's media store. They count as use of the database. */
export function carryMedia(deps: Pick<DatabasePodDeps, "log" | "managedStore" | "use">) {
  return async ({ body, headers, id, method, search }: LinkRequest, asked: LinkAsked): Promise<LinkAnswer> => {
    deps.use.begin();
    const pieces = Buffer.isBuffer(body) ? piecesOf(body) : body;
    const { signal } = asked;
    const answer = await deps.managedStore().then(
      (store) => store.handle({ method, token: search, headers, body: pieces, id, signal }),
      (error: unknown) => answerError(error, id, deps.log, signal),
    );
    return toLinkAnswer(answer, () => deps.use.end());
  };
}

function toLinkAnswer({ body, headers, status }: RouteAnswer, ended: () => void): LinkAnswer {
  const flat = Object.entries(headers).flat();
  if (typeof body !== "string" && !Buffer.isBuffer(body)) return { status, headers: flat, body: untilEnd(body, ended) };
  ended();
  return { status, headers: flat, body: Buffer.from(body) };
}

async function* untilEnd(pieces: AsyncIterable<Uint8Array | string>, ended: () => void): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of pieces) yield typeof piece === "string" ? Buffer.from(piece) : piece;
  } finally {
    ended();
  }
}

async function* piecesOf(body: Buffer): AsyncGenerator<Uint8Array> {
  if (body.length > 0) yield body;
}
