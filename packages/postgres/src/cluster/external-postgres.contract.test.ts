import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EmbeddedPostgres } from "./embedded-postgres.ts";
import { ExternalPostgres } from "./external-postgres.ts";
import { nameRuntimeFolder } from "./runtime-folder.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const bin = requirePostgresBin(locateTools({ program_url: import.meta.url, postgres_bin: process.env.SERVICE_PG_BIN }));
const folder = mkdtempSync(join(tmpdir(), "appdb-external-"));
const server = new EmbeddedPostgres({
  bin,
  folder: join(folder, "postgres"),
  runtime_folder: nameRuntimeFolder(folder, undefined),
  log_file: join(folder, "postgres.log"),
  log: silent,
});

beforeAll(() => server.start());

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Speaks only as much of the protocol as a version query needs. */
async function pretendServer(version: string, number: string, vector: string): Promise<Server> {
  const frame = (type: string, body: Buffer) => {
    const head = Buffer.alloc(5);
    head.write(type, "latin1");
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const int16 = (value: number) => Buffer.from([value >> 8, value & 255]);
  const int32 = (value: number) => Buffer.from([value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]);
  const ready = frame("Z", Buffer.from("I"));
  const columns = ["version", "number", "vector"].map((name, index) =>
    Buffer.concat([
      Buffer.from(`${name}\0`),
      int32(0),
      int16(0),
      int32(index === 2 ? 16 : 25),
      int16(-1),
      int32(-1),
      int16(0),
    ]),
  );
  const values = [version, number, vector].map((text) => Buffer.concat([int32(text.length), Buffer.from(text)]));
  const answer = Buffer.concat([
    frame("T", Buffer.concat([int16(3), ...columns])),
    frame("D", Buffer.concat([int16(3), ...values])),
    frame("C", Buffer.from("SELECT 1\0")),
    ready,
  ]);
  const pretended = createServer((socket: Socket) => {
    socket.once("data", () => {
      socket.write(Buffer.concat([frame("R", int32(0)), ready]));
      socket.on("data", (asked) => {
        if (String.fromCharCode(asked[0] ?? 0) === "Q") socket.write(answer);
        else socket.end();
      });
    });
  });
  pretended.listen(0, "127.0.0.1");
  await once(pretended, "listening");
  return pretended;
}

async function refusal(version: string, number: string, vector: string): Promise<unknown> {
  const pretended = await pretendServer(version, number, vector);
  const { port } = pretended.address() as AddressInfo;
  try {
    await new ExternalPostgres({ url: `postgresql://me@127.0.0.1:${port}/postgres` }).start();
    return undefined;
  } catch (error) {
    return error;
  } finally {
    pretended.close();
  }
}

test("creates databases on an external server and leaves it running", async () => {
  const external = new ExternalPostgres({ url: server.superuserDsn("postgres") });
  expect(external.state()).toBe("down");
  expect(await external.hasDatabase("main")).toBe(false);
  await Promise.all([external.ensureDatabase("main"), external.ensureDatabase("main")]);
  expect(await external.hasDatabase("main")).toBe(true);
  expect(await external.listDatabases()).toEqual(["main"]);
  expect(external.state()).toBe("up");
  await external.stop();
  expect(await server.hasDatabase("main")).toBe(true);
  expect(external.dsn("main")).toBe(server.superuserDsn("main"));
});

test("refuses an older PostgreSQL and one without pgvector", async () => {
  expect(await refusal("17.5", "170005", "t")).toMatchObject({
    code: "postgres_unsupported",
    message: expect.stringMatching(/127\.0\.0\.1:\d+ is PostgreSQL 17\.5; 18 or newer is required/),
  });
  expect(await refusal("18.0", "180000", "f")).toMatchObject({
    code: "postgres_unsupported",
    message: expect.stringContaining("has no pgvector"),
  });
  expect(await refusal("18.0", "180000", "t")).toBeUndefined();
});

test("reports an unresponsive server and recovers when it responds", async () => {
  const pretended = await pretendServer("18.0", "180000", "t");
  const { port } = pretended.address() as AddressInfo;
  const external = new ExternalPostgres({ url: `postgresql://me:s3cret@127.0.0.1:${port}/postgres` });
  await external.start();
  pretended.close();
  const failure = await external.hasDatabase("main").catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "database_unavailable" });
  expect(String(failure)).not.toContain("s3cret");
  expect(external.state()).toBe("down");
});

test("refuses an invalid address without printing it", () => {
  for (const url of ["mysql://me:s3cret@localhost/db", "not an address s3cret"]) {
    expect(() => new ExternalPostgres({ url })).toThrow(
      expect.objectContaining({ code: "config_invalid", message: expect.not.stringContaining("s3cret") }),
    );
  }
});
