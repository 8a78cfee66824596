import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { type Finished, ROOT, type TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ended, type Hosted, startHosted, startLogin } from "./support/hosted.ts";
import { listPages, readShownBlock, readTypedLines, type TypedLine } from "./support/pages/typed-lines.ts";
import { expectExit, makeProject } from "./support/served.ts";

/** Pages whose lines are run here in this order; each continues from the previous one. */
const WALK = [
  "docs/signing-in.md",
  "docs/databases.md",
  "docs/project-files.md",
  "docs/images.md",
  "docs/services.md",
  "docs/hosted-databases.md",
  "docs/api-keys.md",
  "docs/secrets.md",
  "docs/operations-and-events.md",
  "docs/identity.md",
  "docs/traces.md",
  "docs/failing-cells.md",
];
/** Pages that other tests run. */
const ELSEWHERE = {
  "docs/guide.md": "e2e/hosted-journey.e2e.test.ts",
  "docs/handlers.md": "apps/runtime/src/http/printed-handlers.contract.test.ts",
  "docs/changing-tables.md": "e2e/both-targets.e2e.test.ts",
  "docs/columns.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/data-api.md": "e2e/row-files.e2e.test.ts",
  "docs/defaults.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/expressions.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/indexes.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/library.md": "e2e/library.e2e.test.ts",
  "docs/many-rows.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/media.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/media-store.md": "e2e/media-store.e2e.test.ts",
  "docs/queries.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/queries-over-http.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/quickstart.md": "e2e/wheel.e2e.test.ts",
  "docs/reading-data.md": "e2e/both-targets.e2e.test.ts",
  "docs/resource-pools.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/routes.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/shell.md": "e2e/shell.e2e.test.ts",
  "docs/sql.md": "e2e/both-targets.e2e.test.ts",
  "docs/status.md": "e2e/shell.e2e.test.ts",
  "docs/testing.md": "e2e/testing.e2e.test.ts",
  "docs/udfs.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/writing-data.md": "e2e/both-targets.e2e.test.ts",
  "docs/views.md": "apps/runtime/src/http/printed-pages.db.test.ts",
  "docs/upgrades.md": "packages/postgres/src/cluster/before-upgrade.contract.test.ts",
} as const;
/** Lines that no test runs, by their beginning, with the reason. */
const NOT_TYPED: Readonly<Record<string, string>> = {
  "apt-get ": "installs packages of the system",
  "systemctl ": "needs systemd as the first process",
  "journalctl ": "needs systemd as the first process",
  "podman ": "needs an image of Debian; deploy-files.test.ts compares what the files name with the product",
  "git clone <repository>": "needs the repository's own address",
  "git -C /opt/appdb": "needs the repository's own address",
  "cd /opt/appdb": "a place of the machine's",
  "cp deploy/appdb.service": "a place of the machine's",
  "npm run setup": "what every test begins with",
  "npm run build": "what every test begins with",
  "tar ": "the archive of a home is made and restored by backup tests of the server",
  "mkdir -m 700": "a place of the machine's",
  "cli server orgs": "operator.db.test.ts does each act of the operator",
  "cli server status": "operator.db.test.ts does each act of the operator",
  "cli server databases": "operator.db.test.ts does each act of the operator",
  "cli server retry": "operator.db.test.ts does each act of the operator",
  "cli server suspend": "operator.db.test.ts does each act of the operator",
  "cli server resume": "operator.db.test.ts does each act of the operator",
  "cli server quota": "operator.db.test.ts does each act of the operator",
  "cli server rotate-master-key": "rotate-master-key.test.ts writes the key and has a start take it",
  'curl -s -H "Authorization: Bearer $(cat /etc': "a file of the machine's; health-routes.db.test.ts asks the same",
  "openssl ": "a place of the machine's",
  "curl -H 'X-api-key: sk_...' ...": "no address",
};

const APP = `import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router

Base = db.model_base()


@db.udf
def share(text: str, size: int) -> float:
    return 1 / (len(text) - size)


class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    body: db.String | None
    loud = upper(title)
    fare = share(title, 5)
    tax = fare * 2


ingest = Router()
ingest.add_insert_route(Docs, path="/docs", inputs=[Docs.title, Docs.body], outputs=[Docs.id, Docs.loud], on_error="ignore")
`;

/** Deviations from just running a line; all other lines exit with 0. */
interface Circumstance {
  /** Matches the line. */
  readonly when: RegExp;
  readonly exit?: number;
  readonly prints?: RegExp;
  /** Standard input. */
  readonly input?: string;
  /** Runs until Ctrl-C, sent once it has printed this. */
  readonly until?: RegExp;
}

const CIRCUMSTANCES: readonly Circumstance[] = [
  { when: /^cli org create/, prints: /^acme {2}id=\S+\n$/ },
  { when: /^cli key create/, prints: /\nsk_\S+\n$/ },
  { when: /^cli key rotate/, prints: /\nsk_\S+\n$/ },
  { when: /^cli secret set \S+ \w+$/, input: "http://127.0.0.1:9" },
  { when: /^cli db diff/, exit: 2 },
  { when: /^cli operations cancel/, exit: 1 },
  { when: /^cli events --follow/, until: /key\.create|deploy|service/ },
  { when: /^cli service logs .* -f$/, until: /POST|the pod/ },
  { when: /^cli service list/, prints: /http:\S+\/ingest/ },
  { when: /^cli service releases/, prints: /^. 2 {2}.*\n. 1 {2}/ },
  { when: /^curl/, prints: /^\{/ },
  { when: /^cli errors main\/docs/, prints: /fare/ },
  { when: /reset-link/, prints: /http/ },
];
/** Command that confirms in advance, printed when there is no terminal. */
const AGAIN = /^hint: To confirm in advance: (.*)$/m;

/** Runs what the pages print, on a server with one organization. */
describe("the commands that the pages print", () => {
  let project: TestProject;
  let hosted: Hosted;
  let address = "";

  beforeAll(async () => {
    project = await makeProject(APP);
    hosted = await startHosted(project);
    await hosted.setUp("ann@example.com");
    for (const name of ["key.pem", "key.txt"]) writeFileSync(join(project.folder, name), "a value");
    const program = join(project.env.PATH?.split(delimiter)[0] ?? "", "pass");
    writeFileSync(program, "#!/bin/sh\necho a value\n");
    chmodSync(program, 0o755);
  });
  afterAll(async () => {
    await project[Symbol.asyncDispose]();
  });

  test("run here, in another test, or are skipped for a reason", () => {
    const pages = listPages();
    for (const page of [...WALK, ...Object.keys(ELSEWHERE)]) expect(pages).toContain(page);
    for (const [page, file] of Object.entries(ELSEWHERE)) {
      expect(readFileSync(join(ROOT, file), "utf8"), file).toContain(page.slice("docs/".length));
    }
    const left = pages
      .filter((page) => !(page in ELSEWHERE))
      .flatMap((page) => readTypedLines(page).filter((line) => !WALK.includes(page) || isLeftOut(line)));
    const reasons = Object.keys(NOT_TYPED);
    expect(left.filter(({ text }) => !reasons.some((beginning) => text.startsWith(beginning)))).toEqual([]);
    const unused = reasons.filter((beginning) => !left.some(({ text }) => text.startsWith(beginning)));
    expect(unused, "reasons for lines that no page has").toEqual([]);
  });

  test("of the first account match the server's output", () => {
    expect(readShownBlock("docs/identity.md", "Dashboard:")).toContain(readShownBlock("docs/dashboard.md", "Make the"));
    expect(hosted.server.output()).toMatch(shownAs(readShownBlock("docs/identity.md", "Dashboard:")));
  });

  test.each(WALK)(
    "work: %s",
    async (page) => {
      const lines = readTypedLines(page).filter((line) => !isLeftOut(line));
      expect(lines.length).toBeGreaterThan(0);
      await prepare(page);
      for (const line of lines) await typeAsPrinted(line);
    },
    120_000,
  );

  test("of the stream of events match the server's output", async () => {
    const shown = readShownBlock("docs/operations-and-events.md", "id:");
    const stop = new AbortController();
    const headers = { accept: "text/event-stream", "x-api-key": await makeKey("streams") };
    const response = await fetch(`${hosted.url}/v1/orgs/acme/events`, { headers, signal: stop.signal });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    await makeKey("ci");
    let text = "";
    while (!text.includes("key.create")) {
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done) throw new Error(`The stream ended (${response.status}): ${text}`);
      text += value;
    }
    stop.abort();
    const of = (one: string) => one.split("\n").map((line) => line.slice(0, line.indexOf(":")));
    expect(of(text.trim()).slice(-3)).toEqual(of(shown));
    const names = [...shown.matchAll(/"(\w+)":/g)].map(([, name = ""]) => name);
    const sent = JSON.parse(/^data: (\{.*"key\.create".*\})$/m.exec(text)?.[1] ?? "{}");
    expect(Object.keys(sent)).toEqual(expect.arrayContaining(names));
  });

  async function typeAsPrinted(line: TypedLine): Promise<void> {
    const { place: at, says, text } = line;
    if (text.startsWith("cli login")) return await signIn();
    const how = CIRCUMSTANCES.find(({ when }) => when.test(text)) ?? { when: /^/ };
    const typed = await fillIn(text);
    if (how.until !== undefined) {
      const started = project.start(typed);
      await eventually(() => expect(started.output(), at).toMatch(how.until ?? /^/), { timeout_ms: 60_000 });
      await started.interrupt("SIGINT");
      return;
    }
    let done = await project.type(how.input === undefined ? typed : `printf '${how.input}' | ${typed}`);
    const again = AGAIN.exec(done.stderr)?.[1];
    if (done.code === 3 && again !== undefined) done = await project.type(again);
    expect(done.code, tell(at, typed, done)).toBe(how.exit ?? 0);
    if (/^exit \d/.test(says)) expect(Number(/\d/.exec(says)?.[0]), at).toBe(done.code);
    if (how.prints !== undefined) expect(done.stdout, tell(at, typed, done)).toMatch(how.prints);
    if (text === "cli logout") await signIn();
    if (text.startsWith("cli org create")) await untilAvailable();
  }

  async function signIn(): Promise<void> {
    const { code, login } = await startLogin(project);
    expect(login.output()).toMatch(shownAs(readShownBlock("docs/signing-in.md", "Your code is")));
    await hosted.browse("GET", `/v1/devices/${code}`);
    await hosted.browse("POST", "/v1/auth/device/approve", { userCode: code });
    expect(await ended(login), login.output()).toBe(0);
  }

  async function untilAvailable(): Promise<void> {
    await eventually(
      async () => {
        const { stdout } = await expectExit(project, 0, "db", "status", "cloud://acme:main", "--json");
        expect(JSON.parse(stdout)).toMatchObject({ state: "AVAILABLE" });
      },
      { timeout_ms: 60_000 },
    );
  }

  /** Prepares a page: removes leftovers of earlier pages and creates what it assumes. */
  async function prepare(page: string): Promise<void> {
    if (page === "docs/project-files.md") writeFileSync(join(project.folder, "notes.py"), "");
    if (page === "docs/services.md") {
      await expectExit(project, 0, "schema", "update", "app.py", "cloud://acme:main");
      await expectExit(project, 0, "service", "update", "app.py", "cloud://acme:main", "-f");
      writeFileSync(join(project.folder, "app.py"), `${APP}# another release\n`);
      await expectExit(project, 0, "db", "update", "cloud://acme:main", "-f");
    }
    if (page === "docs/api-keys.md") {
      for (const name of ["edge", "nightly"]) await expectExit(project, 0, "key", "delete", name);
    }
    if (page === "docs/traces.md") await expectExit(project, 0, "schema", "update", "app.py", "main");
    if (page === "docs/failing-cells.md") {
      const { stdout } = await expectExit(project, 0, "service", "list", "main", "--json");
      const body = JSON.stringify({ title: "equal" });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${JSON.parse(stdout).services[0].endpoint}/docs`, { method: "POST", headers, body });
      const shown = /^x-cell-errors: (.*)$/m.exec(readFileSync(join(ROOT, page), "utf8"))?.[1];
      expect(answer.headers.get("x-cell-errors")).toBe(shown);
    }
  }

  /** Replaces placeholders of a page: addresses, keys, ids. */
  async function fillIn(text: string): Promise<string> {
    let typed = text.replace("node dist/", `node '${join(ROOT, "dist")}'/`).replace("<port>", new URL(hosted.url).port);
    if (typed.includes("<address>")) {
      const { stdout } = await expectExit(project, 0, "service", "list", "cloud://acme:main", "--json");
      address = JSON.parse(stdout).services[0].endpoint;
      typed = typed.replace("<address>", address);
    }
    if (typed.includes("sk_...")) typed = typed.replace("sk_...", await makeKey(`made-${Date.now()}`));
    if (/operations \w+ (ID|<id>)/.test(typed)) {
      const { stdout } = await expectExit(project, 0, "operations", "list", "--json");
      const { operations } = JSON.parse(stdout);
      typed = typed.replace(/ID$|<id>/, operations.find(({ state }: { state: string }) => state === "succeeded").id);
    }
    return typed;
  }

  async function makeKey(name: string): Promise<string> {
    return (await hosted.browse("POST", "/v1/orgs/acme/keys", { name })).json.api_key;
  }
});

function isLeftOut({ text }: TypedLine): boolean {
  return Object.keys(NOT_TYPED).some((beginning) => text.startsWith(beginning));
}

/** A pattern for a page's output, where codes, ports and secrets vary. */
function shownAs(block: string): RegExp {
  const escaped = block.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const varying = escaped
    .replaceAll(/WXYZ-?1234/g, "[A-Z0-9-]+")
    .replaceAll(/:\d{5}/g, ":\\d+")
    .replaceAll("\\.\\.\\.", "\\S+");
  return new RegExp(`^${varying}$`, "m");
}

function tell(at: string, typed: string, { code, stderr, stdout }: Finished): string {
  return `${at}: ${typed}\nexit ${code}\n${stdout}${stderr}`;
}
