import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writePageCursor } from "../database/pages.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople, type TestPeople } from "../testing/people.ts";

let server: TestServer;
let people: TestPeople;
beforeAll(async () => {
  server = await openServer();
  people = await makePeople(server);
  await server.deps.db.insertInto("control.databases").values({ org_id: people.org.id, name: "main" }).execute();
});
afterAll(() => server[Symbol.asyncDispose]());

const send = (method: string, path: string, body?: unknown) =>
  server.send(method, path.replace(":org", people.org.name), { as: { token: people.owner.token }, body });

/** PostgreSQL rejects NUL. Such a text must be refused with a clear error, not fail with 500. */
describe("a NUL character", () => {
  test.each([
    ["GET", "/v1/orgs/a%00b"],
    ["GET", "/v1/orgs/:org/databases/main%00"],
    ["PUT", "/v1/orgs/:org/databases/%00/secrets/A", { value: "x" }],
    ["DELETE", "/v1/orgs/:org/keys/%00"],
    ["POST", "/v1/orgs/:org/keys/%00/rotate", {}],
    ["DELETE", "/v1/sessions/%00"],
    ["PUT", "/v1/session/org", { organization: "\0" }],
    ["PATCH", "/v1/orgs/:org", { display_name: "a\0" }],
    ["POST", "/v1/auth/device/approve", { userCode: "\0" }],
    ["POST", "/v1/auth/device/code", { client_id: "cli", scope: "\0" }],
    ["POST", "/v1/auth/device/token", { client_id: "cli", grant_type: "x", device_code: "\0" }],
    ["POST", "/v1/auth/reset-password", { token: "\0", newPassword: "long enough for it" }],
    ["POST", "/v1/auth/sign-up/email", { email: "nul@example.com", name: "a\0b", password: "long enough for it" }],
  ])("%s %s %j is refused", async (method, path, body?: unknown) => {
    const answer = await send(method, path, body);
    expect(answer.status, answer.text).toBe(422);
    expect(answer.json.code).toBe("invalid_request");
  });

  const LISTS = ["members", "invitations", "keys", "secrets", "databases", "databases/main/secrets", "operations"];
  test.each(["/v1/orgs", "/v1/sessions", "/v1/orgs/:org/events", ...LISTS.map((list) => `/v1/orgs/:org/${list}`)])(
    "in a cursor of %s makes it invalid",
    async (list) => {
      for (const position of [
        { after: "\0", id: "\0" },
        { after: "1", id: "\0" },
      ]) {
        const answer = await send("GET", `${list}?cursor=${writePageCursor(position)}`);
        expect({ status: answer.status, code: answer.json.code }).toEqual({ status: 422, code: "invalid_cursor" });
      }
    },
  );
});

test.each(["two\nlines", "\u001b[31mred", "turned \u202e around", "\u2066hidden", "\u0085", " \t "])(
  "an organization refuses the display name %j",
  async (displayName) => {
    expect((await send("PATCH", "/v1/orgs/:org", { display_name: displayName })).status).toBe(422);
  },
);

test.each(["Ähre & Söhne", "日本", "👩‍👩‍👧 family", "a' or 1=1; drop table control.organizations; --"])(
  "an organization keeps the display name %j exactly",
  async (displayName) => {
    expect((await send("PATCH", "/v1/orgs/:org", { display_name: displayName })).json.display_name).toBe(displayName);
  },
);
