// The limit of HTTP: a bare Fastify that parses and validates the same body and answers without a database. Started by
// load.ts's caller with an IPC channel; sends its port once.
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
// The same answer as the benchmark's list of 100 rows, built for each request from rows in memory. The numbers are from
// the middle of the range, so that the average size is equal.
const rows = Array.from({ length: 100 }, (_none, row) => row + 4000).map((at) => ({
  title: `Title number ${at}`,
  n: at,
  price: at * 1.25,
  made_at: `2024-01-01T00:00:00.${String(at).padStart(6, "0")}Z`,
  note: at % 3 === 0 ? null : "A short text of a few words",
}));
server.post("/list", async (request) => {
  const { first } = request.body as { first: number };
  return { rows: first < 0 ? [] : rows };
});
await server.listen({ host: "127.0.0.1", port: 0 });
const address = server.server.address();
if (address === null || typeof address === "string") throw new Error("the echo server has no port");
process.send?.({ port: address.port });
process.on("disconnect", () => process.exit(0));
