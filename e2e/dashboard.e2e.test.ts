import type { Page, Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBarriers, load, openWindow, takePicture } from "./support/browser.ts";
import { ANN, type Dashboard, NO_BROWSER, openDashboard, signIn } from "./support/dashboard.ts";

const FIRST_LOAD_BYTES = 200_000;

/** One journey; each test continues from the previous one. */
describe.skipIf(NO_BROWSER)("an account in the dashboard", () => {
  let dashboard: Dashboard;

  beforeAll(async () => {
    dashboard = await openDashboard();
  });
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]();
  });

  test("the printed link creates the first account once", async () => {
    const { server, page, heading, button } = dashboard;
    await page.goto(server.url);
    await heading("Sign in").waitFor();
    await page.getByText("There are no accounts yet").waitFor();

    await page.goto(server.setup_link);
    await page.getByLabel("Your name").fill(ANN.name);
    await page.getByLabel("E-mail address").fill(ANN.email);
    await page.getByLabel("Password").fill(ANN.password);
    await button("Make the first account").click();
    await heading("Organizations").waitFor();
    await page.getByText("No organization yet").waitFor();

    await page.goto(server.setup_link);
    await page.getByLabel("Your name").fill("Eve");
    await page.getByLabel("E-mail address").fill("eve@example.com");
    await page.getByLabel("Password").fill("another password");
    await button("Make the first account").click();
    await page.getByRole("alert").getByText("The first account of this server already exists.").waitFor();
  });

  test("signing out ends the session and the next sign-in returns to the page", async () => {
    const { server, page, open, heading, button } = dashboard;
    await open("/account");
    await button("Sign out").click();
    await heading("Sign in").waitFor();
    await page.goto(`${server.url}/account`);
    await heading("Sign in").waitFor();
    expect(new URL(page.url()).searchParams.get("next")).toBe("/account");

    await signIn(page, "not the password");
    const alert = page.getByRole("alert");
    await alert.getByText("The address or the password is wrong.").waitFor();
    await alert.getByText("Try again, or reset the password.").waitFor();

    await signIn(page);
    await heading("Account").waitFor();
    await page.getByRole("row", { name: /this one/ }).waitFor();
  });

  test("a sign-in redirects to no other site", async () => {
    const { server, browser } = dashboard;
    await using eve = await openWindow(browser);
    await eve.page.goto(`${server.url}/sign-in?next=//elsewhere.example/`);
    await signIn(eve.page);
    await eve.page.getByRole("heading", { level: 1, name: "Organizations" }).waitFor();
    expect(new URL(eve.page.url()).origin).toBe(server.url);
  });

  test("reports an invalid name while typing and creates an organization", async () => {
    const { page, open, heading, button } = dashboard;
    await open("/");
    await button("Create organization").click();
    const dialog = page.getByRole("dialog", { name: "Create organization" });
    await dialog.getByLabel("Name").fill("Acme_Research");
    await dialog.getByText("Write for example: acme-research").waitFor();
    expect(await dialog.getByRole("button", { name: "Create organization" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Name").fill("acme");
    await dialog.getByRole("button", { name: "Create organization" }).click();
    await heading("acme").waitFor();
    expect(new URL(page.url()).pathname).toBe("/orgs/acme");
  });

  test("shows a terminal's code with its origin, approves once and denies", async () => {
    const { server, page, open, button } = dashboard;
    const first = await askForCode(server.url);
    await page.goto(first.verification_uri_complete);
    await page.getByText(`${first.user_code.slice(0, 4)}-${first.user_code.slice(-4)}`, { exact: true }).waitFor();
    await page.getByText("appdb-cli/0.8.0 linux-x64").waitFor();
    await page.getByText("127.0.0.1", { exact: true }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await takePicture(page, "device");
    await button("Approve").click();
    await page.getByText("The terminal is signed in").waitFor();
    expect(await askForToken(server.url, first.device_code)).toMatchObject({ token_type: "Bearer" });

    await page.goto(first.verification_uri_complete);
    await page.getByRole("alert").getByText("No open request has the code", { exact: false }).waitFor();

    const second = await askForCode(server.url);
    await open("/device");
    await page.getByLabel("Code").fill(second.user_code.toLowerCase());
    await button("Continue").click();
    await button("Deny").click();
    await page.getByText("The sign-in was denied").waitFor();
    expect(await askForToken(server.url, second.device_code)).toMatchObject({ error: "access_denied" });

    await open("/account");
    await page
      .getByRole("row", { name: /Terminal/ })
      .getByRole("button", { name: /End/ })
      .click();
    await page.getByRole("row", { name: /Terminal/ }).waitFor({ state: "detached" });
  });

  test("shows an invitation's link once, for an account of its address only", async () => {
    const { server, browser, page, open, button } = dashboard;
    await open("/orgs/acme/members");
    await button("Invite").click();
    const invite = page.getByRole("dialog", { name: "Invite to acme" });
    await invite.getByLabel("E-mail address").fill("ben@example.com");
    await invite.getByLabel("Role").selectOption("admin");
    await invite.getByRole("button", { name: "Invite" }).click();
    const shown = page.getByRole("dialog", { name: "Invitation for ben@example.com" });
    await shown.getByText("It was not sent by mail").waitFor();
    const link = (await shown.locator("[data-copied='the link']").textContent()) ?? "";
    await page.keyboard.press("Escape");
    await shown.getByRole("button", { name: "Done" }).click();
    await page.getByRole("row", { name: /ben@example\.com/ }).waitFor();
    expect(await page.content()).not.toContain(link);

    // for another signed-in user
    await page.goto(link);
    await page.getByText("The invitation is for ben@example.com.").waitFor();

    await using ben = await openWindow(browser);
    await ben.page.goto(link);
    await ben.page.getByRole("heading", { level: 1, name: "Join acme" }).waitFor();
    expect(await findBarriers(ben.page)).toEqual([]);
    expect(await ben.page.getByLabel("E-mail address").inputValue()).toBe("ben@example.com");
    await ben.page.getByLabel("Your name").fill("Ben Bauer");
    await ben.page.getByLabel("Password").fill("battery staple horse");
    await ben.page.getByRole("button", { name: "Sign up and join acme" }).click();
    await ben.page.getByRole("heading", { level: 1, name: "acme" }).waitFor();
    await ben.page.getByText("admin", { exact: true }).waitFor();

    await ben.page.goto(link);
    await ben.page.getByRole("heading", { level: 1, name: "This invitation is not open" }).waitFor();

    await open("/orgs/acme/members");
    const changed = page.waitForResponse((response) => response.request().method() === "PATCH");
    await page.getByLabel("Role of Ben Bauer").selectOption("member");
    await changed;
    await open("/orgs/acme/members");
    expect(await page.getByLabel("Role of Ben Bauer").inputValue()).toBe("member");
    await page.getByLabel("Role of Ann Archer").selectOption("member");
    await page.getByRole("alert").waitFor();
    expect(await page.getByLabel("Role of Ann Archer").inputValue()).toBe("owner");
    for (const [path, offered] of [
      ["/orgs/acme/members", "Invite"],
      ["/orgs/acme/secrets", "Set secret"],
    ]) {
      await load(ben.page, server.url + path);
      expect(await ben.page.getByRole("button", { name: `${offered}` }).count(), path).toBe(0);
    }
    expect(await ben.page.getByRole("link", { name: "Webhooks" }).count()).toBe(0);
    expect(ben.complaints).toEqual([]);
  });

  test("an ended session leads to the sign-in and a failed request to an error page", async () => {
    const { server, browser, page, open } = dashboard;
    await using other = await openWindow(browser);
    await other.page.goto(`${server.url}/orgs/acme`);
    await signIn(other.page);
    await other.page.getByRole("heading", { level: 1, name: "acme" }).waitFor();

    await other.page.route("**/v1/orgs/acme/members*", (route) => route.abort());
    await other.page.getByRole("link", { name: "Members" }).click();
    await other.page.getByRole("alert").getByText("The server does not answer.").waitFor();
    await other.page.unroute("**/v1/orgs/acme/members*");

    await open("/account");
    const ended = page.getByRole("row", { name: /Browser/ }).getByRole("button", { name: /End/ });
    for (let left = await ended.count(); left > 0; left--) {
      await ended.first().click();
      await expect.poll(() => ended.count()).toBe(left - 1);
    }
    await other.page.getByRole("link", { name: "API keys" }).click();
    await other.page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    expect(new URL(other.page.url()).searchParams.get("next")).toBe("/orgs/acme/keys");
  });

  test("the keyboard reaches everything and the focus follows the page", async () => {
    const { page, open, heading, button } = dashboard;
    await open("/");
    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("Skip to the content");
    await page.getByRole("link", { name: "acme", exact: true }).focus();
    await page.keyboard.press("Enter");
    await heading("acme").waitFor();
    expect(await focused(page)).toBe("acme");
    expect(await page.title()).toBe("acme · appdb");

    await open("/");
    await button("Create organization").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    expect(await page.evaluate<string>("document.activeElement?.getAttribute('name') ?? ''")).toBe("name");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await focused(page)).toBe("Create organization");
  });

  test("the chosen theme persists before the first paint", async () => {
    const { page, open } = dashboard;
    await open("/");
    const ground = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const light = await ground();
    await page.getByRole("button", { name: "Theme: system. Change to light" }).click();
    await page.getByRole("button", { name: "Theme: light. Change to dark" }).click();
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.reload();
    expect(await ground()).toBe(dark);
    await page.getByRole("button", { name: "Theme: dark. Change to system" }).click();
    expect(await ground()).toBe(light);
  });

  test("the first load is small and cached", async () => {
    const { server, browser } = dashboard;
    await using fresh = await openWindow(browser);
    const sizes = new Map<string, number>();
    const asked: Promise<void>[] = [];
    const measure = async (request: Request) => {
      const { responseBodySize } = await request.sizes();
      sizes.set(new URL(request.url()).pathname, responseBodySize);
    };
    const note = (request: Request) => void asked.push(measure(request));
    fresh.page.on("requestfinished", note);
    await fresh.page.goto(`${server.url}/sign-in`);
    await fresh.page.waitForLoadState("networkidle");
    await Promise.all(asked);
    const first = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    expect(sizes.size).toBeGreaterThan(3);
    expect(first).toBeGreaterThan(50_000);
    expect(first).toBeLessThan(FIRST_LOAD_BYTES);
    sizes.clear();
    await fresh.page.goto(`${server.url}/forgot`);
    await fresh.page.waitForLoadState("networkidle");
    fresh.page.off("requestfinished", note);
    await Promise.all(asked);
    expect([...sizes].filter(([path, size]) => path.includes("/assets/index-") && size > 0)).toEqual([]);
  });

  test("no page reported an error", () => {
    const { ann } = dashboard;
    expect(ann.complaints).toEqual([]);
  });
});

interface DeviceCode {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri_complete: string;
}

/** First request of `cli login`. */
async function askForCode(url: string): Promise<DeviceCode> {
  const response = await fetch(`${url}/v1/auth/device/code`, {
    method: "POST",
    headers: { "content-type": "application/json", "user-agent": "appdb-cli/0.8.0 linux-x64" },
    body: JSON.stringify({ client_id: "cli" }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as DeviceCode;
}

/** Polling request of `cli login`. */
async function askForToken(url: string, deviceCode: string): Promise<unknown> {
  const response = await fetch(`${url}/v1/auth/device/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: deviceCode,
      client_id: "cli",
    }),
  });
  return await response.json();
}

async function focused(page: Page): Promise<string> {
  return await page.evaluate<string>("document.activeElement?.textContent?.trim() ?? ''");
}
