import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { join as joinOrg, makePeople, type TestPeople } from "../../testing/people.ts";
import { type Scenario, testScenarios } from "../../testing/scenarios.ts";
import { digestOf, tarOfBlobs } from "../../testing/tar.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const TAR = { "content-type": "application/x-tar" };
const ONE = tarOfBlobs(["one"]);
const ROWS: Scenario[] = (["blobMissing", "blobUpload"] as const).flatMap((route): Scenario[] => {
  const body = route === "blobUpload" ? ONE : { digests: [digestOf("one")] };
  const headers = route === "blobUpload" ? TAR : {};
  return [
    { as: "guest", route, body, headers, status: 401 },
    { as: "outsider", route, body, headers, status: 404, includes: ["organization_not_found"] },
    ...(["member", "admin", "owner"] as const).map((as): Scenario => ({ as, route, body, headers, status: 200 })),
  ];
});

describe("who may upload", () => {
  testScenarios(() => server, makePeople, [
    ...ROWS,
    {
      as: "member",
      named: "member, no archive",
      route: "blobUpload",
      body: "hello",
      headers: TAR,
      status: 422,
      includes: ["blob_invalid"],
    },
    { as: "member", named: "member, no digest", route: "blobMissing", body: { digests: ["../x"] }, status: 422 },
  ]);
});

const missing = async (setup: TestPeople, digests: readonly string[], org = setup.org, as = setup.member) => {
  const { json } = await server.ask("blobMissing", { as, params: { org: org.name }, body: { digests: [...digests] } });
  return json.missing;
};
const upload = (setup: TestPeople, body: Buffer, headers: Record<string, string> = {}) =>
  server.ask("blobUpload", {
    as: setup.member,
    params: { org: setup.org.name },
    body: new Uint8Array(body),
    headers: { ...TAR, ...headers },
  } as never);

describe("an upload", () => {
  test("stores missing blobs, and does not share them with another organization", async () => {
    const setup = await makePeople(server);
    const digests = ["one", "two"].map(digestOf);
    expect(await missing(setup, [...digests, ...digests])).toEqual(digests);
    expect((await upload(setup, tarOfBlobs(["one"]))).json).toEqual({ stored: 1, bytes: 3 });
    expect(await missing(setup, digests)).toEqual([digestOf("two")]);
    const packed = await upload(setup, gzipSync(tarOfBlobs(["one", "two"])), { "content-encoding": "gzip" });
    expect(packed.json).toEqual({ stored: 2, bytes: 6 });
    expect(await missing(setup, digests)).toEqual([]);
    expect(await missing(setup, digests, setup.other_org, setup.outsider)).toEqual(digests);
  });

  test("with one wrong blob stores the earlier ones and names the wrong one", async () => {
    const setup = await makePeople(server);
    const wrong = Buffer.from(tarOfBlobs(["one", "two"]));
    wrong.write("t0o", 512 * 3);
    const answer = await upload(setup, wrong);
    expect(answer.json).toMatchObject({ code: "blob_invalid", detail: expect.stringContaining(digestOf("two")) });
    expect(await missing(setup, ["one", "two"].map(digestOf))).toEqual([digestOf("two")]);
  });

  test("that was cut off resumes with the missing blobs", async () => {
    const setup = await makePeople(server);
    const texts = Array.from({ length: 20 }, (_, at) => `${at}`.repeat(1_000));
    const whole = tarOfBlobs(texts);
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    await once(socket, "connect");
    const head = `PUT /v1/orgs/${setup.org.name}/blobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${setup.member.token}\r\ncontent-type: application/x-tar\r\ncontent-length: ${whole.length}\r\n\r\n`;
    socket.write(head);
    socket.write(whole.subarray(0, Math.floor(whole.length / 2)));
    const left = async () => (await missing(setup, texts.map(digestOf))) as string[];
    // the first half is stored while the second half is still missing
    const folder = join(server.home, "server/blobs", setup.org.id);
    await expect
      .poll(() => readdirSync(folder, { recursive: true }).filter((name) => `${name}`.length > 60).length)
      .toBe(12);
    socket.destroy();
    await expect.poll(async () => (await left()).length).toBe(8);
    const rest = await left();
    await upload(setup, tarOfBlobs(texts.filter((text) => rest.includes(digestOf(text)))));
    expect(await left()).toEqual([]);
  });

  test("above the organization's quota is refused", async () => {
    await using small = await openServer({ beside: server, env: { SERVICE_MAX_UPLOADS_GB: "1" } });
    const setup = await makePeople(small);
    await small.deps.db
      .insertInto("control.blobs")
      .values({ org_id: setup.org.id, digest: digestOf("large"), bytes: 1024 ** 3 - 4_096 })
      .execute();
    const send = (blob: string) =>
      small.ask("blobUpload", {
        as: setup.member,
        params: { org: setup.org.name },
        body: new Uint8Array(tarOfBlobs([blob])),
        headers: TAR,
      } as never);
    expect((await send("four")).status).toBe(200);
    expect((await send("five5")).json).toMatchObject({ code: "payload_too_large" });
  });

  test("of a caller who was removed meanwhile is not recorded", async () => {
    const setup = await makePeople(server);
    const whole = tarOfBlobs(["early", "late"]);
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1").setEncoding("utf8");
    let answer = "";
    socket.on("data", (part) => {
      answer += part;
    });
    const ended = once(socket, "close");
    socket.write(
      `PUT /v1/orgs/${setup.org.name}/blobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${setup.member.token}\r\ncontent-length: ${whole.length}\r\nconnection: close\r\n\r\n`,
    );
    socket.write(whole.subarray(0, 1_100));
    await expect.poll(() => missing(setup, [digestOf("early")])).toEqual([]);
    await server.deps.db.deleteFrom("control.members").where("user_id", "=", setup.member.id).execute();
    socket.write(whole.subarray(1_100));
    await ended;
    expect(answer).toContain("organization_not_found");
    await joinOrg(server, setup.org, setup.member, "member");
    expect(await missing(setup, [digestOf("late")])).toEqual([digestOf("late")]);
  });
});
