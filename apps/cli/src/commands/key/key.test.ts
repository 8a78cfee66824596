import { appError } from "@appdb/contract/errors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type HostedProject, openHostedProject, WHO } from "../../testing/test-project.ts";

const SECRET = `sk_${"a".repeat(12)}_${"b".repeat(43)}`;
const AT = "2026-11-22T10:00:00.000Z";
const ORG = {
  id: "o7",
  name: "acme",
  display_name: "acme",
  role: "owner" as const,
  databases: 1,
  database_quota: 3,
  created_at: AT,
  etag: "1",
};
const KEY = {
  id: "k1",
  name: "ci",
  grants: [] as string[],
  created_by: "ann@example.com",
  created_at: AT,
  last_used_at: null,
  expires_at: null,
  previous_until: null,
};
const EDGE = { ...KEY, id: "k2", name: "edge", grants: ["access:cloud://acme:main/services/ingest"], last_used_at: AT };

let project: HostedProject;
let who: typeof WHO;
/** Whether new organization names are taken. */
let taken: boolean;
/** Idempotency keys of requests whose answer is lost. */
let lost: string[];
let losses: number;

beforeEach(async () => {
  who = WHO;
  taken = false;
  lost = [];
  losses = 1;
  const keys = [KEY, EDGE];
  project = await openHostedProject({
    raw: (request, response) => {
      const key = request.headers["idempotency-key"];
      if (request.headers["x-api-key"] !== "sk_lossy" || lost.length >= losses || key === undefined) return false;
      lost.push(key.toString());
      response.destroy();
      return true;
    },
    answers: {
      whoami: () => who,
      orgCreate: ({ body }) => {
        if (taken)
          throw appError("organization_taken", { detail: `The name ${body.name} is taken.`, hint: "Another one." });
        return { ...ORG, name: body.name, display_name: body.display_name ?? body.name };
      },
      // two pages, so that a command that stops after the first fails
      orgList: ({ query }) =>
        query["cursor"] === undefined
          ? { items: [ORG], next: "more" }
          : { items: [{ ...ORG, id: "o8", name: "beta" }], next: null },
      sessionSwitch: ({ body }) => ({ ...WHO, organization: { id: "o8", name: body.organization, role: "member" } }),
      keyList: ({ query }) =>
        query["cursor"] === undefined ? { items: [keys[0] ?? KEY], next: "2" } : { items: keys.slice(1), next: null },
      keyCreate: ({ body }) => ({ ...KEY, name: body.name, grants: body.grants, api_key: SECRET }),
      keyDelete: ({ params }) => {
        if (params["name"] !== "ci")
          throw appError("key_not_found", { detail: "There is no key.", hint: "cli key list" });
        return undefined;
      },
      keyRotate: ({ body }) => ({ ...KEY, previous_until: body.overlap_s === 0 ? null : AT, api_key: SECRET }),
    },
  });
});
afterEach(() => project[Symbol.asyncDispose]());

const run = (...input: Parameters<HostedProject["run"]>) => project.run(...input);
const asked = () => project.server.asked.filter(({ name }) => name !== "whoami");

describe("cli org", () => {
  test("create sends the name, prints the id and explains keys", async () => {
    const ran = await run("org create acme");
    expect(ran).toMatchObject({ exit: 0, stdout: "acme  id=o7\n" });
    expect(ran.stderr).toContain("warning: the API key of SERVICE_API_KEY still belongs to the organization");
    expect(ran.stderr).toContain("Its database cloud://acme:main is being created.");
    expect(asked()[0]).toMatchObject({ name: "orgCreate", body: { name: "acme" } });
    expect(asked()[0]?.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.parse((await run("org create acme --json")).stdout)).toEqual(ORG);
  });

  test("create of one's own organization names the switch command", async () => {
    taken = true;
    const ran = await run("org create acme");
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toBe(
      "error: The organization acme exists, and you belong to it.\nhint: Switch to it: cli org switch acme\n",
    );
    expect((await run("org create other")).stderr).toContain("error: The name other is taken.");
  });

  test.each(["Acme", "acme-", "a_b", "аcme", "a".repeat(30), "a b"])(
    "create refuses the name %s before any request",
    async (name) => {
      const ran = await run(["org", "create", name, "--json"]);
      expect(ran.exit).toBe(1);
      expect(JSON.parse(ran.stdout)).toMatchObject({ code: "invalid_name" });
      expect(project.server.asked).toEqual([]);
    },
  );

  test("list prints each as NAME  id=<id> over all pages", async () => {
    expect((await run("org list")).stdout).toBe("acme  id=o7\nbeta  id=o8\n");
    expect(JSON.parse((await run("org list --json")).stdout)).toEqual([ORG, { ...ORG, id: "o8", name: "beta" }]);
  });

  test("switch needs a session, because a key belongs to its organization", async () => {
    const ran = await run("org switch beta");
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("--org beta");
    expect(asked()).toEqual([]);
  });
});

describe("cli key create", () => {
  test("prints the secret once, alone on the last line", async () => {
    const ran = await run("key create ci");
    expect(ran).toMatchObject({ exit: 0, stderr: "" });
    expect(ran.stdout).toBe(`ci  (acts as ann@example.com)\n\nAPI key (shown once, store it now):\n${SECRET}\n`);
    expect(asked()[0]).toMatchObject({
      params: { org: "acme" },
      body: { name: "ci", grants: [], expires_in_s: null },
    });
  });

  test("sends normalized grants to their organization without an extra request", async () => {
    const words =
      "key create edge --grant access:cloud://beta:MAIN/services/ingest --grant manage:cloud://beta:main/services";
    const ran = await run(`${words} --expires 90d --json`);
    expect(JSON.parse(ran.stdout)).toMatchObject({ name: "edge", api_key: SECRET });
    expect(ran.stderr).toBe("The key belongs to beta, the organization of its grants: cli key list --org beta\n");
    expect(project.server.asked).toHaveLength(1);
    expect(project.server.asked[0]).toMatchObject({
      params: { org: "beta" },
      body: {
        grants: ["access:cloud://beta:main/services/ingest", "manage:cloud://beta:main/services"],
        expires_in_s: 90 * 86_400,
      },
    });
  });

  test.each([
    ["read:cloud://acme:main", "It must begin with access: or manage:."],
    ["access:acme:main", "Expected cloud://<org>:<db> after the verb."],
    ["manage:cloud://acme:main", "manage applies to services, not to a whole database."],
    ["access:cloud://acme:main/tables", "Expected /services or nothing after the database"],
    ["access:cloud://acme:main/services/", "is not a valid service name"],
  ])("refuses the grant %s with exit 2 before any request", async (grant, what) => {
    const ran = await run(["key", "create", "edge", "--grant", grant, "--json"]);
    expect(ran.exit).toBe(2);
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "invalid_grant", detail: expect.stringContaining(what) });
    expect(project.server.asked).toEqual([]);
  });

  test("refuses grants of two organizations before any request", async () => {
    const ran = await run("key create x --grant access:cloud://acme:main --grant access:cloud://beta:main");
    expect(ran.exit).toBe(2);
    expect(ran.stderr).toContain("this command names acme and beta");
    expect((await run("key create x --org beta --grant access:cloud://acme:main")).exit).toBe(2);
    expect(project.server.asked).toEqual([]);
  });

  test.each(["90", "0d", "1w", "-1d", "1.5h", "3651d"])("refuses --expires %s with exit 2", async (time) => {
    const ran = await run(["key", "create", "ci", `--expires=${time}`]);
    expect(ran.exit).toBe(2);
    expect(ran.stderr).toMatch(/30m, 12h, 90d|at most 3650d/);
    expect(project.server.asked).toEqual([]);
  });

  test("retries a lost request with the same Idempotency-Key", async () => {
    const ran = await run("key create ci --org acme", { env: { SERVICE_API_KEY: "sk_lossy" } });
    expect(ran).toMatchObject({ exit: 0, stdout: expect.stringContaining(SECRET) });
    expect(asked().map(({ headers }) => headers["idempotency-key"])).toEqual(lost);
    expect(lost).toHaveLength(1);
  });

  test("says what is unknown after two lost responses", async () => {
    losses = 2;
    const ran = await run("key create ci --org acme", { env: { SERVICE_API_KEY: "sk_lossy" } });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("broke before the answer: POST /v1/orgs/:org/keys may or may not be done.");
    expect(ran.stderr).toContain("hint: Look for the key: cli key list -l --org acme.");
    expect(new Set(lost).size).toBe(1);
  });

  test("explains how to get an organization when there is none", async () => {
    who = { ...WHO, organization: null, organizations: 0 };
    const ran = await run("key create ci");
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("error: No organization yet.\nhint: Create one: cli org create NAME");
  });
});

describe("cli key", () => {
  test("list prints names; -l adds permissions, last use and expiry", async () => {
    expect((await run("key list")).stdout).toBe("ci\nedge\n");
    expect((await run("key list -l")).stdout).toBe(
      "ci    never used                     no end  created by ann@example.com  acts as ann@example.com\n" +
        `edge  used ${AT}  no end  created by ann@example.com  access:cloud://acme:main/services/ingest\n`,
    );
    const { keys } = JSON.parse((await run("key list --json --org acme")).stdout);
    expect(keys).toEqual([KEY, EDGE]);
  });

  test("delete names the key and fails when it does not exist", async () => {
    expect((await run("key delete ci")).stdout).toBe("deleted  ci\n");
    expect(asked().at(-1)).toMatchObject({ name: "keyDelete", params: { org: "acme", name: "ci" } });
    const ran = await run("key delete cj");
    expect(ran).toMatchObject({ exit: 1, stderr: "error: There is no key.\nhint: cli key list\n" });
  });

  test("rotate expires the previous secret now or after the overlap", async () => {
    expect((await run("key rotate ci")).stdout).toBe(
      `ci  (acts as ann@example.com)\nThe previous secret is no longer valid.\n\nAPI key (shown once, store it now):\n${SECRET}\n`,
    );
    expect((await run("key rotate ci --overlap 1h")).stdout).toContain(`The previous secret is valid until ${AT}.\n`);
    expect(asked().map(({ body }) => body.overlap_s)).toEqual([0, 3_600]);
  });

  test("create refuses an invalid name before any request", async () => {
    const ran = await run(["key", "create", "a b\u001b[2J", "--json"]);
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "invalid_name" });
    expect(ran.stderr).not.toContain("\u001b");
    expect(project.server.asked).toEqual([]);
  });
});
