// The limit of a control plane read: a bare Fastify route that runs the same query with a pool of the same size,
// without authorization. Started with an IPC channel and the database's address; sends its port once.
import fastify from "fastify";
import pg from "pg";

const [dsn = "", connections = "1", organization = ""] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: dsn, max: Number(connections) });
const server = fastify();
server.get("/keys", async () => {
  const { rows } = await pool.query({
    name: "keys",
    text: `select k.id, k.name, k.grants, k.created_at, k.last_used_at, k.expires_at from control.api_keys k
      join control.organizations o on o.id = k.org_id where o.name = $1 order by k.name limit 51`,
    values: [organization],
  });
  return { items: rows, next: null };
});
await server.listen({ host: "127.0.0.1", port: 0 });
const address = server.server.address();
if (address === null || typeof address === "string") throw new Error("the limit has no port");
process.send?.({ port: address.port });
process.on("disconnect", () => process.exit(0));
