import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBarriers, findBarriersInBoth, load, openWindow, takePicture } from "./support/browser.ts";
import { ANN, type Dashboard, makeFirstAccount, NO_BROWSER, openDashboard, post, signIn } from "./support/dashboard.ts";

/** One journey; each test continues from the previous one. */
describe.skipIf(NO_BROWSER)("an organization in the dashboard", () => {
  let dashboard: Dashboard;

  beforeAll(async () => {
    dashboard = await openDashboard();
    await makeFirstAccount(dashboard);
    await post(dashboard, "/v1/orgs", { name: "acme" });
  });
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]();
  });

  test("shows a key's secret once; lists, rotates and deletes the key", async () => {
    const { server, page, open, button } = dashboard;
    await open("/orgs/acme/keys");
    await page.getByText("No API key yet").waitFor();
    await button("Create key").click();
    const create = page.getByRole("dialog", { name: "Create API key" });
    await create.getByLabel("Name").fill("ci");
    await create.getByRole("button", { name: "Create key" }).click();
    const first = await takeShown(page, "API key ci", "the secret");
    expect(first).toMatch(/^sk_[a-z0-9]{12}_/);
    expect(await whoami(server.url, first)).toMatchObject({ kind: "key", email: ANN.email });
    const row = page.getByRole("row", { name: /^ci/ });
    await row.getByText("everything that its creator can do").waitFor();
    expect(await page.content()).not.toContain(first);

    await row.getByRole("button", { name: "Rotate ci" }).click();
    await page.getByRole("button", { name: "Rotate key" }).click();
    const second = await takeShown(page, "API key ci", "the secret");
    expect(await whoami(server.url, first)).toMatchObject({ kind: "key" });
    expect(await whoami(server.url, second)).toMatchObject({ kind: "key" });

    await row.getByRole("button", { name: "Delete ci" }).click();
    const confirm = page.getByRole("dialog", { name: "Delete the API key ci?" });
    expect(await findBarriers(page)).toEqual([]);
    await confirm.getByRole("button", { name: "Delete key" }).click();
    await row.waitFor({ state: "detached" });
    expect(await whoami(server.url, second)).toMatchObject({ code: "unauthorized" });
  });

  test("creates a key with grants without typing their syntax", async () => {
    const { server, page, open, button } = dashboard;
    await open("/orgs/acme/keys");
    await button("Create key").click();
    const create = page.getByRole("dialog", { name: "Create API key" });
    await create.getByLabel("Name").fill("edge");
    await create.getByLabel("Only specific grants").check();
    await create.getByLabel("May", { exact: true }).selectOption("call one service");
    await create.getByLabel("Service", { exact: true }).fill("9lives");
    await create.getByText("names begin with a letter", { exact: false }).waitFor();
    await create.getByLabel("Service", { exact: true }).fill("ingest");
    await create.getByText("access:cloud://acme:main/services/ingest", { exact: true }).waitFor();
    await create.getByLabel("Expires").selectOption("never");
    expect(await findBarriers(page)).toEqual([]);
    await takePicture(page, "create-key");
    await create.getByRole("button", { name: "Create key" }).click();
    const secret = await takeShown(page, "API key edge", "the secret");
    expect(await whoami(server.url, secret)).toMatchObject({
      kind: "grant_key",
      key: { name: "edge", grants: ["access:cloud://acme:main/services/ingest"] },
    });
    await page.getByRole("row", { name: /^edge/ }).getByText("never").first().waitFor();
  });

  test("sets, overrides and deletes a secret without showing its value", async () => {
    const { page, open, button } = dashboard;
    await open("/orgs/acme/secrets");
    await button("Set secret").click();
    const set = page.getByRole("dialog", { name: "Set a secret of the organization acme" });
    await set.getByLabel("Name").fill("SERVICE_API_KEY");
    await set.getByLabel("Value").fill("value-of-the-organization");
    await set.getByRole("button", { name: "Set secret" }).click();
    await set
      .getByRole("alert")
      .getByText("SERVICE_API_KEY cannot be the name of a secret", { exact: false })
      .waitFor();
    await set.getByLabel("Name").fill("OPENAI_API_KEY");
    await set.getByRole("button", { name: "Set secret" }).click();
    const row = page.getByRole("row", { name: /OPENAI_API_KEY/ });
    await row.waitFor();
    expect(await page.content()).not.toContain("value-of-the-organization");
    await button("Set secret").click();
    await set.getByLabel("Name").fill("SENTRY_DSN");
    await set.getByLabel("Value").fill("another-value-of-the-organization");
    await set.getByRole("button", { name: "Set secret" }).click();
    await page.getByRole("row", { name: /SENTRY_DSN/ }).waitFor();

    await page.getByRole("link", { name: "Database main" }).click();
    await row.getByRole("button", { name: "Override OPENAI_API_KEY" }).click();
    const override = page.getByRole("dialog", { name: "Set OPENAI_API_KEY of the database main" });
    await override.getByLabel("Value").fill("value-of-the-database");
    await override.getByRole("button", { name: "Set secret" }).click();
    await row.getByText("instead of the organization's").waitFor();
    await takePicture(page, "secrets");
    await row.getByRole("button", { name: "Delete OPENAI_API_KEY" }).click();
    await page.getByRole("button", { name: "Delete secret" }).click();
    await row.getByRole("button", { name: "Override OPENAI_API_KEY" }).waitFor();

    await page.getByRole("link", { name: "Organization", exact: true }).click();
    await row.getByRole("button", { name: "Delete OPENAI_API_KEY" }).click();
    await page.getByRole("button", { name: "Delete secret" }).click();
    await row.waitFor({ state: "detached" });
  });

  test("shows a webhook's signing secret once and deletes the webhook", async () => {
    const { page, open, button } = dashboard;
    await open("/orgs/acme/webhooks");
    await button("Create webhook").click();
    const create = page.getByRole("dialog", { name: "Create webhook" });
    await create.getByLabel("Address").fill("https://hooks.example.com/appdb");
    await create.getByLabel("Events").fill("key.*, secret.set");
    await create.getByRole("button", { name: "Create webhook" }).click();
    const secret = await takeShown(page, "Webhook", "the signing secret");
    const row = page.getByRole("row", { name: /hooks\.example\.com/ });
    await row.getByText("key.*, secret.set").waitFor();
    expect(await page.content()).not.toContain(secret);
    await row.getByRole("button", { name: /Deliveries/ }).click();
    await page.getByText("No deliveries yet").waitFor();
    await button("Close").click();
    await row.getByRole("button", { name: /Delete/ }).click();
    await page.getByRole("button", { name: "Delete webhook" }).click();
    await page.getByText("No webhook yet").waitFor();
  });

  test("shows the audit log with actors and origins and follows it", async () => {
    const { page, open, button } = dashboard;
    await open("/orgs/acme/audit");
    const table = page.getByRole("table", { name: "Events, newest first" });
    for (const [action, target] of [
      ["org.create", "acme"],
      ["key.create", "ci"],
      ["key.rotate", "ci"],
      ["key.delete", "ci"],
      ["secret.set", "OPENAI_API_KEY"],
      ["secret.delete", "OPENAI_API_KEY"],
    ]) {
      const event = table
        .getByRole("row")
        .filter({ hasText: `${action}` })
        .filter({ hasText: `${target}` })
        .first();
      await event.getByText("127.0.0.1").waitFor();
    }
    expect(await page.content()).not.toMatch(/value-of-the|sk_[a-z0-9]{12}_/);

    await button("Follow").click();
    await page.getByRole("button", { name: "Follow", pressed: true }).waitFor();
    await post(dashboard, "/v1/orgs/acme/keys", { name: "nightly" });
    await table.getByRole("row").nth(1).filter({ hasText: "nightly" }).waitFor();
    await button("Follow").click();
  });

  test("axe and the security policy find no problem in light and dark", async () => {
    const { server, browser } = dashboard;
    await using window = await openWindow(browser);
    const { page, complaints } = window;
    const found: Record<string, string[]> = {};
    const look = async (path: string) => {
      await load(page, server.url + path);
      found[path] = await findBarriersInBoth(page, PICTURES[path]);
    };
    for (const path of PUBLIC_PAGES) await look(path);
    await page.goto(`${server.url}/sign-in`);
    await signIn(page);
    await page.getByRole("heading", { level: 1, name: "Organizations" }).waitFor();
    for (const path of PAGES) await look(path);
    expect(found).toEqual(Object.fromEntries([...PUBLIC_PAGES, ...PAGES].map((path) => [path, []])));
    expect(complaints).toEqual([]);
  });

  test("no page reported an error", () => {
    const { ann } = dashboard;
    expect(ann.complaints).toEqual([]);
  });
});

/** Pictures that the documents use. */
const PICTURES: Readonly<Record<string, { readonly light?: string; readonly dark?: string }>> = {
  "/orgs/acme/keys": { dark: "keys-dark" },
  "/orgs/acme/audit": { light: "audit" },
};
const PUBLIC_PAGES = ["/sign-in", "/sign-up", "/setup?token=none", "/forgot", "/reset?token=none", "/no-such-page"];
const PAGES = [
  "/",
  "/account",
  "/device",
  "/orgs/acme",
  "/orgs/acme/members",
  "/orgs/acme/keys",
  "/orgs/acme/secrets",
  "/orgs/acme/secrets?db=main",
  "/orgs/acme/operations",
  "/orgs/acme/audit",
  "/orgs/acme/webhooks",
  "/orgs/none-of-mine",
];

/** Returns a value that a dialog shows once, and closes it. */
async function takeShown(page: Page, title: string, what: string): Promise<string> {
  const dialog = page.getByRole("dialog", { name: title });
  const text = await dialog.locator(`[data-copied='${what}']`).textContent();
  await page.keyboard.press("Escape");
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await dialog.waitFor({ state: "detached" });
  return text ?? "";
}

async function whoami(url: string, key: string): Promise<unknown> {
  const response = await fetch(`${url}/v1/whoami`, { headers: { "x-api-key": key } });
  return await response.json();
}
