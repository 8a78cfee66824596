import { eventually } from "@appdb/testkit/eventually";
import { describe, expect, test } from "vitest";
import { findBarriers, load } from "./support/browser.ts";
import { ANN, makeFirstAccount, NO_BROWSER, openDashboard, post, signIn } from "./support/dashboard.ts";
import { openMailServer } from "./support/mail-server.ts";

describe.skipIf(NO_BROWSER)("a server that sends mail", () => {
  test("mails password reset links, valid once, and invitations", async () => {
    await using mail = await openMailServer();
    await using dashboard = await openDashboard({
      SERVICE_SMTP_URL: mail.url,
      SERVICE_MAIL_FROM: "appdb@example.com",
    });
    const { server, page, heading, button, open } = dashboard;
    await makeFirstAccount(dashboard);
    await post(dashboard, "/v1/orgs", { name: "acme" });
    await open("/account");
    await button("Sign out").click();
    await heading("Sign in").waitFor();

    await page.getByRole("link", { name: "Forgot the password?" }).click();
    // the previous page has a field of the same name
    await heading("Choose a new password").waitFor();
    await page.getByLabel("E-mail address").fill(ANN.email);
    await button("Send the link").click();
    await page.getByText("The link is on its way").waitFor();
    const link = await eventually(() => linkIn(mail.mails.at(-1), `${server.url}/reset?token=`));

    await load(page, link);
    expect(await findBarriers(page)).toEqual([]);
    await page.getByLabel("New password").fill("staple battery horse");
    await button("Set the password").click();
    await page.getByText("The new password is set").waitFor();
    await load(page, link);
    await page.getByLabel("New password").fill("yet another password");
    await button("Set the password").click();
    await page.getByRole("alert").getByText("The link was used before", { exact: false }).waitFor();

    await open("/sign-in");
    await signIn(page, ANN.password);
    await page.getByRole("alert").getByText("The address or the password is wrong.").waitFor();
    await signIn(page, "staple battery horse");
    await heading("Organizations").waitFor();

    await open("/orgs/acme/members");
    await button("Invite").click();
    const invite = page.getByRole("dialog", { name: "Invite to acme" });
    await invite.getByLabel("E-mail address").fill("ben@example.com");
    await invite.getByRole("button", { name: "Invite" }).click();
    await page.getByText("It was sent by mail").waitFor();
    const shown = await page.locator("[data-copied='the link']").textContent();
    expect(await eventually(() => linkIn(mail.mails.at(-1), `${server.url}/sign-up?invitation=`))).toBe(shown);
    expect(dashboard.ann.complaints).toEqual([]);
  });
});

function linkIn(mail: string | undefined, begin: string): string {
  const link = mail?.split(/\s/).find((word) => word.startsWith(begin));
  if (link === undefined) throw new Error(`No link ${begin} in ${mail}`);
  return link;
}
