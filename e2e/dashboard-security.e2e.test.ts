import { createHmac } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBarriersInBoth } from "./support/browser.ts";
import { ANN, type Dashboard, makeFirstAccount, NO_BROWSER, openDashboard, post, signIn } from "./support/dashboard.ts";
import { connectCluster } from "./support/served.ts";

const NEW_PASSWORD = "zebra lamp violin";
const PATIENCE_MS = 60_000;

/** One journey; each test continues from the previous one. */
describe.skipIf(NO_BROWSER)("the security of an account in the dashboard", () => {
  let dashboard: Dashboard;
  let secret = "";
  let recoveryCode = "";

  beforeAll(async () => {
    dashboard = await openDashboard();
    await makeFirstAccount(dashboard);
    await post(dashboard, "/v1/orgs", { name: "acme" });
  });
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]();
  });

  test("a user changes their password", async () => {
    const { page, open, button } = dashboard;
    await open("/account");
    await button("Change password").click();
    const dialog = page.getByRole("dialog", { name: "Change password" });
    await dialog.getByLabel("Current password").fill(ANN.password);
    await dialog.getByLabel("New password").fill("Password123!");
    await dialog.getByRole("button", { name: "Change password" }).click();
    await dialog.getByText("The password is easy to guess").waitFor();
    await dialog.getByLabel("New password").fill(NEW_PASSWORD);
    await dialog.getByRole("button", { name: "Change password" }).click();
    await page.getByText("The new password is set").waitFor();
  });

  test("a user sets up a second factor by picture or secret", async () => {
    const { page, button } = dashboard;
    await button("Set up a second factor").click();
    const dialog = page.getByRole("dialog", { name: "Set up a second factor" });
    await dialog.getByLabel("Password").fill(NEW_PASSWORD);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByRole("img", { name: "Secret for the authenticator app" }).waitFor();
    secret = (await dialog.locator("[data-copied='the secret']").textContent())?.trim() ?? "";
    expect(await findBarriersInBoth(page, { light: "second-factor", dark: "second-factor-dark" })).toEqual([]);
    await dialog.getByLabel("Code from the app").fill(codeOf(secret, -1));
    await dialog.getByRole("button", { name: "Turn on" }).click();
    const codes = page.getByRole("dialog", { name: "Recovery codes" });
    const shown = (await codes.locator("[data-copied='the recovery codes']").textContent()) ?? "";
    expect(shown.split(" ")).toHaveLength(10);
    recoveryCode = shown.split(" ")[0] ?? "";
    await codes.getByRole("button", { name: "I have stored it" }).click();
    await page.getByText("10 recovery codes are left").waitFor();
    expect(await findBarriersInBoth(page, { light: "account-security", dark: "account-security-dark" })).toEqual([]);
  });

  test("the sign-in asks for the code after the password", async () => {
    const { page, button, heading } = dashboard;
    await button("Sign out").click();
    await heading("Sign in").waitFor();
    await signIn(page, NEW_PASSWORD);
    await page.getByLabel("Code").fill("000000");
    expect(await findBarriersInBoth(page, { light: "sign-in-code", dark: "sign-in-code-dark" })).toEqual([]);
    await button("Sign in").click();
    await page.getByRole("alert").getByText("The code is wrong or was used before.").waitFor();
    await page.getByLabel("Code").fill(recoveryCode);
    await button("Sign in").click();
    await heading("Organizations").waitFor();
  });

  test(
    "a dangerous action asks for the identity when the sign-in is old",
    async () => {
      const { page, open, button, project } = dashboard;
      const client = await connectCluster(join(project.home, "server", "postgres"), "control");
      await client.query("update identity.sessions set authenticated_at = now() - interval '1 hour'");
      await client.end();
      await open("/orgs/acme/keys");
      await button("Create key").click();
      const create = page.getByRole("dialog", { name: "Create API key" });
      await create.getByLabel("Name").fill("ci");
      await create.getByRole("button", { name: "Create key" }).click();
      const confirm = page.getByRole("dialog", { name: "Confirm your identity" });
      await confirm.getByLabel("Password").fill(NEW_PASSWORD);
      await confirm.getByRole("button", { name: "Confirm" }).click();
      await confirm.getByLabel("Code").fill(codeOf(secret, 0));
      expect(await findBarriersInBoth(page, { light: "confirm", dark: "confirm-dark" })).toEqual([]);
      await confirm.getByRole("button", { name: "Confirm" }).click();
      await page.getByRole("dialog", { name: "API key ci" }).waitFor();
    },
    PATIENCE_MS,
  );
});

/** The authenticator app's code for the secret, `ahead` steps from now. */
function codeOf(secret: string, ahead: number): string {
  const bits = [...secret].map((one) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(one).toString(2).padStart(5, "0"));
  const key = Buffer.from((bits.join("").match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + ahead));
  const digest = createHmac("sha1", key).update(counter).digest();
  const number = digest.readUInt32BE((digest[19] ?? 0) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}
