import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBarriers, findBarriersInBoth, load, widthOnPhone } from "./support/browser.ts";
import { type Dashboard, makeFirstAccount, makeKey, NO_BROWSER, openDashboard, post } from "./support/dashboard.ts";
import { expectExit, writeFile } from "./support/served.ts";

const APP = `
import appdb as db

Base = db.model_base()


@db.udf
def ratio(text: str) -> float:
    return 100 / int(text)


class Docs(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    score: db.Float | None
    meta: db.Json | None
    shout = title.upper() + "!"
    share = ratio(title)


class Good(Base, name="good", base=Docs.where(Docs.score > 0.5)):
    label = Docs.title + "?"
`;

const TABLE = "/orgs/acme/databases/main/tables/docs";

/** One journey; each test continues from the previous one. */
describe.skipIf(NO_BROWSER)("data in the dashboard", () => {
  let dashboard: Dashboard;

  beforeAll(async () => {
    dashboard = await openDashboard({ SERVICE_PODS: "process" });
    await makeFirstAccount(dashboard);
    await post(dashboard, "/v1/orgs", { name: "acme" });
    await makeKey(dashboard, "acme");
    await dashboard.open("/orgs/acme");
    await dashboard.page.getByRole("row", { name: /^main/ }).getByText("AVAILABLE").waitFor();
    await expectExit(dashboard.project, 0, "init");
    writeFile(dashboard.project, "app.py", APP);
    await expectExit(dashboard.project, 0, "db", "update", "cloud://acme:main", "-f");
    await expectExit(dashboard.project, 0, "schema", "update", "app.py", "cloud://acme:main");
    const rows = [1, 2, 3, 4].map((id) => `{"id": ${id}, "title": "${id}", "score": ${id / 4}}`);
    writeFile(dashboard.project, "rows.jsonl", `${rows.join("\n")}\n`);
    await expectExit(dashboard.project, 0, "insert", "cloud://acme:main/docs", "rows.jsonl");
  });
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]();
  });

  const opens = () => dashboard.page.getByRole("button", { name: /^Open row / });
  const shownKeys = async () => (await opens().allTextContents()).map((text) => text.replace("Open row ", ""));

  test("filters rows by a condition, and shows its error at the field", async () => {
    const { page, open, button } = dashboard;
    await open(TABLE);
    const condition = page.getByLabel("Condition");
    // the rows answer before their count
    const rowsAnswer = page.waitForResponse((response) => /\/rows\?.*where=/.test(response.url()));
    await page.route(/\/tables\/docs\/count\?/, async (route) => {
      await rowsAnswer;
      await route.continue();
    });
    await condition.fill("score > ");
    await button("Filter").click();
    await page.getByText(/The condition is not valid at its end/).waitFor();
    expect(await condition.getAttribute("aria-invalid")).toBe("true");
    await condition.fill("skore > 0.5");
    await condition.press("Enter");
    await page.getByText(/Did you mean score/).waitFor();
    await condition.fill("score > 0.5");
    await condition.press("Enter");
    await page.getByText("2 rows of the condition").waitFor();
    expect((await shownKeys()).sort()).toEqual(["3", "4"]);
    expect(new URL(page.url()).searchParams.get("where")).toBe("score > 0.5");
    await page.getByLabel("Condition").fill("score > 5");
    await button("Filter").click();
    await page.getByText("No row matches the condition").waitFor();
    await button("Show all rows").click();
    await page.getByText("Rows 1 to 4").waitFor();
  });

  test("sorts by a column's header, by keyboard, and keeps the order in the address", async () => {
    const { page, open } = dashboard;
    const header = page.getByRole("columnheader", { name: /^title/ });
    await header.getByRole("button", { name: "title" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(shownKeys).toEqual(["1", "2", "3", "4"]);
    expect(await header.getAttribute("aria-sort")).toBe("ascending");
    await page.keyboard.press("Enter");
    await expect.poll(shownKeys).toEqual(["4", "3", "2", "1"]);
    await open(`${TABLE}?order_by=score%3Aasc&where=score%20%3C%201`);
    await expect.poll(shownKeys).toEqual(["1", "2", "3"]);
    expect(await findBarriers(page)).toEqual([]);
  });

  test("changes a cell and shows the computed value of the server", async () => {
    const { page, open } = dashboard;
    await open(TABLE);
    await page.getByRole("button", { name: "Open row 1" }).click();
    const whole = page.getByRole("dialog", { name: "A row of docs" });
    expect(await whole.getByRole("button", { name: "Edit shout" }).count()).toBe(0);
    await whole.getByRole("button", { name: "Edit title" }).click();
    const edit = page.getByRole("dialog", { name: "Edit title of row 1" });
    await edit.getByLabel("title").fill("50");
    expect(await findBarriers(page)).toEqual([]);
    await edit.getByRole("button", { name: "Save" }).click();
    const changed = page.getByRole("dialog", { name: "Changed row of docs" });
    await changed.getByText("50!", { exact: true }).waitFor();
    await changed.getByRole("button", { name: "Edit row" }).click();
    const all = page.getByRole("dialog", { name: "Edit row 1" });
    await all.getByLabel("score", { exact: true }).fill("many");
    await all.getByText("Expected a number: 0.5.").waitFor();
    expect(await all.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await all.getByLabel("score is null").check();
    await all.getByLabel("title", { exact: true }).fill("bad");
    await all.getByRole("button", { name: "Save" }).click();
    await all
      .getByRole("alert")
      .getByText(/ValueError|bad/)
      .first()
      .waitFor();
    await all.getByLabel("title", { exact: true }).fill("25");
    await all.getByRole("button", { name: "Save" }).click();
    await changed.getByText("25!", { exact: true }).waitFor();
    await changed.getByRole("button", { name: "Close" }).click();
    await page.getByRole("cell", { name: "25!" }).waitFor();
  });

  test("deletes selected rows after a question", async () => {
    const { page, button } = dashboard;
    await page.getByLabel("Select row 1").check();
    await page.getByLabel("Select row 2").check();
    await button("Delete 2 selected rows").click();
    const question = page.getByRole("dialog", { name: "Delete 2 rows of docs?" });
    expect(await findBarriers(page)).toEqual([]);
    await question.getByRole("button", { name: "Delete 2 rows" }).click();
    await page.getByText("2 rows deleted.").waitFor();
    await expect.poll(async () => (await shownKeys()).sort()).toEqual(["3", "4"]);
  });

  test("offers no changes of a view", async () => {
    const { page, open } = dashboard;
    await open("/orgs/acme/databases/main/tables/good");
    await page.getByText("Rows 1 to 2").waitFor();
    expect(await page.getByRole("checkbox").count()).toBe(0);
    await page.getByRole("button", { name: "Open row 4" }).click();
    await page.getByRole("dialog", { name: "A row of good" }).waitFor();
    expect(await page.getByRole("button", { name: /^(Edit|Delete)/ }).count()).toBe(0);
    await page.keyboard.press("Escape");
  });

  test("saves the rows of the condition as CSV and JSON lines", async () => {
    const { page, open, button } = dashboard;
    await open(`${TABLE}?where=id%20%3D%204`);
    await button("Export").click();
    const dialog = page.getByRole("dialog", { name: "Export rows of docs" });
    const save = async () => {
      const [stored] = await Promise.all([
        page.waitForEvent("download"),
        dialog.getByRole("button", { name: "Export" }).click(),
      ]);
      return { name: stored.suggestedFilename(), text: readFileSync(await stored.path(), "utf8") };
    };
    expect(await findBarriers(page)).toEqual([]);
    expect(await save()).toEqual({
      name: "docs.csv",
      text: expect.stringMatching(/^id,title,score,meta,shout,share\r\n4,4,1(\.0)?,,4!,25(\.0)?\r\n$/),
    });
    await dialog.getByText("1 row saved as docs.csv").waitFor();
    await dialog.getByLabel("Format").selectOption("jsonl");
    const lines = await save();
    expect(lines.name).toBe("docs.jsonl");
    expect(JSON.parse(lines.text)).toEqual({ id: 4, title: "4", score: 1, meta: null, shout: "4!", share: 25 });
    await page.keyboard.press("Escape");
  });

  test("imports CSV with a preview, mapped columns and errors by line", async () => {
    const { page, open } = dashboard;
    await open(TABLE);
    await page.getByRole("link", { name: "Import a file" }).click();
    await page.getByText("CSV with a header").waitFor();
    const choose = (name: string, text: string) =>
      page.getByLabel("File").setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
    await choose("rows.csv", "id,title\n1\n");
    await page.getByText("rows.csv, line 2: 1 cells, and the header has 2 columns.").waitFor();
    await choose("rows.csv", "ID,name,score\n9007199254740993,bad,many\n5,20,\n");
    await page.getByText('Line 2: score is "many". Expected a number: 0.5.').waitFor();
    expect(await page.getByRole("button", { name: "Import 2 rows" }).isDisabled()).toBe(true);
    await page.getByLabel("score").selectOption("leave out");
    await page.getByRole("row", { name: "2 9007199254740993" }).waitFor();
    await page.getByLabel("name", { exact: true }).selectOption("title");
    await page.getByRole("row", { name: '2 9007199254740993 "bad"' }).waitFor();
    expect(await findBarriersInBoth(page)).toEqual([]);
    expect(await widthOnPhone(page)).toBe(390);
    await page.getByRole("button", { name: "Import 2 rows" }).click();
    await page.getByRole("alert").getByText(/bad/).first().waitFor();
    await page.getByLabel("Store rows whose computed cells fail").check();
    await page.getByRole("button", { name: "Import 2 rows" }).click();
    await page.getByText("2 rows inserted, 1 cell failed.").waitFor();
    await choose("rows.jsonl", '{"id": 6, "title": "6"}\n\n{"id": 4, "title": "4"}\n');
    await page.getByRole("button", { name: "Import 2 rows" }).click();
    await page
      .getByRole("alert")
      .getByText(/line 3/i)
      .first()
      .waitFor();
  });

  test("lists failed cells with their errors, and retries only these", async () => {
    const { page, open } = dashboard;
    await open("/orgs/acme/databases/main");
    await page.getByRole("link", { name: "Failed cells" }).click();
    const cell = page
      .getByRole("region", { name: "Failed cells of docs" })
      .getByRole("row", { name: /^9007199254740993/ });
    await cell.getByText(/^ValueError: .*bad/).waitFor();
    await page.getByRole("button", { name: "Retry share of docs" }).click();
    await page.getByText("1 row computed again, 1 failed cell.").waitFor();
    await page.getByRole("link", { name: "share" }).click();
    await page.getByText("1 row of the condition").waitFor();
    await page.getByRole("button", { name: "Open row 9007199254740993" }).click();
    await page.getByRole("button", { name: "Edit title" }).click();
    await page.getByRole("dialog").getByLabel("title").fill("10");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("10!", { exact: true }).first().waitFor();
    await open("/orgs/acme/databases/main/errors");
    await page.getByText("No failed cell", { exact: true }).waitFor();
  });

  test("draws the lineage of tables and columns, and lists it", async () => {
    const { page, open } = dashboard;
    await open("/orgs/acme/databases/main/lineage");
    await page.getByRole("row", { name: /^docs\.shout docs\.title/ }).waitFor();
    await page.getByRole("row", { name: /^good\.label good\.title|^good\.label docs\.title/ }).waitFor();
    const picture = page.getByRole("region", { name: "Picture of the lineage" });
    expect(await picture.locator("path").count()).toBe((await page.getByRole("row").count()) - 1);
    await picture.getByRole("link", { name: "View good" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Rows 1 to").waitFor();
  });

  test("runs SQL that reads, and shows why other SQL is refused", async () => {
    const { page, open, button } = dashboard;
    await open("/orgs/acme/databases/main/query");
    const sql = page.getByLabel("SQL");
    await sql.fill("select id, title as id from docs where id > 8 union all select 1, null");
    await button("Run").click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByRole("row", { name: "9007199254740993 10" }).waitFor();
    await result.getByRole("row", { name: "1 null" }).waitFor();
    await page.getByText(/^2 rows in \d+ ms$/).waitFor();
    expect(await findBarriersInBoth(page)).toEqual([]);
    expect(await widthOnPhone(page)).toBe(390);
    await sql.fill("select * from generate_series(1, 2000)");
    await sql.press("Control+Enter");
    await page.getByText(/^1,000 rows in \d+ ms\. There are more/).waitFor();
    await sql.fill("select * from docs where false");
    await sql.press("Control+Enter");
    await page.getByText("The result has no rows").waitFor();
    await button("Show plan").click();
    await page.getByText(/^Planned in \d+ ms\. The statement did not run\.$/).waitFor();
    await page.getByRole("region", { name: "Plan" }).getByText(/cost=/).waitFor();
    expect(await findBarriersInBoth(page)).toEqual([]);
    await sql.fill("delete from docs");
    await button("Run").click();
    await page
      .getByRole("alert")
      .getByText(/The statement begins with DELETE/)
      .waitFor();
    await sql.fill("select *\nfrom nowhere");
    await button("Run").click();
    await page
      .getByRole("alert")
      .getByText(/line 2, column 6/)
      .waitFor();
    expect(await result.count()).toBe(0);
  });

  test("axe finds no problem on data pages in light and dark", async () => {
    const { page, server } = dashboard;
    const found: Record<string, string[]> = {};
    for (const path of PAGES) {
      await load(page, server.url + path);
      found[path] = await findBarriersInBoth(page);
      expect(await widthOnPhone(page), path).toBe(390);
    }
    expect(found).toEqual(Object.fromEntries(PAGES.map((path) => [path, []])));
  });

  test("no page reported an error", () => {
    expect(dashboard.ann.complaints).toEqual([]);
  });
});

const PAGES = [
  TABLE,
  `${TABLE}?where=score%20%3E`,
  `${TABLE}/import`,
  "/orgs/acme/databases/main/query",
  "/orgs/acme/databases/main/errors",
  "/orgs/acme/databases/main/lineage",
];
