import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Asked,
  type ControlServer,
  type ControlServerInput,
  startControlServer,
} from "../../testing/control-server.ts";
import { openTestProject, type TestProject, WHO } from "../../testing/test-project.ts";

const TOKEN = "tok-0123456789";
const CODE = {
  device_code: "dev-secret",
  user_code: "WXYZ1234",
  verification_uri: "https://cloud.example.com/device",
  verification_uri_complete: "https://cloud.example.com/device?user_code=WXYZ1234",
  expires_in: 600,
  // A fraction of the second that servers request.
  interval: 0.01,
};
const SESSION = {
  id: "s1",
  current: true,
  client: "cli" as const,
  ip_address: null,
  user_agent: null,
  created_at: "2026-11-22T10:00:00.000Z",
  last_used_at: "2026-11-22T10:00:00.000Z",
  expires_at: "2026-12-22T10:00:00.000Z",
};

let project: TestProject;
let server: ControlServer;

beforeEach(() => {
  project = openTestProject();
});
afterEach(async () => {
  project[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
});

const requireToken = ({ headers }: Asked) => {
  if (headers["x-api-key"] !== undefined || headers.authorization !== `Bearer ${TOKEN}`) {
    throw appError("unauthorized", { detail: "The credential is not known." });
  }
};

/** A server that answers successive polls with these values; the last one repeats. */
async function serve(polls: readonly (string | number)[] = [TOKEN], more: ControlServerInput = {}): Promise<void> {
  let poll = 0;
  server = await startControlServer({
    device: (path) => {
      if (path === "device/code") return { status: 200, body: CODE };
      const said = polls[Math.min(poll++, polls.length - 1)];
      if (said === TOKEN) return { status: 200, body: { access_token: TOKEN, token_type: "Bearer", expires_in: 3600 } };
      return { status: 400, body: { error: said, error_description: "x" } };
    },
    ...more,
    answers: {
      whoami: (asked) => {
        requireToken(asked);
        return WHO;
      },
      ...more.answers,
    },
  });
}

const login = (words = "", env: Record<string, string> = {}) =>
  project.run(`login${words}`, { env: { SERVICE_API_URL: server.url, ...env } });
const sessionsFile = () => join(project.home, "sessions.json");
const sessions = () => JSON.parse(readFileSync(sessionsFile(), "utf8")).sessions;

describe("cli login", () => {
  test("shows code and address on stderr, waits, and stores a private sign-in", async () => {
    await serve(["authorization_pending", "authorization_pending", TOKEN]);
    const ran = await login();
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toBe("Signed in as ann@example.com.\nOrganization: acme (owner)\n");
    expect(ran.stderr).toContain("Your code is WXYZ-1234\n");
    expect(ran.stderr).toContain("Confirm it at https://cloud.example.com/device?user_code=WXYZ1234\n");
    expect(server.auth.map(({ path }) => path)).toEqual(["device/code", ...Array(3).fill("device/token")]);
    expect(server.auth[1]?.body).toEqual({
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: "dev-secret",
      client_id: "cli",
    });
    expect(sessions()).toEqual({
      [server.url]: { token: TOKEN, email: "ann@example.com", signed_in_at: expect.any(String) },
    });
    expect(statSync(sessionsFile()).mode & 0o777).toBe(0o600);
    expect(statSync(project.home).mode & 0o777).toBe(0o700);
    expect(ran.stdout + ran.stderr).not.toContain(TOKEN);
  });

  test("--json prints one document, without the token", async () => {
    await serve();
    const ran = await login(" --json");
    expect(JSON.parse(ran.stdout)).toEqual({
      server: server.url,
      email: "ann@example.com",
      name: "Ann",
      organization: WHO.organization,
      organizations: 1,
      expires_at: WHO.expires_at,
    });
    expect(ran.stderr).toContain("Your code is WXYZ-1234");
  });

  test("opens the browser only with a terminal and a display", async () => {
    await serve();
    const env = { SERVICE_API_URL: server.url, DISPLAY: ":0" };
    await project.run("login", { env });
    await project.run("login --no-browser", { env, secret: "" });
    await project.run("login --json", { env, secret: "" });
    await project.run("login", { env: { SERVICE_API_URL: server.url }, secret: "" });
    expect(project.opened).toEqual([]);
    await project.run("login", { env, secret: "" });
    expect(project.opened).toEqual([CODE.verification_uri_complete]);
  });

  test("explains how to create an organization when there is none", async () => {
    await serve([TOKEN], { answers: { whoami: () => ({ ...WHO, organization: null, organizations: 0 }) } });
    expect((await login()).stdout).toContain("No organization yet: create one with cli org create NAME\n");
  });

  test("a denied sign-in exits with 1 and stores nothing", async () => {
    await serve(["authorization_pending", "access_denied"]);
    const ran = await login(" --json");
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      code: "sign_in_denied",
      hint: expect.stringContaining("cli login"),
    });
    expect(existsSync(sessionsFile())).toBe(false);
  });

  test("an unconfirmed sign-in times out with exit 1", async () => {
    await serve(["expired_token"]);
    const ran = await login();
    expect(ran).toMatchObject({ exit: 1, stdout: "" });
    expect(ran.stderr).toContain(
      "error: The code was not confirmed in time. You are not signed in.\nhint: Request another code",
    );
  });

  test("exits with 130 at Ctrl-C and stores nothing", async () => {
    await serve(["authorization_pending"]);
    const interrupt = new AbortController();
    const running = project.run("login", { env: { SERVICE_API_URL: server.url }, signal: interrupt.signal });
    await expect.poll(() => server.auth.length).toBeGreaterThan(2);
    interrupt.abort();
    const ran = await running;
    expect(ran).toMatchObject({ exit: 130, stdout: "" });
    expect(ran.stderr).toContain("The sign-in was cancelled. You are not signed in.\n");
    expect(ran.stderr).not.toContain("error:");
    expect(existsSync(sessionsFile())).toBe(false);
  });

  test("prints the server's message when it limits sign-ins", async () => {
    const problem = { code: "too_many_attempts", detail: "Too many sign-ins.", hint: "Wait a minute." };
    server = await startControlServer({ device: () => ({ status: 429, body: problem }) });
    const ran = await login();
    expect(ran.stderr).toContain("error: Too many sign-ins.\nhint: Wait a minute.\n");
  });

  test("reports an address that is not a control plane and its setting", async () => {
    server = await startControlServer({ device: () => ({ status: 404, body: {} }) });
    const ran = await login(" --json");
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "server_failed" });
    expect(ran.stderr).toContain("status 404");
    expect(ran.stderr).toContain("SERVICE_API_URL");
  });

  test("neither opens nor prints an address that is not a web address", async () => {
    const evil = { ...CODE, verification_uri: "file:///etc/passwd", verification_uri_complete: "javascript:alert(1)" };
    server = await startControlServer({ device: () => ({ status: 200, body: evil }) });
    const ran = await project.run("login", { env: { SERVICE_API_URL: server.url, DISPLAY: ":0" }, secret: "" });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).not.toContain("passwd");
    expect(project.opened).toEqual([]);
  });

  test("retries while the server is briefly unavailable", async () => {
    let broken = 0;
    await serve([TOKEN], {
      raw: (request, response) => {
        if (!request.url?.endsWith("/device/token") || broken++ > 0) return false;
        response.destroy();
        return true;
      },
    });
    const ran = await login();
    expect(ran.exit).toBe(0);
    expect(ran.stderr).toMatch(/The server did not respond \(.+\)\. Trying again\./);
  });

  test("ends the session of the replaced sign-in", async () => {
    const sessionList = ({ headers }: Asked) => {
      expect(headers.authorization).toBe("Bearer former");
      return { items: [SESSION], next: null };
    };
    await serve([TOKEN], { answers: { sessionList, sessionRevoke: () => undefined } });
    mkdirSync(project.home);
    const former = { token: "former", email: "ann@example.com", signed_in_at: "" };
    writeFileSync(sessionsFile(), JSON.stringify({ sessions: { [server.url]: former } }), { mode: 0o600 });
    expect(await login()).toMatchObject({ exit: 0, stderr: expect.not.stringContaining("warning") });
    expect(server.asked.at(-1)).toMatchObject({ name: "sessionRevoke", params: { id: "s1" } });
    expect(sessions()[server.url].token).toBe(TOKEN);
  });

  test("explains that an API key overrides the sign-in", async () => {
    await serve();
    const ran = await login("", { SERVICE_API_KEY: "sk_x" });
    expect(ran.exit).toBe(0);
    expect(ran.stderr).toContain("warning: commands use the API key of SERVICE_API_KEY, which overrides a sign-in.");
  });
});

describe("an invalid project configuration", () => {
  test("does not undo a sign-in and is reported", async () => {
    await serve();
    writeFileSync(join(project.folder, "service.toml"), "[service]\napi_key = 7\n");
    const ran = await login();
    expect(ran).toMatchObject({ exit: 0, stderr: expect.stringContaining("warning: service.toml:2: 'api_key'") });
    expect(sessions()[server.url].token).toBe(TOKEN);
  });
});

describe("cli login --server", () => {
  test("stores the address in the home's config.toml and keeps other lines", async () => {
    await serve();
    mkdirSync(project.home);
    const config = join(project.home, "config.toml");
    writeFileSync(config, '# mine\n[service] # ours\napi_url = "https://old.example.com" # the old one\n# end\n');
    const ran = await project.run(`login --server ${server.url}/`);
    expect(ran).toMatchObject({ exit: 0, stdout: expect.stringContaining("Signed in as ann@example.com.") });
    expect(readFileSync(config, "utf8")).toBe(
      `# mine\n[service] # ours\napi_url = "${server.url}" # the old one\n# end\n`,
    );
    const who = JSON.parse((await project.run("whoami --json")).stdout);
    expect(who.server).toEqual({ url: server.url, source: config });
    expect(who.credential).toEqual({ kind: "session", source: sessionsFile() });
  });

  test("stores nothing when the sign-in fails", async () => {
    await serve(["access_denied"]);
    expect((await project.run(`login --server ${server.url}`)).exit).toBe(1);
    expect(existsSync(join(project.home, "config.toml"))).toBe(false);
  });

  test("explains that SERVICE_API_URL overrides it", async () => {
    await serve();
    const env = { SERVICE_API_URL: "https://other.example.com" };
    const ran = await project.run(`login --server ${server.url}`, { env });
    expect(ran.stderr).toContain("warning: SERVICE_API_URL is set to https://other.example.com, which overrides it.");
  });

  test.each([
    "cloud.example.com",
    "ftp://x.example.com",
    "https://ann:secret@x.example.com",
    "https://x.example.com/?a",
  ])("refuses %s before any request", async (address) => {
    const ran = await project.run(`login --server ${address}`);
    expect(ran.exit).toBe(2);
    expect(ran.stderr).toContain("error: ");
    expect(existsSync(project.home)).toBe(false);
  });
});

describe("cli logout", () => {
  test("ends and forgets the session of this server only", async () => {
    await serve([TOKEN], {
      answers: {
        sessionList: (asked) => {
          requireToken(asked);
          return { items: [{ ...SESSION, id: "s0", current: false }, SESSION], next: null };
        },
        sessionRevoke: () => undefined,
      },
    });
    await login();
    const other = { token: "t", email: "bob@example.com", signed_in_at: "" };
    const file = { version: 1, sessions: { ...sessions(), "https://other.example.com": other } };
    writeFileSync(sessionsFile(), JSON.stringify(file));
    const ran = await project.run("logout", { env: { SERVICE_API_URL: server.url } });
    expect(ran).toMatchObject({ exit: 0, stdout: "Signed out.\n", stderr: "" });
    expect(server.asked.at(-1)).toMatchObject({ name: "sessionRevoke", params: { id: "s1" } });
    expect(sessions()).toEqual({ "https://other.example.com": other });
    const again = await project.run("logout", { env: { SERVICE_API_URL: server.url } });
    expect(again).toMatchObject({ exit: 0, stdout: "Not signed in.\n" });
  });

  test("forgets a session whose server is gone and says so", async () => {
    await serve();
    await login();
    const { url } = server;
    await server[Symbol.asyncDispose]();
    const ran = await project.run("logout --json", { env: { SERVICE_API_URL: url } });
    expect(ran.exit).toBe(0);
    expect(JSON.parse(ran.stdout)).toEqual({ server: url, signed_out: true, revoked: false });
    expect(ran.stderr).toContain("warning: the server could not be reached");
    expect(sessions()).toEqual({});
    server = await startControlServer({});
  });

  test("reports a key that is still in use", async () => {
    await serve([TOKEN], { answers: { sessionList: () => ({ items: [], next: null }) } });
    await login();
    const ran = await project.run("logout", { env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "sk_x" } });
    expect(ran.stderr).toContain("warning: commands continue to use the API key of SERVICE_API_KEY.");
  });
});

describe("a stored sign-in", () => {
  test("is refused with a hint when others could read it", async () => {
    await serve();
    await login();
    chmodSync(sessionsFile(), 0o644);
    const ran = await project.run("whoami", { env: { SERVICE_API_URL: server.url } });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("can be read by other users of this machine (mode 0644)");
    expect(ran.stderr).toContain(`chmod 600 ${sessionsFile()}`);
    expect((await login()).exit).toBe(0);
    expect(statSync(sessionsFile()).mode & 0o777).toBe(0o600);
  });

  test("in a damaged file is reported and the file is kept", async () => {
    await serve();
    mkdirSync(project.home);
    writeFileSync(sessionsFile(), '{"sessions": {', { mode: 0o600 });
    for (const words of ["whoami", "login", "logout"]) {
      const ran = await project.run(words, { env: { SERVICE_API_URL: server.url } });
      expect(ran.exit).toBe(1);
      expect(ran.stderr).toContain(`${sessionsFile()} is damaged`);
    }
    expect(readFileSync(sessionsFile(), "utf8")).toBe('{"sessions": {');
    // no confirmation is requested for what cannot be stored
    expect(server.auth).toEqual([]);
  });

  test("that ended at the server asks to sign in again", async () => {
    await serve();
    await login();
    const { sessions: kept } = JSON.parse(readFileSync(sessionsFile(), "utf8"));
    writeFileSync(
      sessionsFile(),
      JSON.stringify({ sessions: { [server.url]: { ...kept[server.url], token: "gone" } } }),
    );
    const ran = await project.run("whoami --json", { env: { SERVICE_API_URL: server.url } });
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "not_signed_in", hint: "Sign in again: cli login" });
    expect(ran.stderr).toContain(`The sign-in at ${server.url} is not valid any more: The credential is not known.`);
  });
});
