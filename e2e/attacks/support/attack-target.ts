import { eventually } from "@appdb/testkit/eventually";
import { type Finished, openTestProject, type TestProject } from "@appdb/testkit/test-project";
import { expect } from "vitest";
import { type Asked, type Hosted, send, startHosted, startServer } from "../../support/hosted.ts";
import { writeFile } from "../../support/served.ts";
import { archiveOf } from "../../support/tree.ts";
import { TENANT_APP } from "./tenant-app.ts";

/** One organization of the target. All requests carry its API key. */
export interface Tenant {
  readonly name: string;
  readonly key: string;
  readonly database_id: string;
  /** Address of the service `tools` of its database. */
  readonly tools: string;
  /** Sends a request below `/v1/orgs/<name>`. NDJSON answers have only a text. */
  ask(method: string, path: string, body?: object | Uint8Array): Promise<Asked>;
  /** Waits until the database has this state and no running operation. */
  settles(state: string): Promise<void>;
  /** Uploads blobs and fails unless the server stores them. */
  upload(blobs: readonly (string | Uint8Array)[]): Promise<void>;
  /** Runs `cli deploy` with this application text. */
  deploy(app: string): Promise<Finished>;
  /** Waits for the end of an operation and returns its state. */
  ends(operation: string): Promise<string>;
}

/** A built server with two organizations that run the same application. */
export interface AttackTarget extends AsyncDisposable {
  readonly project: TestProject;
  readonly hosted: Hosted;
  readonly victim: Tenant;
  readonly mallory: Tenant;
  /** Stops the server with its pods, and starts it again on its home and port. */
  restart(): Promise<void>;
}

const READY_MS = 60_000;
/** Both databases wake on a request with a key. */
const PROJECT = `[service]

[[service.database]]
name = "cloud://victim:main"
wake_on_request = true

[[service.database]]
name = "cloud://mallory:main"
wake_on_request = true
`;

/**
 * Starts the built server with these settings and deploys the application of each organization. Plain processes allow
 * only one, which is then its own victim.
 */
export async function openAttackTarget(
  settings: Readonly<Record<string, string>>,
  names: readonly string[] = ["victim", "mallory"],
): Promise<AttackTarget> {
  const project = openTestProject({ env: settings });
  try {
    const hosted = await startHosted(project);
    await hosted.setUp("ann@example.com");
    writeFile(project, "service.toml", PROJECT);
    const tenants: Tenant[] = [];
    for (const name of names) tenants.push(await openTenant(project, hosted, name));
    const [victim, mallory = victim] = tenants;
    if (victim === undefined || mallory === undefined) throw new Error("No organization is named.");
    return {
      project,
      hosted,
      victim,
      mallory,
      async restart() {
        await hosted.server.interrupt("SIGTERM");
        await startServer(project);
      },
      [Symbol.asyncDispose]: () => project[Symbol.asyncDispose](),
    };
  } catch (error) {
    await project[Symbol.asyncDispose]();
    throw error;
  }
}

async function openTenant(project: TestProject, hosted: Hosted, name: string): Promise<Tenant> {
  expect(await hosted.browse("POST", "/v1/orgs", { name })).toMatchObject({ status: 201 });
  const key = (await hosted.browse("POST", `/v1/orgs/${name}/keys`, { name: "attack" })).json.api_key as string;
  const ask: Tenant["ask"] = (method, path, body) => send(`${hosted.url}/v1/orgs/${name}${path}`, key, method, body);
  const settles: Tenant["settles"] = async (state) => {
    await eventually(
      async () => {
        const { json } = await ask("GET", "/databases/main");
        expect(json, JSON.stringify(json)).toMatchObject({ state, operation: null });
      },
      { timeout_ms: READY_MS },
    );
  };
  await settles("AVAILABLE");
  const deploy: Tenant["deploy"] = async (app) => {
    project.env.SERVICE_API_KEY = key;
    writeFile(project, "app.py", app);
    return await project.cli("deploy", "app.py", `cloud://${name}:main`, "-f", "--allow-destructive");
  };
  const deployed = await deploy(TENANT_APP);
  expect(deployed, deployed.stderr).toMatchObject({ code: 0 });
  const { id } = (await ask("GET", "/databases/main")).json;
  const { endpoint } = (await ask("GET", "/databases/main/services/tools")).json;
  return {
    name,
    key,
    ask,
    deploy,
    settles,
    database_id: id,
    tools: endpoint,
    upload: async (blobs) => {
      const stored = await ask("PUT", "/blobs", archiveOf(blobs));
      expect(stored, stored.text).toMatchObject({ status: 200 });
    },
    ends: (operation) =>
      eventually(
        async () => {
          const { json, text } = await ask("GET", `/operations/${operation}`);
          expect(json?.ended_at, text).toEqual(expect.any(String));
          return json.state as string;
        },
        { timeout_ms: READY_MS },
      ),
  };
}
