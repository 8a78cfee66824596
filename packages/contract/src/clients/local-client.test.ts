import { describe, expect, test } from "vitest";
import { AppError, appError, toProblem } from "../errors.ts";
import { VERSION } from "../version.ts";
import type { Fetched, FetchLike } from "./client.ts";
import { createLocalClient } from "./local-client.ts";

type Sent = { url: string; method: string; headers: Record<string, string>; body?: unknown };

/** Answers each call with the given chunks. */
function answering(status: number, chunks: (string | Error)[]): { fetch: FetchLike; sent: Sent[] } {
  const sent: Sent[] = [];
  const fetch: FetchLike = async (url, init) => {
    sent.push({
      url,
      method: init.method,
      headers: init.headers,
      ...(init.body === undefined ? {} : { body: init.body }),
    });
    return fetched(status, cut(chunks));
  };
  return { fetch, sent };
}

/** A response whose text is read in pieces. */
function fetched(status: number, body: AsyncIterable<Uint8Array>): Fetched {
  return {
    status,
    body,
    text: async () => {
      const pieces: Uint8Array[] = [];
      for await (const piece of body) pieces.push(piece);
      return Buffer.concat(pieces).toString("utf8");
    },
  };
}

async function* cut(chunks: (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    if (chunk instanceof Error) throw chunk;
    yield new TextEncoder().encode(chunk);
  }
}

function clientOf(status: number, chunks: (string | Error)[]) {
  const { fetch, sent } = answering(status, chunks);
  return { client: createLocalClient({ port: 4711, token: "secret", fetch }), sent };
}

async function refusal(work: Promise<unknown>): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("was accepted");
}

const plan = { in_agreement: true };

describe("the client of the local daemon", () => {
  test("sends token and version with every call", async () => {
    const { client, sent } = clientOf(200, ['{"services": []}']);
    expect((await client.call("serviceList", { query: { target: "main/reports" } })).services).toEqual([]);
    expect(sent[0]).toMatchObject({
      url: "http://127.0.0.1:4711/v1/services?target=main%2Freports",
      method: "GET",
      headers: { authorization: "Bearer secret", "x-client-version": VERSION },
    });
    expect(sent[0]?.body).toBeUndefined();
  });

  test("reads progress lines and the final plan, however lines are split", async () => {
    const progress = { event: "progress", job: "019a", table: "docs", column: "x", rows_done: 1, rows_total: 2 };
    const text = `${JSON.stringify(progress)}\n\n${JSON.stringify({ event: "done", plan })}\n`;
    const { client } = clientOf(200, [text.slice(0, 7), text.slice(7, 80), text.slice(80)]);
    const seen: unknown[] = [];
    const answer = (await client.call("schemaApply", { body: {} as never }, { onProgress: (line) => seen.push(line) }))
      .plan;
    expect(answer).toEqual(plan);
    expect(seen).toEqual([progress]);
  });

  test("an error line becomes the daemon's error", async () => {
    const problem = toProblem(appError("fill_failed", { detail: "docs.x: row 3", hint: "Correct excerpt()." }));
    const { client } = clientOf(200, [JSON.stringify({ event: "error", problem })]);
    const error = await refusal(client.call("schemaApply", { body: {} as never }));
    expect([error.code, error.message, error.hint]).toEqual(["fill_failed", "docs.x: row 3", "Correct excerpt()."]);
  });

  test("a problem document becomes the daemon's error", async () => {
    const { client } = clientOf(409, [JSON.stringify(toProblem(appError("catalog_moved", { detail: "moved" })))]);
    expect((await refusal(client.call("schemaPlan", { body: {} as never }))).code).toBe("catalog_moved");
  });

  test("reports a truncated, invalid or foreign response", async () => {
    const early = clientOf(200, ['{"event":"progress"}\n']).client.call("schemaApply", { body: {} as never });
    expect((await refusal(early)).message).toContain("ended before");
    expect((await refusal(clientOf(200, ["<html>"]).client.call("health", {}))).code).toBe("daemon_failed");
    expect((await refusal(clientOf(502, ["bad gateway"]).client.call("health", {}))).message).toContain("502");
    const broken = clientOf(200, ['{"a"', new Error("reset")]).client.call("health", {});
    expect((await refusal(broken)).message).toContain("connection broke");
  });

  test("a stopped daemon is daemon_not_running, with the real fetch too", async () => {
    const refused: FetchLike = async () => {
      throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    };
    expect((await refusal(createLocalClient({ port: 1, token: "", fetch: refused }).call("health", {}))).code).toBe(
      "daemon_not_running",
    );
    expect((await refusal(createLocalClient({ port: await freePort(), token: "" }).call("health", {}))).code).toBe(
      "daemon_not_running",
    );
  });

  test("reports an interruption before and during the response", async () => {
    const interrupt = new AbortController();
    const body = (async function* () {
      yield new TextEncoder().encode('{"event":"log","line":"a"}\n');
      interrupt.abort();
      throw new Error("aborted");
    })();
    const client = createLocalClient({ port: 1, token: "", fetch: async () => fetched(200, body) });
    const lines: string[] = [];
    const follow = async () => {
      const query = { name: "main/ingest", tail: 1, follow: "1" };
      for await (const { line } of client.lines("serviceLogs", { query }, interrupt.signal)) lines.push(line);
    };
    expect((await refusal(follow())).code).toBe("interrupted");
    expect(lines).toEqual(["a"]);
    const real = createLocalClient({ port: await freePort(), token: "" });
    expect((await refusal(real.call("health", {}, { signal: AbortSignal.abort() }))).code).toBe("interrupted");
  });

  test("yields log lines one by one, with split characters restored", async () => {
    const bytes = new TextEncoder().encode(`{"event":"log","line":"ä"}\n{"event":"log","line":"b"}\n`);
    const at = bytes.indexOf(0xc3) + 1;
    const body = (async function* () {
      yield bytes.slice(0, at);
      yield bytes.slice(at);
    })();
    const client = createLocalClient({ port: 1, token: "", fetch: async () => fetched(200, body) });
    const lines: string[] = [];
    const query = { name: "main/ingest", tail: 5, follow: "0" };
    for await (const { line } of client.lines("serviceLogs", { query }, new AbortController().signal)) lines.push(line);
    expect(lines).toEqual(["ä", "b"]);
  });
});

async function freePort(): Promise<number> {
  const { createServer } = await import("node:net");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
