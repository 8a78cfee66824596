import { type TableChange, tableChangeSchema } from "@appdb/contract/routes/table-changes";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication } from "@appdb/testkit/test-application";
import { expect, test } from "vitest";
import { changeTable } from "./change-table.ts";

const APP = `
import appdb as db
from appdb.serving import Router

Base = db.model_base()


class Notes(Base, name="notes"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    loud = title.upper()


@db.query
def every():
    return Notes.order_by(Notes.id).select(Notes.id, Notes.loud)


@db.query(return_scalar=True)
def one(id: int):
    return Notes.where(Notes.id == id).select(Notes.loud)


notes = Router(name="notes")
notes.add_insert_route(Notes, path="/notes", outputs=[Notes.loud])
notes.add_update_route(Notes, path="/change", inputs=[Notes.title], outputs=[Notes.loud])
notes.add_delete_route(Notes, path="/remove")
notes.add_query_route(path="/every", query=every, method="get")
notes.add_query_route(path="/one", query=one, method="get")
`;

test("a running service reads and writes a table that moved to another folder", async () => {
  await using app = await openTestApplication(APP);
  const move = async (table: string, to: string) => {
    const change = tableChangeSchema.parse({ change: "move_table", table, to }) as TableChange;
    const request = { change, database: "main", functions: [], resource_pools: [], runtime_id: null };
    const deps = { sql: app.sql, clock: { now: Date.now }, log: createSilentLog() };
    await changeTable(deps, { ...request, on_error: "abort", dry_run: false });
  };
  const send = async (path: string, body: object) => (await app.post(path, body)).status;
  expect(await send("/notes", { id: 1, title: "a" })).toBe(200);
  expect((await app.get("/every")).json).toMatchObject({ rows: [{ id: 1 }] });
  expect((await app.get("/one?id=1")).status).toBe(200);
  await move("notes", "a/notes");
  await move("a", "b/c");
  expect(await send("/notes", { id: 2, title: "b" })).toBe(200);
  expect(await send("/change", { id: 1, title: "z" })).toBe(200);
  expect((await app.get("/every")).json).toEqual({
    rows: [
      { id: 1, loud: "Z" },
      { id: 2, loud: "B" },
    ],
  });
  expect((await app.get("/one?id=2")).text).toContain("B");
  expect(await send("/remove", { id: 1 })).toBe(200);
  expect((await app.sql.query({ text: `select id from "b/c".notes` })).rows).toEqual([["2"]]);
});
