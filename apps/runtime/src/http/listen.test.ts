import { fastify } from "fastify";
import { expect, test } from "vitest";
import { listen } from "./create-server.ts";

test.each(["999.1.1.1", "192.0.2.1"])("refuses to listen on %s, an address of another machine", async (host) => {
  await expect(listen(fastify(), { host, port: 0 })).rejects.toMatchObject({
    code: "usage",
    message: expect.stringContaining(host),
    hint: expect.stringContaining("--host 127.0.0.1"),
  });
});
