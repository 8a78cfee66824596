import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Secret } from "@appdb/system/secret";
import { expect, test } from "vitest";
import * as z from "zod";
import { AnswerMemory } from "./answer-memory.ts";
import { askHealth, useTree } from "./ask-pod.ts";
import { checkDocument, podClient } from "./pod-client.ts";

const uri = "cloud://acme:main";

/** A pod that answers every request with these pieces. */
async function openPod(pieces: readonly string[]) {
  return await openPodWith((_request, response) => {
    for (const piece of pieces) response.write(piece);
    response.end();
  });
}

async function openPodWith(answer: RequestListener) {
  const folder = mkdtempSync(join(tmpdir(), "pod-"));
  const endpoint = { kind: "socket", path: join(folder, "pod.sock") } as const;
  const server = createServer(answer).listen(endpoint.path);
  await once(server, "listening");
  return {
    endpoint,
    client: podClient({ uri, endpoint, token: new Secret("token") }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      rmSync(folder, { recursive: true });
    },
  };
}

async function readEvents(pieces: readonly string[]): Promise<unknown[]> {
  await using pod = await openPod(pieces);
  const lines: unknown[] = [];
  const body = {
    table: "docs",
    columns: [],
    cascade: false,
    on_error: "abort",
    errors_only: false,
    files: null,
  } as const;
  for await (const line of await pod.client.events("recompute", { body: { ...body, columns: [] } })) lines.push(line);
  return lines;
}

test("lines of an answer stay whole, however they are split", async () => {
  expect(await readEvents(['{"a":', "1}\n\n[2", "]\n"])).toEqual([{ a: 1 }, [2]]);
});

test("a line without an end is refused", async () => {
  const pieces = Array.from({ length: 20 }, () => "x".repeat(1_000_000));
  await expect(readEvents(pieces)).rejects.toMatchObject({ code: "database_not_reached" });
});

test("a document with millions of invalid members is refused quickly", () => {
  const schema = z.object({ tables: z.array(z.object({ name: z.string() })) });
  expect(() => checkDocument(uri, schema, { tables: Array(5_000_000).fill(0) })).toThrow("does not answer");
});

test("a pod that refuses its token and keeps the connection leaks no descriptor", async () => {
  const open = () => readdirSync("/proc/self/fd").length;
  await using pod = await openPodWith((request, response) => {
    request.resume();
    response.writeHead(401, { "content-length": 1_000_000 });
    response.write("x".repeat(150_000));
  });
  const refused = () => expect(pod.client.call("treeList", {})).rejects.toMatchObject({ code: "database_not_reached" });
  await refused();
  const before = open();
  for (let at = 0; at < 20; at += 1) await refused();
  await expect.poll(() => open() - before).toBeLessThan(10);
});

test("a pod that sends single bytes times out", async () => {
  await using pod = await openPodWith((_request, response) => {
    const drip = setInterval(() => response.writeProcessing(), 500);
    response.on("close", () => clearInterval(drip));
  });
  expect(await askHealth({ endpoint: pod.endpoint, token: new Secret("token") })).toBeUndefined();
});

test("a pod gets the digest of its tree as JSON", async () => {
  const asked: unknown[] = [];
  await using pod = await openPodWith(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    asked.push(request.method, request.headers["content-type"], Buffer.concat(pieces).toString("utf8"));
    response.writeHead(204).end();
  });
  expect(await useTree({ endpoint: pod.endpoint, token: new Secret("token") }, "abc")).toBe(true);
  expect(asked).toEqual(["PUT", "application/json", '{"files":"abc"}']);
});

test.each(["", "null", "5"])("the document %j is refused as not of the contract", async (text) => {
  await using pod = await openPod([text]);
  await expect(pod.client.call("treeList", {})).rejects.toMatchObject({ code: "database_not_reached" });
});

test("a document beyond what its organization may hold is refused, also while it arrives", async () => {
  await using pod = await openPod(Array.from({ length: 50 }, () => " ".repeat(1_000_000)));
  const memory = new AnswerMemory();
  const address = { uri, endpoint: pod.endpoint, token: new Secret("token") };
  const client = podClient({ ...address, count: (signal) => memory.open("acme", signal) });
  const ended = new AbortController();
  const read = () => client.text("treeList", {}, { signal: ended.signal });
  const answers = await Promise.allSettled([read(), read(), read(), read()]);
  const refused = answers.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : []));
  expect(new Set(refused)).toEqual(new Set(["rate_limited"]));
  expect(refused.length).toBeLessThan(4);
  ended.abort();
  expect(await client.text("treeList", {}, { signal: new AbortController().signal })).toHaveLength(50_000_000);
});

test.each(["null", "5", '"x"'])("a line %j that is not an object is refused", async (line) => {
  await expect(readEvents([`${line}\n`])).rejects.toMatchObject({ code: "database_not_reached" });
});

test.each([
  ["rowInsert", "commit_unknown", "the rows may or may not be stored."],
  ["rowCompute", "database_not_reached", `${uri} does not answer.`],
] as const)("a pod that ends during %s gives %s", async (name, code, end) => {
  await using pod = await openPodWith((request) => {
    request.resume();
    request.on("end", () => request.socket.destroy());
  });
  const asked = pod.client.open(name, { params: { table: "docs" }, sent: "{}" } as never);
  await expect(asked).rejects.toMatchObject({ code, message: expect.stringMatching(new RegExp(`${end}$`)) });
});

test.each([
  ["rowInsert", "commit_unknown", "the rows may or may not be stored.", /cli db update .* {3}Count the rows/],
  ["rowCompute", "database_not_reached", "does not answer.", /cli db update cloud:\/\/acme:main$/],
] as const)("the end of a pod that lacks memory during %s is named", async (name, code, outcome, hint) => {
  await using pod = await openPodWith((request) => {
    request.resume();
    request.on("end", () => request.socket.destroy());
  });
  const whyEnded = async () => ({ memory_mb: 256 });
  const client = podClient({ uri, endpoint: pod.endpoint, token: new Secret("token"), whyEnded });
  const asked = client.open(name, { params: { table: "docs" }, sent: "{}" } as never);
  await expect(asked).rejects.toMatchObject({
    code,
    message: expect.stringContaining(
      `${outcome} Its pod needed more memory than the memory_mb of the database, 256 MB,`,
    ),
    hint: expect.stringMatching(hint),
    meta: { reason: "out_of_memory", memory_mb: 256 },
  });
});

test("a pod that does not run leaves nothing unknown about an insert", async () => {
  const endpoint = { kind: "socket", path: "/none/pod.sock" } as const;
  const client = podClient({ uri, endpoint, token: new Secret("token") });
  const asked = client.open("rowInsert", { params: { table: "docs" }, sent: "{}" } as never);
  await expect(asked).rejects.toMatchObject({ code: "database_not_reached" });
});

test.each([
  ["The daemon has no POST /v1/tables/docs/compute.", "server_too_old", `Restart it: cli db restart ${uri}`],
  ["The session of psql has ended.", "not_found", undefined],
])("the refusal %j of a pod has the code %s", async (detail, code, hint) => {
  await using pod = await openPodWith((request, response) => {
    request.resume();
    response.writeHead(404, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ code: "not_found", status: 404, detail }));
  });
  const asked = pod.client.open("rowCompute", { params: { table: "docs" }, sent: "{}" } as never);
  await expect(asked).rejects.toMatchObject({ code, hint });
});
