import { openTestApplication } from "@appdb/testkit/test-application";
import { expect, test } from "vitest";
import { readDefinition } from "./table-changes.ts";

const APP = `
import appdb as db
from appdb.functions import upper
from appdb.serving import Router

Base = db.model_base()


class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    loud = upper(title)


r = Router(name="q")
r.add_insert_route(Doc, path="/docs")
`;

test("a definition leaves out a column that is being filled, as queries do", async () => {
  await using app = await openTestApplication(APP);
  const names = async () =>
    (await readDefinition({ sql: app.sql, uri: "main" }, "docs")).definition.columns.map(({ name }) => name);
  expect(await names()).toEqual(["id", "title", "loud"]);
  await app.sql.query({ text: "update appdb.columns set state = 'filling' where name = 'loud'" });
  expect(await names()).toEqual(["id", "title"]);
});
