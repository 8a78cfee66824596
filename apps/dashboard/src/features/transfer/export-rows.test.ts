import type { Database } from "@appdb/contract/routes/control-databases";
import { dataColumn, dataTable } from "@appdb/contract/testing/tables";
import { expect, test } from "vitest";
import type { Api } from "../../api/api.tsx";
import { exportRows, MAX_EXPORTED } from "./export-rows.ts";

const database = { organization: "acme", name: "main", uri: "cloud://acme:main" } as Database;
const column = dataColumn("id", "Int", { is_key: true });
const table = dataTable("docs", { columns: [column] });

/** A server with these pages, and the queries that it gets. */
function serverOf(pages: readonly string[]) {
  const queries: unknown[] = [];
  const text = async (_name: string, { query }: { readonly query: unknown }) => pages[queries.push(query) - 1] ?? "{}";
  return { queries, api: { control: { text } } as unknown as Api };
}

const { signal } = new AbortController();

test("an export reads all pages of the condition in its order", async () => {
  const pages = ['{"rows":[{"id":9007199254740993}],"next":"c1"}', '{"rows":[{"id":2}],"next":null}'];
  const { api, queries } = serverOf(pages);
  const read: number[] = [];
  const filter = { where: "id > 1", order_by: "id:desc" };
  const onRead = (rows: number) => read.push(rows);
  const texts = await exportRows(api, { database, table, filter, format: "csv", signal, onRead });
  expect(texts.join("")).toBe("id\r\n9007199254740993\r\n2\r\n");
  expect(read).toEqual([1, 2]);
  expect(queries).toEqual([
    { limit: 1_000, cursor: undefined, where: "id > 1", order_by: "id:desc" },
    { limit: 1_000, cursor: "c1", where: "id > 1", order_by: "id:desc" },
  ]);
});

test("an export of too many rows is refused with a next step", async () => {
  const rows = Array.from({ length: 1_000 }, () => '{"id":1}').join(",");
  const pages = Array.from({ length: MAX_EXPORTED / 1_000 + 1 }, () => `{"rows":[${rows}],"next":"c"}`);
  const { api } = serverOf(pages);
  const onRead = () => undefined;
  const exported = exportRows(api, { database, table, filter: {}, format: "jsonl", signal, onRead });
  await expect(exported).rejects.toMatchObject({
    code: "result_too_large",
    hint: expect.stringContaining("cli export cloud://acme:main/docs -o rows.csv"),
  });
});
