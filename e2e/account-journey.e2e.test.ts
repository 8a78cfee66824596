import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { openTestProject, type TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ended, type Hosted, startHosted, startLogin } from "./support/hosted.ts";
import { expectExit, expectProblem, writeFile } from "./support/served.ts";

const ANN = "ann@example.com";

/** A user's journey through the hosted service with the command. Each test continues from the previous one. */
describe("a user with their own hosted service", () => {
  let project: TestProject;
  let hosted: Hosted;

  beforeAll(async () => {
    project = openTestProject();
    hosted = await startHosted(project);
  });
  afterAll(async () => {
    await project[Symbol.asyncDispose]();
  });

  const sessions = () => join(project.home, "sessions.json");
  const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);

  test("gets sign-in instructions for this home's server before having an account", async () => {
    const problem = await expectProblem(project, 1, "whoami");
    expect(problem).toMatchObject({ code: "not_signed_in", hint: expect.stringContaining("cli login") });
    expect(problem.detail).toContain(`${hosted.url} (from ${join(project.home, "server.json")})`);
    await hosted.setUp(ANN);
  });

  test("signs in by a browser code without a terminal", async () => {
    const { code, login } = await startLogin(project);
    expect(login.output()).toContain(`Confirm it at ${hosted.url}/device?user_code=`);
    const shown = await hosted.browse("GET", `/v1/devices/${code}`);
    expect(shown).toMatchObject({
      status: 200,
      json: { client: "cli", user_agent: expect.stringMatching(/^cli\/0\./) },
    });
    expect(await hosted.browse("POST", "/v1/auth/device/approve", { userCode: code })).toMatchObject({ status: 200 });
    expect(await ended(login), login.output()).toBe(0);
    expect(login.output()).toContain(`Signed in as ${ANN}.\n`);
    expect(login.output()).toContain("No organization yet: create one with cli org create NAME\n");
    expect(statSync(sessions()).mode & 0o777).toBe(0o600);
  });

  test("creates an organization and the session switches to it", async () => {
    expect((await expectExit(project, 0, "whoami")).stdout).toContain("No organization yet");
    expect((await expectExit(project, 0, "org", "list")).stdout).toBe("No orgs.\n");
    const made = await expectExit(project, 0, "org", "create", "acme");
    expect(made.stdout).toMatch(/^acme {2}id=\S+\n$/);
    expect((await expectExit(project, 0, "org", "list")).stdout).toBe(made.stdout);
    expect((await expectExit(project, 0, "whoami")).stdout).toBe(
      `${ANN} on ${hosted.url}\nOrganization: acme (owner)\n` +
        `Commands use the sign-in of ${sessions()}; the server is from ${join(project.home, "server.json")}.\n`,
    );
    expect(await expectProblem(project, 1, "org", "create", "acme")).toMatchObject({ code: "organization_taken" });
    // not by the command: with plain processes, a server allows no second organization
    await hosted.query(`with made as (insert into control.organizations (name, display_name, database_quota)
        values ('beta', 'beta', 1) returning id)
      insert into control.members (org_id, user_id, role) select made.id, u.id, 'owner' from made, identity.users u`);
    await expectExit(project, 0, "org", "switch", "beta");
    expect((await json("whoami")).organization.name).toBe("beta");
    await expectExit(project, 0, "org", "switch", "acme");
    expect((await json("whoami")).organization.name).toBe("acme");
  });

  test("creates a key that acts as its creator and one with grants", async () => {
    const ci = await expectExit(project, 0, "key", "create", "ci");
    const [first, , line, secret = "", ...rest] = ci.stdout.trimEnd().split("\n");
    expect([first, line, rest]).toEqual([`ci  (acts as ${ANN})`, "API key (shown once, store it now):", []]);
    const grant = "access:cloud://acme:main/services/ingest";
    const edge = await json("key", "create", "edge", "--grant", grant, "--expires", "90d");
    expect(edge).toMatchObject({ name: "edge", grants: [grant], api_key: expect.stringMatching(/^sk_/) });
    const wrong = await expectProblem(project, 2, "key", "create", "x", "--grant", "access:acme:main");
    expect(wrong.code).toBe("invalid_grant");
    expect((await expectProblem(project, 1, "key", "create", "ci")).code).toBe("key_taken");
    expect((await expectExit(project, 0, "key", "list")).stdout).toBe("ci\nedge\n");
    expect((await expectExit(project, 0, "key", "list", "-l")).stdout).toContain(`acts as ${ANN}`);

    const withKey = async (key: string, words: string) => await project.type(`SERVICE_API_KEY=${key} cli ${words}`);
    expect((await withKey(secret, "whoami")).stdout).toBe(
      `API key ci on ${hosted.url}\nIt acts as ${ANN}.\nOrganization: acme (owner)\n` +
        `Commands use the API key of SERVICE_API_KEY; the server is from ${join(project.home, "server.json")}.\n`,
    );
    const granted = await withKey(edge.api_key, "whoami");
    expect(granted.stdout).toContain(`API key edge on ${hosted.url}\nIt may ${grant}\n`);
    expect(await withKey(edge.api_key, "key list --org acme --json")).toMatchObject({ code: 1 });
    const rotated = await json("key", "rotate", "ci");
    expect((await withKey(secret, "whoami --json")).stdout).toContain('"unauthorized"');
    expect((await withKey(rotated.api_key, "whoami")).code).toBe(0);
    expect((await expectExit(project, 0, "key", "delete", "ci")).stdout).toBe("deleted  ci\n");
    expect((await withKey(rotated.api_key, "whoami")).code).toBe(1);
    expect((await expectProblem(project, 1, "key", "delete", "ci")).code).toBe("key_not_found");
  });

  test("stores secrets that cannot be read back", async () => {
    const value = "sk-provider-0123456789";
    writeFile(project, "key.pem", `${value}\n`);
    const piped = await project.type(`printf '${value}' | cli secret set acme OPENAI_API_KEY`);
    expect(piped.stdout, piped.stderr).toBe("OPENAI_API_KEY  organization\n");
    const main = "cloud://acme:main";
    await expectExit(project, 0, "secret", "set", main, "OPENAI_API_KEY", "--file", "key.pem");
    await expectExit(project, 0, "secret", "set", main, "REGION=eu", "TIER=gold");
    const long = await expectProblem(project, 2, "secret", "set", main, "A=1", `LONG=${"x".repeat(70_000)}`);
    expect(long.detail).toBe("The value of LONG has 70000 characters; the maximum is 65536.");
    expect((await expectProblem(project, 1, "secret", "set", main, "SERVICE_X=1")).code).toBe("secret_reserved");
    const listed = await expectExit(project, 0, "secret", "list", main);
    expect(listed.stdout).toContain("OPENAI_API_KEY  database  overrides an organization secret\n");
    expect(listed.stdout).toMatch(/^REGION {10}database$/m);
    expect((await expectExit(project, 0, "secret", "list")).stdout).toBe("OPENAI_API_KEY  organization\n");
    await expectExit(project, 0, "secret", "delete", main, "OPENAI_API_KEY", "TIER");
    expect((await expectProblem(project, 1, "secret", "delete", main, "A")).code).toBe("secret_not_found");
    const everything = JSON.stringify([await json("secret", "list", main), await json("events", "--limit", "200")]);
    expect(everything).not.toContain(value);
    expect(hosted.server.output()).not.toContain(value);
  });

  test("reads operations, the audit log, and new events as they arrive", async () => {
    const { operations } = await json("operations", "list");
    const provision = operations.find(({ kind }: { kind: string }) => kind === "database.provision");
    const done = await expectExit(project, 0, "operations", "wait", provision.id, "--timeout", "1m");
    expect(done.stdout).toContain("database.provision  cloud://acme:main  succeeded\n");
    expect(await json("operations", "show", provision.id)).toMatchObject({ state: "succeeded" });
    const late = await expectProblem(project, 1, "operations", "cancel", provision.id);
    expect(late.code).toBe("operation_not_cancellable");
    const follow = project.start("cli events --follow --limit 1");
    await eventually(() => expect(follow.output()).toContain("\n"));
    await expectExit(project, 0, "secret", "set", "acme", "LATER=1");
    await eventually(() =>
      expect(follow.output()).toMatch(/ {2}secret\.set {2}.*LATER.* {2}ann@example\.com {2}succeeded/),
    );
    expect(await follow.interrupt("SIGINT"), follow.output()).toBe(130);
    const found: { action: string }[] = await json("events", "--limit", "200");
    const actions = found.map(({ action }) => action);
    for (const action of ["org.create", "key.create", "key.rotate", "key.delete", "secret.set", "secret.delete"]) {
      expect(actions).toContain(action);
    }
  });

  test("is refused with a bad key despite a sign-in", async () => {
    const ran = await project.type("SERVICE_API_KEY=sk_nobody_knows cli whoami --json");
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "unauthorized" });
    expect(ran.stderr).toContain(`${hosted.url} does not accept the API key of SERVICE_API_KEY`);
    expect((await project.type("SERVICE_API_KEY= cli whoami")).code).toBe(0);
  });

  test("signs out, which also ends the session at the server", async () => {
    const { token } = Object.values<{ token: string }>(JSON.parse(readFileSync(sessions(), "utf8")).sessions)[0] ?? {};
    expect((await expectExit(project, 0, "logout")).stdout).toBe("Signed out.\n");
    const stale = await fetch(`${hosted.url}/v1/whoami`, { headers: { authorization: `Bearer ${token}` } });
    expect(stale.status).toBe(401);
    expect(await expectProblem(project, 1, "org", "list")).toMatchObject({ code: "not_signed_in" });
    expect((await expectExit(project, 0, "logout")).stdout).toBe("Not signed in.\n");
  });

  test("is not signed in by a code denied in the browser", async () => {
    const { code, login } = await startLogin(project);
    expect((await hosted.browse("GET", `/v1/devices/${code}`)).status).toBe(200);
    expect((await hosted.browse("POST", "/v1/auth/device/deny", { userCode: code })).status).toBe(200);
    expect(await ended(login), login.output()).toBe(1);
    expect(login.output()).toContain(`error: The sign-in with the code ${code} was denied in the browser.`);
    expect(readFileSync(sessions(), "utf8")).not.toContain(ANN);
  });

  test("is not signed in by a code that was not confirmed in time", async () => {
    const { login } = await startLogin(project);
    await hosted.query("update identity.device_codes set expires_at = now() - interval '1 second'");
    expect(await ended(login), login.output()).toBe(1);
    expect(login.output()).toContain("error: The code was not confirmed in time. You are not signed in.");
  });

  test("cancels a sign-in with Ctrl-C", async () => {
    const { login } = await startLogin(project);
    expect(await login.interrupt("SIGINT"), login.output()).toBe(130);
    expect(login.output()).toContain("The sign-in was cancelled. You are not signed in.");
    expect(login.output()).not.toContain("error:");
  });
});

describe("an unresponsive server", () => {
  test("is reported by every command with its address and setting", async () => {
    await using project = openTestProject({ env: { SERVICE_API_URL: "http://127.0.0.1:1", SERVICE_API_KEY: "sk_x" } });
    for (const words of [["whoami"], ["org", "list"], ["key", "list"], ["secret", "list"], ["login"]]) {
      const problem = await expectProblem(project, 1, ...words);
      expect(problem).toMatchObject({
        code: "server_unreachable",
        detail: "No server responds at http://127.0.0.1:1 (from SERVICE_API_URL).",
      });
    }
    expect(existsSync(join(project.home, "sessions.json"))).toBe(false);
  });

  test("is unknown on a new home", async () => {
    await using project = openTestProject();
    expect((await expectProblem(project, 1, "login")).detail).toContain(
      "No server is known: SERVICE_API_URL is not set",
    );
  });
});
