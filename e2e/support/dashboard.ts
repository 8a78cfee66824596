import { openTestProject, type TestProject } from "@appdb/testkit/test-project";
import type { Browser, Locator, Page } from "playwright-core";
import { findChromium, load, openBrowser, openWindow, type Window } from "./browser.ts";
import { type Hosted, startHosted } from "./hosted.ts";

export const ANN = { name: "Ann Archer", email: "ann@example.com", password: "correct horse battery" };

/** Whether these tests are skipped: there is no browser, and none is required. */
export const NO_BROWSER = findChromium() === undefined && process.env.CHROMIUM !== "required";

/** A separate server, a browser, and Ann's window. */
export interface Dashboard extends AsyncDisposable {
  /** Has the server's home, and a project whose commands reach the server. */
  readonly project: TestProject;
  readonly server: Hosted;
  readonly browser: Browser;
  readonly ann: Window;
  readonly page: Page;
  /** Loads a page completely in Ann's window. */
  open(path: string): Promise<void>;
  heading(name: string): Locator;
  button(name: string): Locator;
}

export async function openDashboard(env: Readonly<Record<string, string>> = {}): Promise<Dashboard> {
  const project = openTestProject({ env });
  let browser: Browser | undefined;
  const close = async () => {
    await browser?.close();
    await project[Symbol.asyncDispose]();
  };
  try {
    browser = await openBrowser();
    const server = await startHosted(project);
    const ann = await openWindow(browser);
    const { page } = ann;
    return {
      project,
      server,
      browser,
      ann,
      page,
      open: (path) => load(page, server.url + path),
      heading: (name) => page.getByRole("heading", { level: 1, name }),
      button: (name) => page.getByRole("button", { name, exact: true }),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Completes a displayed sign-in form. */
export async function signIn(page: Page, password = ANN.password): Promise<void> {
  await page.getByLabel("E-mail address").fill(ANN.email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Completes the page of the printed setup link. */
export async function makeFirstAccount(dashboard: Dashboard): Promise<void> {
  const token = new URL(dashboard.server.setup_link).searchParams.get("token");
  await post(dashboard, "/v1/setup", { token, ...ANN });
}

/** Sends a request that one of Ann's pages would send; expects status 201. */
export async function post({ ann, server }: Dashboard, path: string, data: unknown): Promise<void> {
  const response = await ann.context.request.post(server.url + path, { headers: { origin: server.url }, data });
  if (response.status() !== 201) throw new Error(`${path} answered ${response.status()}: ${await response.text()}`);
}

/** Makes commands of the project act as Ann in the organization. */
export async function makeKey({ ann, project, server }: Dashboard, org: string): Promise<void> {
  const headers = { origin: server.url };
  const response = await ann.context.request.post(`${server.url}/v1/orgs/${org}/keys`, {
    headers,
    data: { name: "terminal" },
  });
  const { api_key: apiKey } = (await response.json()) as { api_key: string };
  project.env.SERVICE_API_KEY = apiKey;
}
