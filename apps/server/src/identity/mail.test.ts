import { createServer, type Server } from "node:net";
import { Secret } from "@appdb/system/secret";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createMail } from "./mail.ts";

let server: Server;
let heard: string;

/** A mail server without STARTTLS. */
beforeEach(async () => {
  heard = "";
  server = createServer((socket) => {
    socket.write("220 test\r\n");
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      const text = chunk.toString();
      heard += text;
      if (text.startsWith("DATA")) socket.write("354 go on\r\n");
      else if (text.startsWith("STARTTLS")) socket.write("502 unknown\r\n");
      else if (heard.includes("DATA") && !text.includes("\r\n.\r\n")) return;
      else socket.write("250 ok\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterEach(() => new Promise((resolve) => server.close(resolve)));

async function send(needsTls: boolean): Promise<void> {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const mail = await createMail({
    url: new Secret(`smtp://127.0.0.1:${address.port}`),
    from: "a@example.com",
    needs_tls: needsTls,
  });
  try {
    await mail.send({ to: "b@example.com", subject: "A link", text: "the secret link" });
  } finally {
    mail.close();
  }
}

test("sends no mail without TLS if TLS is required", async () => {
  await expect(send(true)).rejects.toThrow();
  expect(heard).toContain("STARTTLS");
  expect(heard).not.toContain("RCPT TO");
  expect(heard).not.toContain("secret link");
});

test("sends mail without TLS if the operator allows it", async () => {
  await send(false);
  expect(heard).toContain("secret link");
});
