import { createConnection, type Socket } from "node:net";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HandlerService, serveHandlers } from "../testing/handler-service.ts";

const APP = `
import asyncio, os, threading, time
from appdb.serving import StreamingResponse

router = Router(name="api")
barrier = threading.Barrier(8)
met = 0
kept = []
all_there = asyncio.Event()

@router.get("/pid")
def pid():
    return os.getpid()

@router.get("/sleep", timeout=0.3)
def sleep():
    time.sleep(60)

@router.get("/wait", timeout=0.3)
async def wait():
    await asyncio.sleep(60)

@router.get("/hold", timeout=0.3)
async def hold():
    time.sleep(60)

@router.get("/stubborn", timeout=0.3)
async def stubborn():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

@router.get("/stingy")
def stingy():
    import resource
    resource.setrlimit(resource.RLIMIT_DATA, (0, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    try:
        while True:
            kept.append(bytes(65_536))
    except MemoryError:
        return len(kept)

@router.get("/die")
async def die():
    os._exit(3)

@router.get("/long")
async def long():
    print("long began")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("long was cancelled")
        raise

@router.get("/meet")
async def meet():
    global met
    met += 1
    if met == 40:
        all_there.set()
    await all_there.wait()
    return met

@router.get("/threads")
def threads():
    return barrier.wait(10)

@router.get("/flood")
def flood():
    try:
        for n in range(1000):
            print("piece", n)
            yield b"x" * 100_000
    finally:
        print("flood ended")

@router.get("/breaks")
async def breaks():
    yield "one"
    await asyncio.sleep(0.05)
    raise ValueError("in the middle")

@router.get("/ticks")
async def ticks():
    async def events():
        try:
            while True:
                yield "data: tick\\n\\n"
                await asyncio.sleep(0.01)
        finally:
            print("ticks ended")
    return StreamingResponse(events(), media_type="text/event-stream")

@router.post("/size")
def size(request: Request):
    return len(request.body)

@router.post("/late_size")
async def late_size(request: Request):
    return [len(request.body), request.body[:3].decode(), request.body[-3:].decode()]
`;

let service: HandlerService;

beforeAll(async () => {
  service = await serveHandlers(APP, { body_bytes: 6_000_000 });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

async function get(path: string): Promise<[number, unknown]> {
  const answer = await fetch(service.url + path);
  const body = (await answer.json()) as { code?: string };
  return [answer.status, answer.ok ? body : body.code];
}

/** A connection that has sent its request and reads nothing. */
async function silentClient(path: string): Promise<Socket> {
  const { hostname, port } = new URL(service.url);
  const socket = createConnection(Number(port), hostname);
  socket.pause();
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  return socket;
}

function printed(line: string): number {
  return service.printed.filter((one) => one === line).length;
}

describe("time", () => {
  test.each(["/sleep", "/wait", "/stubborn", "/hold"])("reports a handler that does not return: %s", async (path) => {
    expect(await get(path)).toEqual([400, "function_timeout"]);
    expect((await get("/pid"))[0]).toBe(200);
  });

  test("replaces a process with an unstoppable handler after its other requests end", async () => {
    const [, before] = await get("/pid");
    expect(await get("/sleep")).toEqual([400, "function_timeout"]);
    await eventually(async () => expect((await get("/pid"))[1]).not.toBe(before));
  });
});

describe("concurrency", () => {
  test("forty async handlers wait together in one process", async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => get("/meet")));
    expect(answers).toEqual(Array(40).fill([200, 40]));
  });

  test("eight plain handlers run in threads of one process", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => get("/threads")));
    expect(answers.map(([, place]) => place).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});

describe("the end of a process", () => {
  test("is reported to its only request", async () => {
    expect(await get("/die")).toEqual([400, "worker_died"]);
    expect((await get("/pid"))[0]).toBe(200);
  });

  test("is reported to all running requests, and none is repeated", async () => {
    const began = printed("long began");
    const long = get("/long");
    await eventually(() => expect(printed("long began")).toBe(began + 1));
    const died = get("/die");
    expect([await long, await died]).toEqual([
      [503, "handler_interrupted"],
      [503, "handler_interrupted"],
    ]);
    expect((await get("/pid"))[0]).toBe(200);
    expect(printed("long began")).toBe(began + 1);
  });

  test("happens when there is no memory to read a request", async () => {
    expect((await get("/stingy"))[0]).toBe(200);
    const answer = await fetch(`${service.url}/size`, { method: "POST", body: "x".repeat(900_000) });
    expect(await answer.json()).toMatchObject({ code: "worker_died" });
    expect((await get("/pid"))[0]).toBe(200);
  });
});

describe("clients", () => {
  test("a client that disconnects ends its handler", async () => {
    const before = printed("long was cancelled");
    const began = printed("long began");
    const client = await silentClient("/long");
    await eventually(() => expect(printed("long began")).toBe(began + 1));
    client.destroy();
    await eventually(() => expect(printed("long was cancelled")).toBe(before + 1));
  });

  test("a client that reads nothing gets one window and then ends the stream", async () => {
    const client = await silentClient("/flood");
    // the window has room for as many pieces, whatever the system's buffers hold
    await eventually(() => expect(printed("piece 10")).toBe(1), { timeout_ms: 20_000 });
    expect((await get("/pid"))[0]).toBe(200);
    expect(printed("flood ended")).toBe(0);
    client.destroy();
    await eventually(() => expect(printed("flood ended")).toBe(1), { timeout_ms: 20_000 });
    expect(printed("piece 999")).toBe(0);
  });

  test("a client that sends less than announced leaves nothing behind", async () => {
    const { hostname, port } = new URL(service.url);
    const socket = createConnection(Number(port), hostname);
    socket.write("POST /size HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nshort");
    socket.end();
    await new Promise((resolve) => socket.once("close", resolve).resume());
    expect((await get("/pid"))[0]).toBe(200);
  });

  test("accepts bodies of several megabytes and refuses larger ones", async () => {
    const body = `abc${"x".repeat(5_000_000)}xyz`;
    for (const [path, expected] of [
      ["/size", body.length],
      ["/late_size", [body.length, "abc", "xyz"]],
    ] as const) {
      const answer = await fetch(service.url + path, { method: "POST", body });
      expect([answer.status, await answer.json()]).toEqual([200, expected]);
    }
    const large = await fetch(`${service.url}/size`, { method: "POST", body: "x".repeat(6_000_001) });
    expect(large.status).toBe(413);
  });

  test("an aborted answer does not appear complete", async () => {
    const answer = await fetch(`${service.url}/breaks`);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
  });

  test("refuses a WebSocket upgrade and suggests live queries", async () => {
    const { hostname, port } = new URL(service.url);
    const socket = createConnection(Number(port), hostname);
    socket.write(
      "GET /pid HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n" +
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString();
    });
    await eventually(() => expect(text).toContain("text/event-stream"));
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  });
});

test("a stream of events does not delay its service's end", async () => {
  const ending = await serveHandlers(APP);
  const answer = await fetch(`${ending.url}/ticks`);
  let told = "";
  let isEnding: PromiseLike<void> | undefined;
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    told += piece;
    isEnding ??= ending[Symbol.asyncDispose]();
  }
  await isEnding;
  expect(told).toMatch(/^(data: tick\n\n)+$/);
  expect(ending.printed).toContain("ticks ended");
});
