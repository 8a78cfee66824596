import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ended, type Hosted, startHosted, startLogin } from "./support/hosted.ts";
import { makePlace, type Place } from "./support/place.ts";
import { expectExit, expectProblem } from "./support/served.ts";

const ANN = "ann@example.com";

/** One person's way through the hosted service by the command, each test where the one before it ended. */
describe("somebody with a hosted service of their own", () => {
  let place: Place;
  let hosted: Hosted;

  beforeAll(async () => {
    place = makePlace();
    hosted = await startHosted(place);
  });
  afterAll(async () => {
    await place[Symbol.asyncDispose]();
  });

  const sessions = () => join(place.home, "sessions.json");
  const json = async (...words: string[]) => JSON.parse((await expectExit(place, 0, ...words, "--json")).stdout);

  test("is told how to sign in, to the server of this home, before an account is there", async () => {
    const problem = await expectProblem(place, 1, "whoami");
    expect(problem).toMatchObject({ code: "not_signed_in", hint: expect.stringContaining("cli login") });
    expect(problem.detail).toContain(`${hosted.url} (from ${join(place.home, "server.json")})`);
    await hosted.setUp(ANN);
  });

  test("signs in by a code that the browser confirms, without a terminal", async () => {
    const { code, login } = await startLogin(place);
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

  test("creates an organization, in which the session works from then on", async () => {
    expect((await expectExit(place, 0, "whoami")).stdout).toContain("No organization yet");
    expect((await expectExit(place, 0, "org", "list")).stdout).toBe("No orgs.\n");
    const made = await expectExit(place, 0, "org", "create", "acme");
    expect(made.stdout).toMatch(/^acme {2}id=\S+\n$/);
    expect((await expectExit(place, 0, "org", "list")).stdout).toBe(made.stdout);
    expect((await expectExit(place, 0, "whoami")).stdout).toBe(
      `${ANN} on ${hosted.url}\nOrganization: acme (owner)\n` +
        `Commands use the sign-in of ${sessions()}; the server is from ${join(place.home, "server.json")}.\n`,
    );
    expect(await expectProblem(place, 1, "org", "create", "acme")).toMatchObject({ code: "organization_taken" });
    await expectExit(place, 0, "org", "create", "beta");
    expect((await json("whoami")).organization.name).toBe("beta");
    await expectExit(place, 0, "org", "switch", "acme");
    expect((await json("whoami")).organization.name).toBe("acme");
  });

  test("is refused with a bad key, whatever sign-in stands beside it", async () => {
    const ran = await place.type("SERVICE_API_KEY=sk_nobody_knows cli whoami --json");
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "unauthorized" });
    expect(ran.stderr).toContain(`${hosted.url} does not accept the API key of SERVICE_API_KEY`);
    expect((await place.type("SERVICE_API_KEY= cli whoami")).code).toBe(0);
  });

  test("signs out, which ends the session at the server too", async () => {
    const { token } = Object.values<{ token: string }>(JSON.parse(readFileSync(sessions(), "utf8")).sessions)[0] ?? {};
    expect((await expectExit(place, 0, "logout")).stdout).toBe("Signed out.\n");
    const stale = await fetch(`${hosted.url}/v1/whoami`, { headers: { authorization: `Bearer ${token}` } });
    expect(stale.status).toBe(401);
    expect(await expectProblem(place, 1, "org", "list")).toMatchObject({ code: "not_signed_in" });
    expect((await expectExit(place, 0, "logout")).stdout).toBe("Not signed in.\n");
  });

  test("is not signed in by a code that was denied in the browser", async () => {
    const { code, login } = await startLogin(place);
    expect((await hosted.browse("GET", `/v1/devices/${code}`)).status).toBe(200);
    expect((await hosted.browse("POST", "/v1/auth/device/deny", { userCode: code })).status).toBe(200);
    expect(await ended(login), login.output()).toBe(1);
    expect(login.output()).toContain(`error: The sign-in with the code ${code} was denied in the browser.`);
    expect(readFileSync(sessions(), "utf8")).not.toContain(ANN);
  });

  test("is not signed in by a code that nobody confirmed in time", async () => {
    const { login } = await startLogin(place);
    await hosted.query("update identity.device_codes set expires_at = now() - interval '1 second'");
    expect(await ended(login), login.output()).toBe(1);
    expect(login.output()).toContain("error: Nobody confirmed the code in time; nobody was signed in.");
  });

  test("leaves a sign-in with Ctrl-C", async () => {
    const { login } = await startLogin(place);
    expect(await login.interrupt("SIGINT"), login.output()).toBe(130);
    expect(login.output()).toContain("The sign-in was left; nobody was signed in.");
    expect(login.output()).not.toContain("error:");
  });
});

describe("a server that does not answer", () => {
  test("is told with its address and the setting that it came from, by every command", async () => {
    await using place = makePlace({ env: { SERVICE_API_URL: "http://127.0.0.1:1", SERVICE_API_KEY: "sk_x" } });
    for (const words of [["whoami"], ["org", "list"], ["key", "list"], ["secret", "list"], ["login"]]) {
      const problem = await expectProblem(place, 1, ...words);
      expect(problem).toMatchObject({
        code: "server_unreachable",
        detail: "No server answers at http://127.0.0.1:1 (from SERVICE_API_URL).",
      });
    }
    expect(existsSync(join(place.home, "sessions.json"))).toBe(false);
  });

  test("is not known at all on a new home", async () => {
    await using place = makePlace();
    expect((await expectProblem(place, 1, "login")).detail).toContain("No server is known: SERVICE_API_URL is not set");
  });
});
