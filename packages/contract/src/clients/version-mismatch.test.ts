import { expect, test, vi } from "vitest";
import { type AppError, appError, toProblem } from "../errors.ts";
import type { FetchLike } from "./client.ts";

// unbuilt sources have no build
const BUILD = "ba9876543210";
vi.resetModules();
vi.stubGlobal("BUILD_ID", BUILD);
const { VERSION } = await import("../version.ts");
const { createControlClient } = await import("./control-client.ts");
const { createLocalClient } = await import("./local-client.ts");

const NO_ROUTE = appError("not_found", { detail: "The daemon has no GET /v1/jobs." });
const UNKNOWN_KEY = appError("invalid_request", { detail: 'The request is invalid: /: Unrecognized key: "then".' });

function answering(refusal: AppError, version: string | undefined, build: string | null): FetchLike {
  const headers: Record<string, string> = version === undefined ? {} : { "x-server-version": version };
  if (version !== undefined && build !== null) headers["x-server-build"] = build;
  return async () => new Response(JSON.stringify(toProblem(refusal)), { status: refusal.status, headers });
}

async function errorOf(
  refusal: AppError,
  version: string | undefined,
  build: string | null = "0123456789ab",
): Promise<AppError> {
  const client = createLocalClient({ port: 4711, token: "secret", fetch: answering(refusal, version, build) });
  return await client.call("jobList", { query: { target: "main" } }).then(
    () => {
      throw new Error("was accepted");
    },
    (error: AppError) => error,
  );
}

test("a route that an older daemon lacks names both versions", async () => {
  expect(await errorOf(NO_ROUTE, "0.1.0")).toMatchObject({
    code: "server_too_old",
    message: `The daemon (version 0.1.0) is older than this command (version ${VERSION}). It does not know GET /v1/jobs.`,
    hint: "Restart it with the version of this command: cli daemon restart",
    meta: { version: VERSION, server_version: "0.1.0" },
  });
});

test("a key that an older daemon refuses is named after both versions", async () => {
  const { code, message } = await errorOf(UNKNOWN_KEY, "0.1.0");
  expect(code).toBe("server_too_old");
  expect(message).toContain(`It refused GET /v1/jobs. ${UNKNOWN_KEY.message}`);
});

test("another build of the same version is named by its build", async () => {
  const { code, message } = await errorOf(NO_ROUTE, VERSION);
  expect(code).toBe("server_too_old");
  expect(message).toContain(`another build of version ${VERSION} (0123456789ab) than this command (${BUILD})`);
});

test("a newer daemon tells to upgrade the command", async () => {
  expect(await errorOf(UNKNOWN_KEY, "99.0.0")).toMatchObject({
    code: "client_too_old",
    message: expect.stringContaining(`This command (version ${VERSION}) is older than the daemon (version 99.0.0).`),
    hint: "Upgrade the command: pip install --upgrade 'appdb[serve]'",
  });
});

test("refusals for other reasons and of the same build stay unchanged", async () => {
  expect((await errorOf(NO_ROUTE, VERSION, BUILD)).message).toBe(NO_ROUTE.message);
  expect((await errorOf(NO_ROUTE, undefined)).message).toBe(NO_ROUTE.message);
  expect((await errorOf(NO_ROUTE, VERSION, null)).message).toBe(NO_ROUTE.message);
  expect((await errorOf(NO_ROUTE, "0.1.0", null)).code).toBe("server_too_old");
  const missing = appError("table_not_found", { detail: "main has no table docs." });
  expect((await errorOf(missing, "0.1.0")).code).toBe("table_not_found");
});

test("an older hosted server is named by its address", async () => {
  const client = createControlClient({
    url: "https://db.example.org",
    url_source: "a test",
    credential: async () => ({}),
    fetch: answering(NO_ROUTE, "0.1.0", ""),
  });
  await expect(client.call("whoami", {})).rejects.toMatchObject({
    code: "server_too_old",
    message: expect.stringContaining("The server at https://db.example.org (version 0.1.0) is older"),
    hint: "Ask its operator to upgrade it, or install the version of the server.",
  });
});
