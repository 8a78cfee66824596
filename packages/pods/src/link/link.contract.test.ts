import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Secret } from "@appdb/system/secret";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FrameReader, FrameWriter, KIND, numberOf } from "./frames.ts";
import {
  FRAME_BYTES,
  LINK_VERSIONS,
  LINK_WINDOW_BYTES,
  type LinkAnswer,
  LinkBroken,
  type LinkRequest,
} from "./link.ts";
import { type Link, openLink } from "./open-link.ts";
import { type LinkAsked, type LinkServer, serveLink } from "./serve-link.ts";

const TOKEN = "a-token";

let folder: string;
let socket: string;
let opened: Disposable[];
let servers: AsyncDisposable[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "link-"));
  socket = join(folder, "link.sock");
  opened = [];
  servers = [];
});
afterEach(async () => {
  for (const one of opened) one[Symbol.dispose]();
  for (const server of servers) await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

type Handle = (request: LinkRequest, link: LinkAsked) => Promise<LinkAnswer>;

async function serve(handle: Handle): Promise<LinkServer> {
  const server = await serveLink({ socket, token: new Secret(TOKEN), log: createSilentLog(), handle });
  servers.push(server);
  return server;
}

async function open(token = TOKEN): Promise<Link> {
  const link = await openLink({ connect: () => connect(socket), token: new Secret(token), log: createSilentLog() });
  opened.push(link);
  return link;
}

function request(more: Partial<LinkRequest> = {}): LinkRequest {
  return {
    method: "POST",
    path: "/docs",
    search: "",
    headers: { "content-type": "application/json" },
    id: "r1",
    body: Buffer.from('{"a":1}'),
    caller: { id: "k1", name: "backend", reads_media: true },
    host: "x.test",
    client_address: "192.0.2.1",
    is_secure: true,
    ...more,
  };
}

async function textOf({ body }: LinkAnswer): Promise<string> {
  const pieces: Uint8Array[] = [];
  if (Buffer.isBuffer(body)) return body.toString();
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const NONE: LinkAsked = { is_gone: false, signal: new AbortController().signal };

const echo: Handle = async ({ body, ...head }) => ({
  status: 200,
  headers: ["x-head", JSON.stringify(head), "set-cookie", "a=1", "set-cookie", "b=2"],
  body,
});

describe("both ends of a link", () => {
  test("delivers a request and its answer unchanged", async () => {
    await serve(echo);
    const link = await open();
    const sent = request({ search: "a=%20", headers: { accept: "*/*", cookie: ["a", "b"] }, caller: null });
    const { body, headers, status } = await link.request(sent, undefined);
    const { body: sentBody, ...head } = sent;
    expect(status).toBe(200);
    expect(body).toEqual(sentBody);
    expect(JSON.parse(headers[1] ?? "")).toEqual(head);
    expect(headers.slice(2)).toEqual(["set-cookie", "a=1", "set-cookie", "b=2"]);
  });

  test("answers a thousand concurrent requests of any length", async () => {
    await serve(async ({ body }) => {
      if (Buffer.isBuffer(body) && body.length % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
      return { status: 200, headers: [], body };
    });
    const link = await open();
    const bodies = Array.from({ length: 1_000 }, (_, n) => Buffer.alloc(n * 100, `${n} `));
    const answers = await Promise.all(bodies.map((body) => link.request(request({ body }), undefined)));
    for (const [n, answer] of answers.entries()) expect(await textOf(answer), String(n)).toBe(bodies[n]?.toString());
    expect(link.in_flight).toBe(0);
  });

  test("a streamed body waits for its reader in both directions without blocking others", async () => {
    let sent = 0;
    const pieces = async function* () {
      for (; sent < 100; sent += 1) yield Buffer.alloc(65_536, String(sent % 10));
    };
    let read = () => {};
    const mayRead = new Promise<void>((resolve) => {
      read = resolve;
    });
    await serve(async (received, more) => {
      if (!Buffer.isBuffer(received.body)) await mayRead;
      return await echo(received, more);
    });
    const link = await open();
    const long = link.request(request({ body: pieces() }), undefined);
    await eventually(() => expect(sent * 65_536).toBeGreaterThanOrEqual(LINK_WINDOW_BYTES));
    expect(await textOf(await link.request(request(), undefined))).toBe('{"a":1}');
    expect(sent).toBeLessThan(12);
    read();
    const text = await textOf(await long);
    expect([text.length, text.at(0), text.at(-1)]).toEqual([6_553_600, "0", "9"]);
    expect(link.in_flight).toBe(0);
  });

  test("an aborted body fails for its reader; an early answer stops the sender", async () => {
    let failed: unknown;
    await serve(async ({ body, path }) => {
      if (path !== "/early") failed = await textOf({ status: 200, headers: [], body }).catch((error: unknown) => error);
      return { status: 200, headers: [], body: Buffer.from("early") };
    });
    const link = await open();
    let sent = 0;
    const breaking = async function* () {
      yield Buffer.from("begun");
      throw new Error("the client left");
    };
    const endless = async function* () {
      for (; ; sent += 1) yield Buffer.alloc(65_536);
    };
    await expect(link.request(request({ body: breaking() }), undefined)).rejects.toThrow("the client left");
    await eventually(() => expect(failed).toBeInstanceOf(Error));
    expect(await textOf(await link.request(request({ path: "/early", body: endless() }), undefined))).toBe("early");
    await eventually(() => expect(link.in_flight).toBe(0));
    expect(sent).toBeLessThan(12);
  });

  test("a streamed answer waits for its reader without blocking others", async () => {
    let made = 0;
    await serve(async ({ path }) => {
      if (path !== "/long") return { status: 200, headers: [], body: Buffer.from("short") };
      const pieces = async function* () {
        for (; made < 100; made += 1) yield Buffer.alloc(65_536, "x");
      };
      return { status: 200, headers: [], body: pieces() };
    });
    const link = await open();
    const long = await link.request(request({ path: "/long" }), undefined);
    await eventually(() => expect(made * 65_536).toBeGreaterThanOrEqual(LINK_WINDOW_BYTES));
    expect(await textOf(await link.request(request(), undefined))).toBe("short");
    expect(made).toBeLessThan(10);
    expect((await textOf(long)).length).toBe(6_553_600);
  });

  test("cancelling an answer or a request ends it at the other end", async () => {
    let left = 0;
    await serve(async ({ path }, { signal }) => {
      signal.addEventListener("abort", () => {
        left += 1;
      });
      if (path === "/silent") return await new Promise<never>(() => undefined);
      const endless = async function* () {
        try {
          for (;;) yield Buffer.alloc(1_000);
        } finally {
          left += 1;
        }
      };
      return { status: 200, headers: [], body: endless() };
    });
    const link = await open();
    const givingUp = new AbortController();
    const silent = link.request(request({ path: "/silent" }), givingUp.signal);
    givingUp.abort(new Error("the client left"));
    await expect(silent).rejects.toThrow("the client left");
    const { body } = await link.request(request(), undefined);
    if (Buffer.isBuffer(body)) throw new Error("It does not stream.");
    for await (const _ of body) break;
    await eventually(() => expect(left).toBe(3));
    expect(link.in_flight).toBe(0);
  });

  test("ends an answer that arrives after its caller has left", async () => {
    let hasEnded = false;
    await serve(async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      const pieces = async function* () {
        try {
          yield Buffer.from("late");
        } finally {
          hasEnded = true;
        }
      };
      return { status: 200, headers: [], body: pieces() };
    });
    const link = await open();
    await expect(link.request(request(), AbortSignal.timeout(20))).rejects.toThrow();
    await eventually(() => expect(hasEnded).toBe(true));
  });

  test("a draining pod gets no new requests and answers running ones", async () => {
    const waiting: ((answer: LinkAnswer) => void)[] = [];
    const server = await serve(() => new Promise((resolve) => waiting.push(resolve)));
    const link = await open();
    const running = link.request(request(), undefined).then(textOf);
    await eventually(() => expect(waiting).toHaveLength(1));
    server.drain();
    await eventually(() => expect(link.is_open).toBe(false));
    await expect(link.request(request(), undefined)).rejects.toMatchObject({ outcome: "not_sent" });
    await eventually(async () => expect((await open()).is_open).toBe(false));
    waiting[0]?.({ status: 200, headers: [], body: Buffer.from("late") });
    expect(await running).toBe("late");
  });

  test("reports unknown outcomes after a cut and incomplete answers as such", async () => {
    const server = await serve(async ({ path }) => {
      if (path === "/silent") return await new Promise<never>(() => undefined);
      const breaking = async function* () {
        yield Buffer.from("begun");
        throw new Error("broken");
      };
      return { status: 200, headers: [], body: breaking() };
    });
    const link = await open();
    const breaking = await link.request(request(), undefined);
    await expect(textOf(breaking)).rejects.toBeInstanceOf(LinkBroken);
    const silent = expect(link.request(request({ path: "/silent" }), undefined)).rejects.toMatchObject({
      outcome: "unknown",
    });
    await server[Symbol.asyncDispose]();
    await silent;
    await expect(link.request(request(), undefined)).rejects.toMatchObject({ outcome: "not_sent" });
    await expect(open()).rejects.toMatchObject({ outcome: "not_sent" });
  });
});

describe("pod end", () => {
  const HEAD = ["POST", "/silent", "", "r1", null, null, false, {}, true, "x", "192.0.2.1", false];
  const IS_WHOLE = 8;

  test("closes on another token, a missing hello and invalid frames", async () => {
    await serve(async (sent) =>
      sent.path === "/silent" ? await new Promise<never>(() => undefined) : await echo(sent, NONE),
    );
    await expect(open("another")).rejects.toMatchObject({ outcome: "not_sent" });
    const hello = Buffer.from(JSON.stringify({ versions: LINK_VERSIONS, token: TOKEN }));
    const cases: readonly ((writer: FrameWriter, raw: Socket) => void)[] = [
      (_, raw) => raw.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
      (writer) => writer.send(KIND.request, 1, Buffer.alloc(0)),
      (writer) => writer.send(KIND.hello, 0, Buffer.from(JSON.stringify({ versions: [99], token: TOKEN }))),
      (_, raw) => raw.write(Buffer.concat([numberOf(FRAME_BYTES + 1), Buffer.alloc(5)])),
      (_, raw) => raw.write(Buffer.alloc(9)),
      (writer) => {
        writer.send(KIND.hello, 0, hello);
        writer.send(KIND.piece, 1, hello);
      },
      (writer) => {
        writer.send(KIND.hello, 0, hello);
        for (let twice = 0; twice < 2; twice += 1) writer.sendHead(KIND.request, 5, HEAD, Buffer.alloc(0));
      },
      (writer) => {
        writer.send(KIND.hello, 0, hello);
        writer.sendHead(KIND.request, 5, HEAD, Buffer.alloc(0));
        writer.send(KIND.piece, 5, hello);
      },
      (writer) => {
        writer.send(KIND.hello, 0, hello);
        writer.sendHead(KIND.request, 5, HEAD.with(IS_WHOLE, false), Buffer.alloc(0));
        for (let piece = 0; piece < 6; piece += 1) writer.send(KIND.piece, 5, Buffer.alloc(65_536));
      },
    ];
    for (const send of cases) {
      const raw = connect(socket);
      raw.on("error", () => undefined).resume();
      send(new FrameWriter(raw), raw);
      await new Promise((resolve) => raw.once("close", resolve));
    }
    // other connections are served meanwhile
    expect((await (await open()).request(request(), undefined)).status).toBe(200);
  });
});

describe("caller end", () => {
  const RANDOM_CASES = 300;

  /** A pod that answers the hello and then replies to the first request with the bytes of `say`. */
  async function garble(say: (writer: FrameWriter, raw: Socket) => void): Promise<void> {
    const server = createServer((raw) => {
      const reader = new FrameReader();
      const writer = new FrameWriter(raw);
      raw.on("error", () => undefined);
      raw.on("data", (chunk: Buffer) => {
        reader.read(chunk, (kind) => {
          if (kind === KIND.hello)
            writer.send(KIND.hello, 0, Buffer.from(JSON.stringify({ version: LINK_VERSIONS[0] })));
          else if (kind === KIND.request) say(writer, raw);
        });
      });
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    servers.push({ [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) });
  }

  test("ends a link whose pod sends garbage and fails its requests", async () => {
    let seed = 20_261_123;
    const random = (max: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % max;
    };
    await garble((writer, raw) => {
      if (random(2) === 0) raw.write(Buffer.from(Array.from({ length: 1 + random(60) }, () => random(256))));
      else {
        const payload = Buffer.from(Array.from({ length: random(40) }, () => random(256)));
        writer.send((1 + random(9)) as 1, 1 + random(2), payload);
      }
      raw.end();
    });
    for (let round = 0; round < RANDOM_CASES; round += 1) {
      const link = await open();
      const outcome = await link.request(request(), undefined).then(textOf, (error) => error);
      expect(outcome).toBeInstanceOf(LinkBroken);
      opened.pop()?.[Symbol.dispose]();
    }
  });

  test("accepts no more of an answer than the window allows", async () => {
    await garble((writer) => {
      writer.sendHead(KIND.answer, 1, [200, false, []], Buffer.alloc(0));
      for (let piece = 0; piece < 6; piece += 1) writer.send(KIND.piece, 1, Buffer.alloc(65_536));
    });
    const link = await open();
    const answer = await link.request(request(), undefined);
    await eventually(() => expect(link.is_open).toBe(false));
    await expect(textOf(answer)).rejects.toBeInstanceOf(LinkBroken);
  });

  test("refuses an invalid status or header and an early piece", async () => {
    const answers: readonly ((writer: FrameWriter) => void)[] = [
      (writer) => writer.sendHead(KIND.answer, 1, [99, true, []], Buffer.alloc(0)),
      (writer) => writer.sendHead(KIND.answer, 1, [200, true, ["name"]], Buffer.alloc(0)),
      (writer) => writer.sendHead(KIND.answer, 1, [200, true, [1, 2]], Buffer.alloc(0)),
      (writer) => writer.send(KIND.answer, 1, numberOf(1_000)),
      (writer) => writer.send(KIND.answer, 7, numberOf(0)),
      (writer) => writer.send(KIND.piece, 1, Buffer.from("a")),
      (writer) => writer.send(KIND.end, 1),
    ];
    let next = 0;
    await garble((writer) => answers[next]?.(writer));
    for (; next < answers.length; next += 1) {
      const link = await open();
      await expect(link.request(request(), undefined).then(textOf), String(next)).rejects.toBeInstanceOf(LinkBroken);
      expect(link.is_open).toBe(false);
    }
  });
});
