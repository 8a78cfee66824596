import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { appError, toProblem } from "@appdb/contract/errors";
import { fastify } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addDashboard, readDashboard } from "./static.ts";

const PAGE = "<!doctype html><title>appdb</title>";
const SCRIPT = "console.log('dashboard');".repeat(40);

describe("the dashboard's files", () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-static-"));
  const app = fastify();

  beforeAll(() => {
    mkdirSync(join(folder, "assets"));
    writeFileSync(join(folder, "index.html"), PAGE);
    writeFileSync(join(folder, "theme.js"), "// theme");
    writeFileSync(join(folder, "notes.txt"), "not served");
    writeFileSync(join(folder, "assets", "index-Ab12.js"), SCRIPT);
    writeFileSync(join(folder, "assets", "index-Ab12.js.br"), brotliCompressSync(SCRIPT));
    writeFileSync(join(folder, "assets", "index-Ab12.js.gz"), gzipSync(SCRIPT));
    app.setNotFoundHandler((_request, reply) => {
      const problem = toProblem(appError("not_found", { detail: "Nothing here." }));
      void reply.code(404).type("application/problem+json").send(JSON.stringify(problem));
    });
    addDashboard(app, readDashboard(folder), "https://*.apps.example.com");
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ method: "GET", url, headers });

  test.each(["/", "/orgs/acme/keys", "/sign-up?invitation=a.b", "/index.html", "/device?user_code=WXYZ-1234"])(
    "%s is the page, which is not cached",
    async (url) => {
      const { statusCode, headers, body } = await get(url);
      expect({ statusCode, body, cache: headers["cache-control"] }).toEqual({
        statusCode: 200,
        body: PAGE,
        cache: "no-store",
      });
    },
  );

  test("parsing many headers with many spaces is fast", async () => {
    // a backtracking parser needs more than a second for each
    for (let left = 20; left > 0; left -= 1) {
      const page = await get("/", { "accept-encoding": `a${" ".repeat(15_000)}x` });
      expect(page.statusCode).toBe(200);
    }
  });

  test("the page allows no inline code, no foreign sources and no frames, and files of the gateway", async () => {
    const { headers } = await get("/");
    expect(headers["content-security-policy"]).toBe(
      "default-src 'self'; img-src 'self' blob: https://*.apps.example.com; media-src 'self' blob: https://*.apps.example.com; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    );
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
    });
  });

  test("a file with a hash in its name is cached for a year; others are revalidated", async () => {
    const hashed = await get("/assets/index-Ab12.js");
    expect(hashed.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    const other = await get("/theme.js");
    expect(other.headers["cache-control"]).toBe("no-cache");
    const again = await get("/theme.js", { "if-none-match": String(other.headers.etag) });
    expect({ status: again.statusCode, body: again.body }).toEqual({ status: 304, body: "" });
  });

  test("files are compressed for clients that accept it", async () => {
    const br = await get("/assets/index-Ab12.js", { "accept-encoding": "gzip, deflate, br" });
    expect(brotliDecompressSync(br.rawPayload).toString()).toBe(SCRIPT);
    const gzip = await get("/assets/index-Ab12.js", { "accept-encoding": "gzip, br;q=0" });
    expect(gunzipSync(gzip.rawPayload).toString()).toBe(SCRIPT);
    const plain = await get("/assets/index-Ab12.js");
    expect({ body: plain.body, encoding: plain.headers["content-encoding"] }).toEqual({
      body: SCRIPT,
      encoding: undefined,
    });
    expect(plain.headers["content-type"]).toBe("text/javascript; charset=utf-8");
  });

  test.each([
    "/v1",
    "/v1/",
    "/v1/nothing",
    "/assets/index-Zz99.js",
    "/notes.txt",
    "/assets/index-Ab12.js.br",
    "/../index.html.txt",
    "/..%2f..%2fpackage.json",
  ])("%s is not found", async (url) => {
    const { statusCode, headers } = await get(url);
    expect(statusCode).toBe(404);
    expect(headers["content-type"]).toContain("application/problem+json");
  });
});

test("a server without a built dashboard explains how to build it", async () => {
  const app = fastify();
  addDashboard(app, undefined, undefined);
  const { statusCode, body } = await app.inject("/");
  expect({ statusCode, body }).toEqual({
    statusCode: 503,
    body: "The dashboard is not built. Build it with: npm run build\n",
  });
  await app.close();
});
