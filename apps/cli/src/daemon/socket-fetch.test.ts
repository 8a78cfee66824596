import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { isBroken } from "@appdb/contract/clients/lost-write";
import { expect, onTestFinished, test } from "vitest";
import { socketFetch } from "./socket-fetch.ts";

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that sends these pieces one after the other, and ends the connection. */
async function sending(...pieces: string[]): Promise<string> {
  const send = async (socket: Socket) => {
    socket.setNoDelay(true);
    for (const piece of pieces) {
      socket.write(piece, "latin1");
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.end();
  };
  return await listen(
    createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => void send(socket));
    }),
  );
}

const serving = (listener: RequestListener) => listen(createHttpServer(listener));
const get = (url: string, signal?: AbortSignal) =>
  socketFetch(url, { method: "GET", headers: {}, ...(signal === undefined ? {} : { signal }) });
const textOf = async (url: string) => await (await get(url)).text();

test("sends the request as node:http reads it", async () => {
  const url = await serving(async (request, response) => {
    const { headers, method, url } = request;
    const body = Buffer.concat(await request.toArray()).toString("utf8");
    response.setHeader("X-Server-Version", "1.2.3").writeHead(201);
    response.end(JSON.stringify({ body, type: headers["content-type"], key: headers["x-key"], method, url }));
  });
  const headers = { "content-type": "application/json", "x-key": "ü" };
  const body = '{"name":"Zoë"}';
  for (const sent of [body, new TextEncoder().encode(body)]) {
    const answer = await socketFetch(`${url}/v1/x%20y?key=%5B1%5D`, { method: "POST", headers, body: sent });
    expect([answer.status, answer.headers?.get("x-server-version"), answer.headers?.get("x-other")]).toEqual([
      201,
      "1.2.3",
      null,
    ]);
    const seen = { body, type: "application/json", key: "ü", method: "POST", url: "/v1/x%20y?key=%5B1%5D" };
    expect(JSON.parse(await answer.text())).toEqual(seen);
  }
  const empty = await socketFetch(url, { method: "POST", headers: {} });
  expect(JSON.parse(await empty.text())).toEqual({ body: "", method: "POST", url: "/" });
});

test("reads whole, chunked and missing bodies of node:http", async () => {
  const long = "ä1".repeat(400_000);
  const url = await serving((request, response) => {
    if (request.url === "/whole") response.end(long);
    else if (request.url === "/none") response.writeHead(204).end();
    else {
      response.write(long);
      setImmediate(() => response.write(long));
      setImmediate(() => response.end("end"));
    }
  });
  expect((await textOf(`${url}/whole`)) === long).toBe(true);
  expect((await textOf(`${url}/chunks`)) === `${long}${long}end`).toBe(true);
  const none = await get(`${url}/none`);
  expect([none.status, await none.text()]).toEqual([204, ""]);
});

test.each([
  ["of a length", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-A: one\r\nx-a: two\r\n\r\na\r\nb\r\nc"],
  [
    "in chunks",
    "HTTP/1.1 200\r\nX-A: one\r\ntransfer-encoding: chunked\r\n\r\n2;x=y\r\na\r\r\n5\r\n\nb\r\nc\r\n0\r\nT: x\r\n\r\n",
  ],
  ["until the end", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nx-a:one\r\n\r\na\r\nb\r\nc"],
])("reads a body %s wherever the network divides it", async (_how, response) => {
  for (let at = 1; at < response.length; at += 1) {
    const answer = await get(await sending(response.slice(0, at), response.slice(at)));
    expect([answer.status, answer.headers?.get("x-a"), await answer.text()]).toEqual([200, "one", "a\r\nb\r\nc"]);
  }
  expect(await textOf(await sending(...response))).toBe("a\r\nb\r\nc");
});

test.each([
  ["before a response", ""],
  ["in the head", "HTTP/1.1 200 OK\r\nContent-"],
  ["in a body of a length", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\na"],
  ["in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na"],
  ["between chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"],
])("a connection that ends %s is broken", async (_where, response) => {
  const error = await textOf(await sending(response)).catch((cause: unknown) => cause);
  expect(isBroken(error)).toBe(true);
});

test.each([
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", "longer than its size"],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "no size"],
  ["HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\na", 'length of the response is "-1"'],
  ["SSH-2.0-OpenSSH\r\n", "not HTTP/1.1"],
  [`HTTP/1.1 200 OK\r\nX: ${"x".repeat(200_000)}`, "too long"],
])("refuses the response %.60j", async (response, reason) => {
  await expect(textOf(await sending(response))).rejects.toThrow(reason);
});

test("nothing that listens is an error of the connection", async () => {
  const server = createServer();
  const url = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  await expect(get(url)).rejects.toMatchObject({ code: "ECONNREFUSED", syscall: "connect" });
});

test("a value that would add a header is refused", async () => {
  const headers = { authorization: "Bearer x\r\nx-role: admin" };
  await expect(socketFetch("http://127.0.0.1:1/", { method: "GET", headers })).rejects.toThrow("authorization");
});

test("a signal ends a request before, while and after it is answered", async () => {
  const url = await serving((request, response) => {
    if (request.url === "/begun") response.write("some");
  });
  await expect(get(url, AbortSignal.abort(new Error("early")))).rejects.toThrow("early");
  const waiting = new AbortController();
  const asked = get(url, waiting.signal);
  setImmediate(() => waiting.abort(new Error("waiting")));
  await expect(asked).rejects.toThrow("waiting");
  const begun = new AbortController();
  const answer = await get(`${url}/begun`, begun.signal);
  const read = answer.text();
  setImmediate(() => begun.abort(new Error("reading")));
  await expect(read).rejects.toThrow("reading");
});

test("a reader that stops ends the connection", async () => {
  let ended: Promise<unknown> | undefined;
  const url = await serving((_request, response) => {
    ended = new Promise((resolve) => response.on("close", resolve));
    response.write("some");
  });
  const answer = await get(url);
  for await (const piece of answer.body ?? []) {
    expect(Buffer.from(piece).toString()).toBe("some");
    break;
  }
  await ended;
});
