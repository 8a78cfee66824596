import { connect, createServer, type Socket } from "node:net";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { openServer } from "../testing/open-server.ts";
import { openLease } from "./lease.ts";

test("reconnects one connection at a time while PostgreSQL is away, and gets the lease again", async () => {
  await using server = await openServer();
  const { pool, db } = server.deps;
  const { rows } = await pool.query<{ port: number; folder: string }>(
    "select current_setting('port')::int as port, split_part(current_setting('unix_socket_directories'), ',', 1) as folder",
  );
  const { port = 0, folder = "" } = rows[0] ?? {};
  const sockets: Socket[] = [];
  let isAway = false;
  let refused = 0;
  const door = createServer((socket) => {
    socket.on("error", () => undefined);
    if (isAway) {
      refused += 1;
      isAway = refused < 3;
      socket.destroy();
      return;
    }
    const behind = connect(`${folder}/.s.PGSQL.${port}`);
    behind.on("error", () => undefined);
    behind.on("close", () => socket.destroy());
    socket.on("close", () => behind.destroy());
    socket.pipe(behind).pipe(socket);
    sockets.push(socket);
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  const address = door.address();
  if (address === null || typeof address === "string") throw new Error("The socket has no port.");
  const { user, database, password } = await pool.connect().then((client) => {
    client.release();
    return client;
  });
  const options = { host: "127.0.0.1", port: address.port, user, database, password: password ?? undefined };
  const locks = async () =>
    (
      await sql`select from pg_locks where locktype = 'advisory' and classid = 734190 and granted
      and database = (select oid from pg_database where datname = current_database())`.execute(db)
    ).rows.length;
  {
    await using _lease = await openLease(options, createSilentLog());
    expect(await locks()).toBe(1);
    isAway = true;
    sockets[0]?.destroy();
    await expect.poll(() => sockets.length).toBeGreaterThan(1);
    await expect.poll(locks).toBe(1);
    expect({ refused, let_in: sockets.length }).toEqual({ refused: 3, let_in: 2 });
  }
  await expect.poll(locks).toBe(0);
  await new Promise((resolve) => door.close(resolve));
});
