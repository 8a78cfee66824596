import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { createPgPool } from "./pg-pool.ts";
import { connectionOf, type PostgresAddress, parseServerAddress } from "./server-address.ts";

function accepted(text: string, allowPrivate = false): PostgresAddress {
  const found = parseServerAddress(text, allowPrivate);
  if ("problem" in found) throw new Error(found.problem);
  return found;
}

test("converts an address to fields and passes no text to the driver", () => {
  const address = accepted("postgresql://me:p%40ss@db.example.com:6432/ware%20house?sslmode=require");
  const { stream, ...fields } = connectionOf(address);
  expect(stream).toBeTypeOf("function");
  expect(fields).toEqual({
    host: "db.example.com",
    port: 6432,
    user: "me",
    password: "p@ss",
    database: "ware house",
    ssl: {},
    enableChannelBinding: false,
  });
});

test.each([
  ["postgresql:///main?host=/tmp/appdb-0-0123456789ab&user=postgres", "names no TCP host"],
  ["postgresql://%2Ftmp%2Fappdb-0-0123456789ab/main", "names no TCP host"],
  ["postgresql:/tmp/main", "names no TCP host"],
  ["postgresql://a.example.com,b.example.com/main", "names no TCP host"],
  ["postgresql://a.example.com:5432,b.example.com:5432/main", "is not a PostgreSQL URL"],
  ["postgresql://localhost/main", "names this machine or a private network"],
  ["postgresql://LOCALHOST./main", "names this machine or a private network"],
  ["postgresql://db.localhost/main", "names this machine or a private network"],
  ["postgresql://127.0.0.1/main", "names this machine or a private network"],
  ["postgresql://10.0.0.7/main", "names this machine or a private network"],
  ["postgresql://169.254.169.254/main", "names this machine or a private network"],
  ["postgresql://[::1]/main", "names this machine or a private network"],
  ["postgresql://[::ffff:127.0.0.1]/main", "names this machine or a private network"],
  ["postgresql://db.example.com/main?host=/tmp", "has the unsupported parameter host"],
  ["postgresql://db.example.com/main?HOST=/tmp", "has the unsupported parameter HOST"],
  [
    "postgresql://db.example.com/main?options=-c%20default_transaction_read_only%3Doff",
    "has the unsupported parameter options",
  ],
  ["postgresql://db.example.com/main?sslkey=/etc/shadow", "has the unsupported parameter sslkey"],
  ["postgresql://db.example.com/main?sslrootcert=/etc/shadow", "has the unsupported parameter sslrootcert"],
  ["postgresql://db.example.com/main?service=x", "has the unsupported parameter service"],
  ["postgresql://db.example.com/main?sslmode=require&sslmode=disable", "has the parameter sslmode more than once"],
  ["postgresql://db.example.com/main?sslmode=constructor", "has an unknown value of sslmode"],
  ["postgresql://u:%E0%A4%A@db.example.com/main", "is not percent-encoded correctly"],
  ["socket:/tmp?db=main", "is not a PostgreSQL URL"],
  ["/tmp main", "is not a PostgreSQL URL"],
])("refuses %s", (text, problem) => {
  expect(parseServerAddress(text, false)).toEqual({ problem });
});

test("private addresses still allow only one TCP host and known parameters", () => {
  expect(accepted("postgresql://u:p@10.0.0.7/main", true)).toMatchObject({ host: "10.0.0.7", is_public: false });
  expect(connectionOf(accepted("postgresql://localhost/main", true))).not.toHaveProperty("stream");
  for (const text of ["postgresql:///main?host=/tmp", "postgresql://%2Ftmp/main", "postgresql://h/main?options=-c"]) {
    expect(parseServerAddress(text, true)).toHaveProperty("problem");
  }
});

test.each(["127.1", "2130706433", "0x7f.1", "localhost"])("resolves %s and then refuses to connect", async (host) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  // simulates a name that was public when checked and is this machine now
  const dsn: PostgresAddress = { ...accepted("postgresql://u:p@db.example.com/main"), host, port };
  await using pool = createPgPool({ dsn, max: 1, application_name: "test" });
  await expect(pool.query({ text: "select 1" })).rejects.toMatchObject({ code: "database_unavailable" });
  await using open = createPgPool({ dsn: { ...dsn, is_public: false }, max: 1, application_name: "test" });
  await expect(open.query({ text: "select 1" })).rejects.toMatchObject({ code: "database_unavailable" });
  server.close();
  expect(connections).toBe(1);
});
