import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import axe, { type AxeResults } from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/**
 * The system's Chromium. Without it, browser tests are skipped with a message; with CHROMIUM=required, which .ci/run
 * sets after installing it, they fail.
 */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
  if (found === undefined && process.env.CHROMIUM !== "required") {
    process.stderr.write("\nSKIPPED: no Chromium on the PATH, so the dashboard was not tried in a browser.\n\n");
  }
  return found;
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("There is no Chromium on the PATH: apt-get install chromium");
  // its sandbox refuses to run as root
  return await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
}

/** A window that collects its pages' errors: script errors and violations of the content security policy. */
export interface Window extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: readonly string[];
}

export async function openWindow(browser: Browser): Promise<Window> {
  const context = await browser.newContext({
    colorScheme: "light",
    viewport: { width: 1200, height: 760 },
    locale: "en-GB",
    timezoneId: "UTC",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) complaints.push(message.text());
  });
  return { page, context, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Loads a page and waits until its lists have loaded. */
export async function load(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByRole("heading", { level: 1 }).waitFor();
  for (const list of await page.getByText("Loading ...", { exact: true }).all())
    await list.waitFor({ state: "detached" });
}

/** axe's colour rules, the only ones affected by the theme (styles.css). */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

/** Expression that is true once the colours have changed to the other theme. */
const COLOURS_ARE_THERE =
  "Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished)).then(() => null)";

/** axe's problems of the current page, one line per location. */
export async function findBarriers(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source);
  // names only the first place of each passed check: naming all takes longer than the checks
  const options = { resultTypes: ["violations"], ...(rules === undefined ? {} : { runOnly: rules }) };
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${JSON.stringify(options)})`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`),
  );
}

/** axe's problems of a page in light and dark. Saves named pictures. Leaves the page in light. */
export async function findBarriersInBoth(
  page: Page,
  pictures: Readonly<Partial<Record<"light" | "dark", string | undefined>>> = {},
): Promise<string[]> {
  const found: string[] = [];
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.evaluate(COLOURS_ARE_THERE);
    const barriers = await findBarriers(page, scheme === "light" ? undefined : COLOUR_RULES);
    found.push(...barriers.map((barrier) => `${scheme}: ${barrier}`));
    const name = pictures[scheme];
    if (name !== undefined) await takePicture(page, name);
  }
  await page.emulateMedia({ colorScheme: "light" });
  return found;
}

/** Saves a picture of the page for the documents when their folder is configured (scripts/pictures.mjs). */
export async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env.PICTURES;
  if (folder !== undefined) await page.screenshot({ path: join(folder, `dashboard-${name}.png`) });
}

/** The width of the page in a window of 390 pixels. It equals them if wide tables scroll within their frames. */
export async function widthOnPhone(page: Page): Promise<number> {
  const before = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 760 });
  const width = await page.evaluate<number>("document.documentElement.scrollWidth");
  if (before !== null) await page.setViewportSize(before);
  return width;
}
