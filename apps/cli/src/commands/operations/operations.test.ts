import type { ServerResponse } from "node:http";
import type { CallAnswer } from "@appdb/contract/clients/control-client";
import { appError } from "@appdb/contract/errors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type HostedProject, openHostedProject, WHO } from "../../testing/test-project.ts";

const AT = "2026-11-22T10:00:00.000Z";
type Operation = CallAnswer<"operationShow">;
const OPERATION: Operation = {
  id: "op1",
  kind: "database.provision",
  target: "cloud://acme:main",
  state: "running",
  actor: "ann@example.com",
  detail: null,
  error: null,
  created_at: AT,
  started_at: AT,
  ended_at: null,
};
const FAILED: Operation = {
  ...OPERATION,
  state: "failed",
  error: { code: "disk_full", detail: "The disk is full.", hint: "Free space." },
};
const event = (id: string, target = "ci") => ({
  id,
  at: AT,
  action: "key.create",
  target,
  actor: "ann@example.com",
  ip_address: "192.0.2.7",
  client: "cli/0.8.0",
  outcome: "succeeded" as const,
  operation_id: null,
  detail: {},
});

let project: HostedProject;
/** Successive answers of `operationShow`; the last one repeats. */
let shown: Operation[];
/** Requested event streams by their start position. */
let streams: { after: string | undefined; response: ServerResponse }[];

beforeEach(async () => {
  shown = [OPERATION];
  streams = [];
  project = await openHostedProject({
    raw: (request, response) => {
      if (request.headers.accept !== "text/event-stream") return false;
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      streams.push({ after: request.headers["last-event-id"]?.toString(), response });
      return true;
    },
    answers: {
      whoami: () => WHO,
      operationList: ({ query }) => {
        const first = Number(query["cursor"] ?? 1);
        const items = Array.from({ length: Number(query["limit"]) }, (_, at) => ({
          ...OPERATION,
          id: `op${first + at}`,
        }));
        return { items, next: String(first + items.length) };
      },
      operationShow: ({ params }) => {
        if (params["id"] === "none" || params["id"] === "op99")
          throw appError("operation_not_found", { detail: "There is no operation none." });
        return (shown.length > 1 ? shown.shift() : shown[0]) ?? OPERATION;
      },
      operationCancel: () => ({ ...OPERATION, state: "cancelled", ended_at: AT }),
      eventList: () => ({ items: ["11", "10", "9"].map((id) => event(id)), next: null }),
    },
  });
});
afterEach(() => project[Symbol.asyncDispose]());

const run = (...input: Parameters<HostedProject["run"]>) => project.run(...input);

describe("cli operations", () => {
  test("list requests as many as wanted over several pages", async () => {
    const { operations } = JSON.parse((await run("operations list --limit 250 --json")).stdout);
    expect(operations).toHaveLength(250);
    expect(project.server.asked.filter(({ name }) => name === "operationList")).toHaveLength(2);
    expect((await run("operations list --limit 1")).stdout).toBe(
      `op1  database.provision  running  cloud://acme:main  ann@example.com  ${AT}\n`,
    );
  });

  test("show prints state, times and error", async () => {
    shown = [FAILED];
    const ran = await run("operations show op1");
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain("database.provision  cloud://acme:main  failed\n");
    expect(ran.stdout).toContain("error    The disk is full. (disk_full)\n    hint     Free space.\n");
    expect((await run("operations show none")).stderr).toContain("error: There is no operation none.");
  });

  test("accepts an unambiguous start of an id", async () => {
    expect((await run("operations show op99")).stderr).toContain("error: Several operations start with 'op99'.");
    shown = [OPERATION];
    await run("operations cancel op999");
    expect(project.server.asked.at(-1)).toMatchObject({ name: "operationCancel", params: { id: "op999" } });
  });

  test("wait polls until the end, and its exit code is the result", async () => {
    shown = [OPERATION, OPERATION, { ...OPERATION, state: "succeeded", ended_at: AT }];
    expect((await run("operations wait op1")).exit).toBe(0);
    expect(
      project.server.asked.filter(({ name }) => name === "operationShow").map(({ query }) => query["wait_ms"]),
    ).toEqual(Array(3).fill("30000"));
    shown = [FAILED];
    expect((await run("operations wait op1")).exit).toBe(1);
    shown = [{ ...OPERATION, state: "cancelled" }];
    expect((await run("operations wait op1 --json")).exit).toBe(1);
  });

  test("wait exits with 130 at Ctrl-C", async () => {
    const interrupt = new AbortController();
    const running = run("operations wait op1", { signal: interrupt.signal });
    await expect.poll(() => project.server.asked.length).toBeGreaterThan(2);
    interrupt.abort();
    expect(await running).toMatchObject({ exit: 130, stdout: "" });
  });

  test("cancel prints the result", async () => {
    expect((await run("operations cancel op1")).stdout).toContain("database.provision  cloud://acme:main  cancelled\n");
  });
});

describe("cli events", () => {
  test("prints the oldest first, one per line", async () => {
    const ran = await run("events");
    expect(ran.stdout).toBe(`${AT}  key.create  ci  ann@example.com  succeeded  192.0.2.7 cli/0.8.0\n`.repeat(3));
    const found = JSON.parse((await run("events --json")).stdout) as { id: string }[];
    expect(found.map(({ id }) => id)).toEqual(["9", "10", "11"]);
  });

  test("--follow continues after the last event and resumes broken streams", async () => {
    const interrupt = new AbortController();
    const running = run("events --follow --json", { signal: interrupt.signal });
    const write = (at: number, id: string) =>
      streams[at]?.response.write(`id: ${id}\ndata: ${JSON.stringify(event(id))}\n\n`);
    await expect.poll(() => streams.length).toBe(1);
    write(0, "12");
    write(0, "13");
    streams[0]?.response.end();
    await expect.poll(() => streams.length).toBe(2);
    streams[1]?.response.destroy();
    await expect.poll(() => streams.length).toBe(3);
    interrupt.abort();
    const ran = await running;
    expect(ran.exit).toBe(130);
    expect(streams.map(({ after }) => after)).toEqual(["11", "13", "13"]);
    const printed = ran.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).id);
    expect(printed).toEqual(["9", "10", "11", "12", "13"]);
  });

  test("escapes control characters in foreign names", async () => {
    const interrupt = new AbortController();
    const running = run("events --follow", { signal: interrupt.signal });
    await expect.poll(() => streams.length).toBe(1);
    streams[0]?.response.write(`data: ${JSON.stringify(event("12", "a\u001b[2J\nb"))}\n\n`);
    streams[0]?.response.end();
    await expect.poll(() => streams.length).toBe(2);
    interrupt.abort();
    expect((await running).stdout).toContain("key.create  a\\u001b[2J\\nb  ann");
  });
});
