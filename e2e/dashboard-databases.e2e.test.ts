import { readFileSync } from "node:fs";
import type { Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBarriers, findBarriersInBoth, load, openWindow, takePicture, widthOnPhone } from "./support/browser.ts";
import { type Dashboard, makeFirstAccount, makeKey, NO_BROWSER, openDashboard, signIn } from "./support/dashboard.ts";
import { durationOf, HTML, PNG, WAV, widthOf } from "./support/page-files.ts";
import { expectExit, writeFile } from "./support/served.ts";

const APP = `
import appdb as db
from appdb.serving import Router

Base = db.model_base()


class Docs(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    meta: db.Json | None
    shout = title.upper() + "!"


class Photos(Base, name="photos", media_validation="on_read"):
    id = db.Column(type=db.Int, primary_key=True)
    picture: db.Image
    sound: db.Audio | None
    paper: db.Document | None


@db.query
def picture_of(id: int):
    return Photos.where(Photos.id == id).select(Photos.picture)


ingest = Router()
ingest.add_insert_route(Docs, path="/docs", inputs=[Docs.id, Docs.title, Docs.meta], outputs=[Docs.id, Docs.shout])
ingest.add_insert_route(Photos, path="/photos", uploadfile_inputs=[Photos.picture, Photos.sound, Photos.paper])
ingest.add_query_route(path="/photos/{id}", query=picture_of, method="get", return_fileresponse=True)
`;

/** One journey; each test continues from the previous one. */
describe.skipIf(NO_BROWSER)("databases in the dashboard", () => {
  let dashboard: Dashboard;

  beforeAll(async () => {
    dashboard = await openDashboard({ SERVICE_PODS: "process" });
    await makeFirstAccount(dashboard);
  });
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]();
  });

  /** Runs a command in the project, next to the browser. */
  const type = (...words: string[]) => expectExit(dashboard.project, 0, ...words);
  const state = (name: string) => dashboard.page.getByRole("main").getByText(name, { exact: true }).first();

  test("a new organization's main becomes AVAILABLE and shows the next command", async () => {
    const { page, open, heading, button } = dashboard;
    await open("/");
    await button("Create organization").first().click();
    const dialog = page.getByRole("dialog", { name: "Create organization" });
    await dialog.getByLabel("Name").fill("acme");
    await dialog.getByRole("button", { name: "Create organization" }).click();
    await heading("acme").waitFor();
    await page.getByRole("row", { name: /^main/ }).getByText("AVAILABLE").waitFor();
    for (const command of ["cli db update cloud://acme:main", "cli schema update app.py cloud://acme:main"]) {
      await page.getByText(command, { exact: true }).waitFor();
    }
    await button("Create database").click();
    const create = page.getByRole("dialog", { name: "Create a database" });
    await create.getByLabel("Name").fill("staging");
    await create.getByText("cli db update cloud://acme:staging", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
  });

  test("shows changes of a command's update and its operation's output", async () => {
    const { page, project, open } = dashboard;
    await makeKey(dashboard, "acme");
    await type("init");
    writeFile(project, "app.py", APP);
    await open("/orgs/acme/databases/main");
    await page.getByText("No project files have been uploaded.").waitFor();
    await type("db", "update", "cloud://acme:main", "-f");
    await page.getByText(/^\d+ files?, [\d.]+ (B|KiB)$/).waitFor();
    await takePicture(page, "database");
    await page.getByRole("link", { name: "Operations" }).click();
    await page.getByRole("link", { name: "database.update" }).click();
    await page.getByRole("heading", { level: 1, name: /^database\.update/ }).waitFor();
    await page.getByText("succeeded", { exact: true }).waitFor();
  });

  test("shows tables of the command and inserts a row with all digits", async () => {
    const { page, open, button } = dashboard;
    await open("/orgs/acme/databases/main/tables");
    await page.getByText("No table yet").waitFor();
    await type("schema", "update", "app.py", "cloud://acme:main");
    await open("/orgs/acme/databases/main/tables");
    await page.getByRole("link", { name: "docs", exact: true }).click();
    await page.getByText("No rows").waitFor();
    await page
      .getByRole("row", { name: /^shout/ })
      .getByText("computed")
      .waitFor();

    await button("Insert a row").click();
    const insert = page.getByRole("dialog", { name: "Insert a row into docs" });
    await insert.getByLabel("Row, as JSON").fill('{"id": ');
    await insert.getByText("This is not valid JSON yet.").waitFor();
    await insert.getByLabel("Row, as JSON").fill('{"id": 9007199254740993}');
    await insert.getByRole("button", { name: "Insert", exact: true }).click();
    await insert.getByRole("alert").getByText("/title").waitFor();
    const row = '{"id": 9007199254740993, "title": "one", "meta": {"deep": [1.50, 12345678901234567890]}}';
    await insert.getByLabel("Row, as JSON").fill(row);
    await insert.getByText("$SERVICE_API_KEY").waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await insert.getByRole("button", { name: "Insert", exact: true }).click();
    const inserted = page.getByRole("dialog", { name: "Inserted into docs" });
    await inserted.getByText("ONE!", { exact: true }).waitFor();
    await inserted.getByRole("button", { name: "Close" }).click();

    // rows of another client appear on the next read
    const rows = `${dashboard.server.url}/v1/orgs/acme/databases/main/tables/docs/rows`;
    for (const title of ["two", "three"]) {
      const data = { id: title.length, title, meta: { tags: ["a", title], score: 0.5 } };
      const answer = await dashboard.ann.context.request.post(rows, {
        headers: { origin: dashboard.server.url },
        data,
      });
      expect(answer.status(), await answer.text()).toBe(200);
    }
    await button("Reload").click();
    await page.getByText("Rows 1 to 3").waitFor();
    const opens = page.getByRole("button", { name: "Open row 9007199254740993" });
    await opens.focus();
    await page.keyboard.press("Enter");
    const whole = page.getByRole("dialog", { name: "A row of docs" });
    await whole.getByText("12345678901234567890", { exact: false }).waitFor();
    await page.keyboard.press("Escape");
    await whole.waitFor({ state: "detached" });
    expect(await page.evaluate<string>("document.activeElement?.textContent ?? ''")).toBe("Open row 9007199254740993");
  });

  test("calls a route by a form with a new key and reports invalid fields", async () => {
    const { page, open, button } = dashboard;
    await type("service", "update", "app.py", "cloud://acme:main", "-f");
    await open("/orgs/acme");
    await page.getByRole("link", { name: "Call ingest" }).click();
    await button("Create a key for one hour").click();
    await page.getByText("may call only this service").waitFor();
    await page.getByLabel("id", { exact: true }).fill("many");
    await page.getByLabel("meta", { exact: true }).fill("{");
    await button("Call").click();
    await page.getByText("This is not valid JSON yet.").waitFor();
    await page.getByLabel("meta", { exact: true }).fill('{"n": 1.50}');
    await button("Call").click();
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByText("Status 422").waitFor();
    await page.getByText(/many/).first().waitFor();
    expect(await page.getByLabel("id", { exact: true }).getAttribute("aria-invalid")).toBe("true");
    expect(await findBarriers(page)).toEqual([]);
    await page.getByLabel("id", { exact: true }).fill("9007199254740995");
    await page.getByLabel("title", { exact: true }).fill("called");
    await button("Call").click();
    await answer.getByText("Status 200").waitFor();
    await answer.getByText('"id": 9007199254740995').waitFor();
    await answer.getByText('"shout": "CALLED!"').waitFor();
    await page.getByText("$SERVICE_API_KEY").waitFor();
    await takePicture(page, "call");
    expect(await page.content()).not.toMatch(/sk_[a-z0-9]{12}_/);
    expect(await page.evaluate<string>("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")).not.toContain(
      "sk_",
    );
  });

  test("links the answer to the request's log and counts requests", async () => {
    const { page } = dashboard;
    const id = (await page.getByRole("region", { name: "Answer" }).getByRole("link").textContent()) ?? "";
    await page.getByRole("link", { name: id }).click();
    const log = page.getByRole("region", { name: "Log of the service" });
    await log.getByText(id).first().waitFor();
    expect(await page.getByLabel("With the text").inputValue()).toBe(id);
    await expect
      .poll(() => page.evaluate<number>("document.getElementById('log').getBoundingClientRect().top"))
      .toBeLessThan(700);
    const counted = page.getByRole("region", { name: "Requests by route" }).getByRole("row", { name: /^POST \/docs/ });
    await expect.poll(() => counted.textContent()).toMatch(/^POST \/docs21 \(50 %\)0[\d.]+ ms/);
    await page
      .getByRole("img", { name: /^Requests per minute: 2 requests in 60 minutes, 1 refused, 0 failed/ })
      .waitFor();
    await page.evaluate("scrollTo(0, 0)");
    await takePicture(page, "service");
    expect(await widthOnPhone(page)).toBe(390);
  });

  test("sends files by a form, shows files of the answer and of rows, and says why one is not shown", async () => {
    const { page, open, button, server, ann } = dashboard;
    await open("/orgs/acme/databases/main/services/ingest/call?route=POST%20%2Fphotos");
    await button("Create a key for one hour").click();
    await page.getByText("may call only this service").waitFor();
    await page.getByLabel("id", { exact: true }).fill("1");
    await button("Call").click();
    await page.getByText("Choose a file.").waitFor();
    await page.getByLabel("picture", { exact: true }).setInputFiles(PNG);
    await page.getByLabel("sound", { exact: true }).setInputFiles(WAV);
    await page.getByLabel("paper", { exact: true }).setInputFiles(HTML);
    await page.getByText(`-F 'picture=@"dot.png"'`).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await button("Call").click();
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByText("Status 200").waitFor();
    const files = answer.getByRole("region", { name: "Files of the answer" });
    await expect.poll(() => widthOf(files.getByRole("img", { name: "dot.png" }))).toBe(2);
    await files.getByRole("link", { name: "page.html" }).waitFor();
    expect(await widthOnPhone(page)).toBe(390);
    expect(await findBarriersInBoth(page)).toEqual([]);

    await page.getByLabel("Route").selectOption("GET /photos/{id}");
    await page.getByLabel("id", { exact: true }).fill("1");
    await button("Call").click();
    await expect.poll(() => widthOf(answer.getByRole("img", { name: "dot.png" }))).toBe(2);

    const rows = `${server.url}/v1/orgs/acme/databases/main/tables/photos/rows`;
    const data = { id: 2, picture: "http://127.0.0.1:1/lost.png" };
    await ann.context.request.post(rows, { headers: { origin: server.url }, data });
    await open("/orgs/acme/databases/main/tables/photos");
    const table = page.getByRole("region", { name: "Rows of photos" });
    await expect.poll(() => widthOf(table.getByRole("img", { name: /^dot\.png, image\/png/ }))).toBe(2);
    await table.getByText(/lost\.png: .*127\.0\.0\.1/).waitFor();
    // the line is down for a moment, and the button tries again
    let isDown = true;
    const isSound = (route: Route) => route.request().resourceType() === "media";
    await page.route("**/*", (route) => (isSound(route) && isDown ? route.abort() : route.continue()));
    expect(await durationOf(table, "still.wav")).toMatch(/Error/);
    isDown = false;
    await table.getByText(/still\.wav: The server sends it\./).waitFor();
    await expect.poll(() => durationOf(table, "still.wav")).toBe(0.01);
    await page.unroute("**/*");
    const [stored] = await Promise.all([
      page.waitForEvent("download"),
      table.getByRole("link", { name: "page.html" }).click(),
    ]);
    expect(stored.suggestedFilename()).toBe("page.html");
    expect(await widthOnPhone(page)).toBe(390);
    expect(await findBarriersInBoth(page)).toEqual([]);
    await table.getByRole("button", { name: "Open row 1" }).click();
    const whole = page.getByRole("dialog", { name: "A row of photos" });
    await expect.poll(() => widthOf(whole.getByRole("img", { name: /^dot\.png/ }))).toBe(2);
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press("Escape");
  });

  test("the docs page of a service sends files by a form and shows the file of a response", async () => {
    const { browser, server, ann, project } = dashboard;
    const shown = await ann.context.request.get(`${server.url}/v1/orgs/acme/databases/main/services/ingest`);
    const { endpoint } = (await shown.json()) as { endpoint: string };
    await using window = await openWindow(browser);
    const { page, complaints } = window;
    await page.goto(`${endpoint}/docs`);
    await page.getByLabel("API key").fill(project.env.SERVICE_API_KEY ?? "");
    await page.getByRole("button", { name: "Show the routes" }).click();
    const insert = page.locator(".opblock-post", { hasText: "/photos" });
    await insert.locator(".opblock-summary-control").click();
    await insert.locator("[data-property-name=id] input").fill("3");
    for (const [name, file] of Object.entries({ picture: PNG, paper: HTML })) {
      await insert.locator(`[data-property-name=${name}] input[type=file]`).setInputFiles(file);
    }
    await insert.getByRole("button", { name: "Execute" }).click();
    const answer = insert.locator(".live-responses-table .microlight").first();
    await expect.poll(() => answer.textContent()).toMatch(/"sound": null,\s+"paper": "http.*page\.html"/);
    const read = page.locator(".opblock-get", { hasText: "/photos/{id}" });
    await read.locator(".opblock-summary-control").click();
    await read.getByPlaceholder("id").fill("3");
    await read.getByRole("button", { name: "Execute" }).click();
    await expect.poll(() => widthOf(read.locator(".live-responses-table img"))).toBe(2);
    expect(complaints).toEqual([]);
  });

  test("rolls a service back to a previous release", async () => {
    const { page, project, open, button } = dashboard;
    writeFile(project, "app.py", `${APP}ingest.add_delete_route(Docs, path="/docs/delete", match_columns=[Docs.id])\n`);
    await type("db", "update", "cloud://acme:main", "-f");
    await type("service", "update", "app.py", "cloud://acme:main", "-f");
    await open("/orgs/acme/databases/main/services/ingest");
    await page.getByRole("link", { name: "Call POST /docs/delete" }).waitFor();
    await button("Roll back to release 1").click();
    const dialog = page.getByRole("dialog", { name: "Roll ingest back to release 1?" });
    await dialog.getByText("cli service rollback cloud://acme:main/ingest --to 1", { exact: true }).waitFor();
    await dialog.getByText("- route 'POST /docs/delete' will be removed  [DESTRUCTIVE]").waitFor();
    // although the button is at the end of its row
    expect(await page.evaluate<string>("getComputedStyle(document.querySelector('dialog[open]')).textAlign")).toBe(
      "left",
    );
    await dialog.getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("row", { name: /^1 ?runs/ }).waitFor();
    await page.getByRole("link", { name: "Call POST /docs/delete" }).waitFor({ state: "detached" });
  });

  test("sleeps and wakes by buttons; reading tables does not wake it", async () => {
    const { page, open, button } = dashboard;
    await open("/orgs/acme/databases/main");
    await button("Stop").click();
    await page.getByRole("dialog", { name: "Stop main?" }).getByRole("button", { name: "Stop" }).click();
    await state("STOPPED").waitFor();
    await page.getByRole("heading", { name: "Just done" }).waitFor();
    await page.getByRole("link", { name: "database.stop" }).first().waitFor();
    await page.getByText("cli db start cloud://acme:main", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Tables", exact: true }).click();
    await page.getByText("Tables can be read while the database is awake").waitFor();
    await button("Start main").click();
    await state("AVAILABLE").waitFor();
    await button("Start main").waitFor({ state: "detached" });
  });

  test("follows, searches and saves the log of its pod", async () => {
    const { page, open, button } = dashboard;
    await open("/orgs/acme/databases/main/logs");
    const log = page.getByRole("region", { name: "Log of the pod" });
    const lines = log.locator("time");
    await lines.first().waitFor();
    const before = await lines.count();
    await type("db", "restart", "cloud://acme:main");
    await expect.poll(() => lines.count()).toBeGreaterThan(before);
    await page.getByLabel("With the text").fill("no line has this");
    await log.getByText("No line matches.").waitFor();
    expect(new URL(page.url()).searchParams.get("text")).toBe("no line has this");
    await page.getByLabel("With the text").fill("");
    await lines.first().waitFor();
    const [stored] = await Promise.all([page.waitForEvent("download"), button("Download").click()]);
    expect(stored.suggestedFilename()).toBe("acme-main-pod.log");
    expect(readFileSync(await stored.path(), "utf8").split("\n").length).toBeGreaterThan(before);
  });

  test("deletes another database by its typed name and undeletes it", async () => {
    const { page, open, button } = dashboard;
    await type("db", "update", "cloud://acme:staging", "-f");
    await open("/orgs/acme/databases/staging");
    await button("Delete").click();
    const dialog = page.getByRole("dialog", { name: "Delete the database staging?" });
    const sure = dialog.getByRole("button", { name: "Delete database" });
    expect(await sure.isDisabled()).toBe(true);
    await dialog.getByLabel("Type staging to confirm").fill("staging");
    await sure.click();
    await page
      .getByRole("row", { name: /^staging/ })
      .getByText("DELETING")
      .waitFor();
    await page.getByRole("link", { name: "staging", exact: true }).click();
    await button("Undelete").click();
    await state("STOPPED").waitFor();
    await open("/orgs/acme/databases/main");
    await page.getByText("The database main belongs to the organization and cannot be deleted.").waitFor();
  });

  test("axe finds no problem on database pages in light and dark", async () => {
    const { server, browser } = dashboard;
    await using window = await openWindow(browser);
    const { page, complaints } = window;
    await page.goto(`${server.url}/sign-in`);
    await signIn(page);
    await page.getByRole("heading", { level: 1, name: "Organizations" }).waitFor();
    const found: Record<string, string[]> = {};
    for (const path of PAGES) {
      await load(page, server.url + path);
      found[path] = await findBarriersInBoth(page, PICTURES[path]);
    }
    expect(found).toEqual(Object.fromEntries(PAGES.map((path) => [path, []])));
    expect(complaints).toEqual([]);
  });

  test("no page reported an error", () => {
    expect(dashboard.ann.complaints).toEqual([]);
  });
});

/** Pictures that the documents use. */
const PICTURES: Readonly<Record<string, { readonly light?: string; readonly dark?: string }>> = {
  "/orgs/acme": { light: "overview" },
  "/orgs/acme/databases/main/tables/docs": { light: "rows" },
  "/orgs/acme/databases/main/logs": { dark: "logs-dark" },
};
const PAGES = [
  "/orgs/acme",
  "/orgs/acme/operations",
  "/orgs/acme/databases/main",
  "/orgs/acme/databases/main/tables",
  "/orgs/acme/databases/main/tables/docs",
  "/orgs/acme/databases/main/logs",
  "/orgs/acme/databases/main/services",
  "/orgs/acme/databases/main/services/ingest",
  "/orgs/acme/databases/main/services/ingest/call",
  "/orgs/acme/databases/staging",
  "/orgs/acme/databases/staging/tables",
  "/orgs/acme/databases/nowhere",
];
