import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { postDelivery } from "./post-delivery.ts";

test("does not follow a redirect", async () => {
  const asked: string[] = [];
  await using server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(302, { location: "/elsewhere" }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const posted = { url: `http://127.0.0.1:${port}/hook`, delivery_id: "one", timestamp: 1, body: "{}" };
  const signal = new AbortController().signal;
  const result = await postDelivery({ ...posted, signing_secret: "whsec_YQ==", allow_private: true }, signal);
  expect(result).toEqual({ is_delivered: false, status: 302, error: "Redirects are not followed." });
  expect(asked).toEqual(["/hook"]);
});
