import { appError } from "@appdb/contract/errors";
import { PSQL_IDLE_MINUTES, PSQL_SESSIONS_OF_ORG, type PsqlLine, psqlLineSchema } from "@appdb/contract/routes/psql";
import type { FastifyReply } from "fastify";
import { doneBy, type RecordEvent } from "../../audit/event.ts";
import type { Principal } from "../../audit/principal.ts";
import { checkDocument, type PodClient, podClient, podUnreachable } from "../../pods/pod-client.ts";
import type { Call, ControlRoutes } from "../../requests/checked-route.ts";
import type { LineStreams, StreamEnd } from "../../requests/line-streams.ts";
import { beginStream } from "../../requests/raw-stream.ts";
import { type FindPodDeps, type FoundPod, findPod } from "../databases/find-pod.ts";

/** The pod ends an idle tunnel before. */
const SILENCE_MS = (PSQL_IDLE_MINUTES + 5) * 60_000;

export interface PsqlRouteDeps extends FindPodDeps {
  readonly line_streams: LineStreams;
  readonly recordEvent: RecordEvent;
}

/** Sessions of psql in the database's pod. The server checks every 20 seconds whether a session's caller still belongs to the organization. */
export function addPsqlRoutes(routes: ControlRoutes, deps: PsqlRouteDeps): void {
  const sessions = new OrgSessions();
  const serve = async (call: Call<"psqlRead"> | Call<"psqlWrite">, name: "psqlRead" | "psqlWrite") => {
    const { body, client, org, params, principal, reply, request } = call;
    const found = await findPod(deps, org, params.db, name === "psqlRead" ? "read" : "written");
    using _one = sessions.enter(org.id, org.name);
    const leaving = new AbortController();
    reply.raw.once("close", () => leaving.abort());
    const asked = { ...body, caller: callerOf(principal) };
    const lines = checkedLines(found, podClient(found.pod).lines(name, { body: asked }, leaving.signal));
    // before the answer begins: the pod may refuse
    const first = await lines.next();
    if (first.done === true) throw podUnreachable(found.pod.uri);
    await deps.recordEvent(deps.db, {
      ...doneBy({ org, principal, client }),
      action: name === "psqlRead" ? "database.psql" : "database.psql_write",
      target: found.pod.uri,
    });
    const { value } = first;
    const send = async function* (signal: AbortSignal): AsyncGenerator<PsqlLine> {
      signal.addEventListener("abort", () => leaving.abort());
      yield value;
      yield* lines;
    };
    const last = (reason: StreamEnd): PsqlLine => ({ event: "ended", reason });
    await deps.line_streams.serve(request, reply, send, last);
  };
  routes.add("psqlRead", (call) => serve(call, "psqlRead"));
  routes.add("psqlWrite", (call) => serve(call, "psqlWrite"));
  routes.add("psqlConnect", async ({ org, params: { db, session }, reply, request }) => {
    const { pod } = await findPod(deps, org, db, "read");
    const leaving = new AbortController();
    reply.raw.once("close", () => leaving.abort());
    const tunnel: PodClient = podClient(pod, SILENCE_MS);
    const options = { signal: leaving.signal, headers: { "content-type": "application/octet-stream" } };
    const { body } = await tunnel.open("psqlConnect", { params: { session }, sent: request.raw }, options);
    await carryDown(body, reply);
  });
}

/** Keys that act as a person count as that person. */
function callerOf({ key, user_id: userId }: Principal): string {
  return userId === null ? `key ${key?.id ?? ""}` : `person ${userId}`;
}

async function carryDown(body: NodeJS.ReadableStream & { destroy(): unknown }, reply: FastifyReply): Promise<void> {
  const raw = beginStream(reply, { "content-type": "application/octet-stream", "x-accel-buffering": "no" });
  await new Promise<void>((resolve) => {
    body.once("error", () => raw.destroy());
    raw.once("close", () => {
      body.destroy();
      resolve();
    });
    body.pipe(raw);
  });
}

async function* checkedLines({ pod }: FoundPod, lines: AsyncIterable<unknown>): AsyncGenerator<PsqlLine, undefined> {
  for await (const line of lines) yield checkDocument(pod.uri, psqlLineSchema, line) as PsqlLine;
  return undefined;
}

/** Open sessions by organization. */
class OrgSessions {
  readonly #open = new Map<string, number>();

  /** @throws overloaded */
  enter(org: string, name: string): Disposable {
    const open = this.#open.get(org) ?? 0;
    if (open >= PSQL_SESSIONS_OF_ORG) {
      throw appError("overloaded", {
        detail: `${PSQL_SESSIONS_OF_ORG} sessions of psql are open in ${name}, the maximum at a time.`,
        hint: "End one of them, then try again. One statement needs no session: cli query",
        meta: { limit: "psql_sessions_of_org", value: PSQL_SESSIONS_OF_ORG },
      });
    }
    this.#open.set(org, open + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#open.get(org) ?? 1) - 1;
        if (left === 0) this.#open.delete(org);
        else this.#open.set(org, left);
      },
    };
  }
}
