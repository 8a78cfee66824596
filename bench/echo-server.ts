// The limit that HTTP sets: a bare Fastify that parses and validates the same body and answers, without a database.
// Started by load.ts's caller with an IPC channel; says its port once.
import fastify from "fastify";

const server = fastify();
server.post(
  "/echo",
  {
    schema: {
      body: {
        type: "object",
        required: ["title", "body"],
        additionalProperties: false,
        properties: { title: { type: "string" }, body: { type: "string" } },
      },
    },
  },
  async (request) => {
    const { title } = request.body as { title: string };
    return { id: "0190163d-8694-739b-aea5-966c26f8ad91", title_upper: title };
  },
);
await server.listen({ host: "127.0.0.1", port: 0 });
const address = server.server.address();
if (address === null || typeof address === "string") throw new Error("the echo server has no port");
process.send?.({ port: address.port });
process.on("disconnect", () => process.exit(0));
