import { Secret } from "@appdb/system/secret";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople, type TestPeople } from "../testing/people.ts";
import { createEnvelope } from "./envelope.ts";
import { type MasterKeySettings, openMasterKey } from "./master-key.ts";
import { openSecrets } from "./secret-store.ts";

const master = (fill: number) => new Secret(Buffer.alloc(32, fill).toString("base64"));
/** The key of the test's servers. */
const FIRST = master(7);

let server: TestServer;
let setup: TestPeople;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  setup = await makePeople(server);
  await open({ current: FIRST, previous: master(8) });
  await server.deps.db.transaction().execute(async (tx) => {
    const envelope = createEnvelope(await open({ current: FIRST }));
    const owner = { org_id: setup.org.id, database_id: null };
    const sealed = await envelope.seal(tx, owner, "A", "the value");
    await tx
      .insertInto("control.secrets")
      .values({ ...owner, name: "A", ...sealed, set_by: null })
      .execute();
  });
});

const open = (settings: Partial<MasterKeySettings>) =>
  openMasterKey(server.deps, {
    current: undefined,
    previous: undefined,
    place: "/home/server/master-key",
    make: () => {
      throw new Error("A missing key must not be created.");
    },
    ...settings,
  });
const stored = async () =>
  (await server.deps.pool.query("select * from control.data_keys order by id")).rows.concat(
    (await server.deps.pool.query("select * from control.signing_key")).rows,
  );
const value = async (settings: Partial<MasterKeySettings>) => {
  const envelope = createEnvelope(await open(settings));
  const values = await openSecrets(server.deps.db, envelope, { org_id: setup.org.id, database_id: null });
  return values.get("A")?.reveal();
};

describe("the master key", () => {
  test("that is wrong or lost stops the start without a change", async () => {
    const before = await stored();
    for (const settings of [
      { current: master(8) },
      {},
      { previous: FIRST },
      { current: master(8), previous: master(9) },
    ]) {
      const failed = open(settings);
      await expect(failed).rejects.toMatchObject({ code: "master_key_wrong" });
      await expect(failed).rejects.toThrow("Nothing was changed.");
    }
    expect(await stored()).toEqual(before);
    expect(await value({ current: FIRST })).toBe("the value");
  });

  test("is replaced with the help of the previous one; the values stay", async () => {
    const sealed = async () => (await server.deps.pool.query("select sealed from control.secrets")).rows;
    const before = await sealed();
    expect(await value({ current: master(8), previous: FIRST })).toBe("the value");
    expect(await sealed()).toEqual(before);
    expect(await value({ current: master(8) })).toBe("the value");
    await expect(open({ current: FIRST })).rejects.toMatchObject({ code: "master_key_wrong" });
  });

  test("is replaced once by two concurrent servers", async () => {
    const both = { current: master(8), previous: FIRST };
    const opened = await Promise.all([open(both), open(both)]);
    expect(opened[0]?.id).toBe(opened[1]?.id);
    expect(new Set((await stored()).map((row) => row.master_key_id))).toEqual(new Set([opened[0]?.id]));
    expect(await value({ current: master(8) })).toBe("the value");
  });

  test("whose replacement fails midway leaves every key unchanged", async () => {
    const { pool } = server.deps;
    const before = await stored();
    // the last row to be rewrapped cannot be unwrapped
    await pool.query("update control.signing_key set wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1)");
    await expect(open({ current: master(8), previous: FIRST })).rejects.toMatchObject({ code: "master_key_wrong" });
    await expect(open({ current: FIRST })).rejects.toMatchObject({ code: "master_key_wrong" });
    await pool.query("update control.signing_key set wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1)");
    expect(await stored()).toEqual(before);
  });

  test("is created for an empty database, and never stored in it", async () => {
    await using fresh = await openServer();
    const { pool } = fresh.deps;
    await pool.query("delete from control.signing_key");
    const made = master(3);
    const opened = await openMasterKey(fresh.deps, {
      current: undefined,
      previous: undefined,
      place: "",
      make: () => made,
    });
    const { rows } = await pool.query("select * from control.signing_key");
    expect(rows).toMatchObject([{ master_key_id: opened.id }]);
    const key = Buffer.alloc(32, 3);
    expect(JSON.stringify(rows.map((row) => row.wrapped.toString("hex")))).not.toContain(key.toString("hex"));
    expect(opened.id).not.toContain(key.toString("hex").slice(0, 4));
  });
});
