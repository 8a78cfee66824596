import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { WRITES_ALWAYS } from "@appdb/postgres/client/refuse-writes";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { expect, test } from "vitest";
import { startMediaService } from "../testing/media-service.ts";
import { openManagedStore } from "./open-managed-store.ts";

const FULL = `create function is_full() returns trigger language plpgsql as $$
  begin raise exception 'could not extend file' using errcode = '53100'; end $$`;

test("objects of inserts that ended with disk_full are collected, also while the disk is full", async () => {
  const database = await createTestDatabase();
  const log = createSilentLog();
  await using service = await startMediaService({ database, runtimeIn: testRuntime, log });
  const stored = async () => (await service.query("select key from appdb.media_objects")).length;
  await service.query(FULL);
  await service.query("create trigger full_disk before insert on photos execute function is_full()");
  const form = () => service.formOf({ picture: "whole.png", second: "other.jpg" });
  expect(await service.send("/photos", form())).toMatchObject({ status: 507, json: { code: "disk_full" } });
  expect(await service.query("select id from photos")).toEqual([]);
  // both given files, and the computed one
  expect([service.objects().length, await stored()]).toEqual([3, 3]);

  // as the database's own pod connects
  const dsn = new URL(database.dsn);
  dsn.searchParams.set("options", WRITES_ALWAYS);
  await using sql = createPgPool({ dsn: dsn.href.replaceAll("+", "%20"), max: 1, application_name: "media test" });
  const place = {
    folder: service.mediaFolder,
    objects: undefined,
    uri: "mediafs://media/home",
    secret: "s",
    database: "d",
  };
  await using store = await openManagedStore({ sql, log, room: async () => undefined, ...place });
  expect(await store.collect()).toBe(0);
  await service.query("update appdb.media_objects set put_at = now() - interval '3 days'");
  const name = (await service.query("select current_database()"))[0]?.[0];
  await service.query(`alter database "${name}" set default_transaction_read_only = on`);
  await expect(service.query("delete from appdb.media_objects")).rejects.toMatchObject({ code: "disk_full" });
  expect(await store.collect()).toBe(3);
  expect([service.objects().length, await stored()]).toEqual([0, 0]);
});
