import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createDocsFiles } from "@appdb/http/docs-files";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, openBrowser } from "./support/browser.ts";

/** A route that changes a row, as `describeService` writes it. */
const CHANGE = {
  operationId: "update_products",
  requestBody: {
    required: true,
    content: {
      "multipart/form-data": {
        schema: {
          type: "object",
          properties: {
            sku: { type: "string", examples: ["text"] },
            name: { type: "string", examples: ["text"] },
            category: { anyOf: [{ type: "string", examples: ["text"] }, { type: "null" }], examples: ["text"] },
            stock: { type: "integer", format: "int64", examples: [1], default: 0 },
            sizes: { type: "array", items: { type: "integer" }, examples: [[1]] },
            extra: { examples: [{}] },
            picture: { type: "string", format: "binary", contentMediaType: "application/octet-stream" },
          },
          required: ["sku"],
          additionalProperties: false,
        },
      },
    },
  },
  responses: { "200": { description: "The row." } },
};
const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "shop", version: "1" },
  paths: { "/products/update": { post: CHANGE } },
};

const hasBrowser = findChromium() !== undefined;

let server: Server;
let browser: Browser;
let page: Page;
let sent = "";

beforeAll(async () => {
  if (!hasBrowser) return;
  const files = createDocsFiles();
  server = createServer(async (request, response) => {
    if (request.url === "/openapi.json") {
      response.setHeader("content-type", "application/json").end(JSON.stringify(DOCUMENT));
      return;
    }
    if (request.method === "POST") {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      sent = Buffer.concat(chunks).toString("utf8");
      response.setHeader("content-type", "application/json").end("{}");
      return;
    }
    const file = await files.read(request.url ?? "");
    for (const [name, value] of Object.entries(file?.headers ?? {})) response.setHeader(name, value);
    response.end(file?.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  browser = await openBrowser();
  page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/docs`);
});

afterAll(async () => {
  await browser?.close();
  server?.close();
});

test.runIf(hasBrowser)("a form of the API page sends only the fields that were filled in", async () => {
  const route = page.locator(".opblock-post").first();
  await route.locator(".opblock-summary").click();
  await route.locator("tr[data-property-name='sku'] input[type=text]").fill("br1");
  await route.locator("tr[data-property-name='picture'] input[type=file]").waitFor();
  await route.getByRole("button", { name: "Execute" }).click();
  await route.locator(".live-responses-table").waitFor();
  expect([...sent.matchAll(/name="(\w+)"/g)].map(([, name]) => name)).toEqual(["sku"]);
  expect(sent).toContain("br1");
});

test.runIf(hasBrowser)("a ticked box sends an empty field", async () => {
  const route = page.locator(".opblock-post").first();
  await route.locator("tr[data-property-name='picture'] .parameter__empty_value_toggle input").check();
  await route.getByRole("button", { name: "Execute" }).click();
  await expect.poll(() => sent).toContain('name="picture"');
});
