// A hosted database with one service, deployed by the built command, and operations for its benchmark.
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseServicePodId, servicePaths } from "@appdb/server/pods/service-paths";
import { type HostedDatabases, MAIN, seconds, setDatabases } from "../hosted-databases.ts";

const SLOW_S = 2;
export const BODY = JSON.stringify({ title: "Hello from the benchmark", body: "A short text of a few words" });
export const SLOW_BODY = JSON.stringify({ title: "Hello from the benchmark" });

export interface HostedService extends AsyncDisposable {
  /** Address of an insert through the gateway. */
  readonly url: string;
  /** Address of a call that takes two seconds. */
  readonly slow_url: string;
  /** Headers with the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** Inserts one row through the gateway. */
  insert(): Promise<void>;
  /** The pod's plain HTTP socket, which serves the service's routes: `/docs`. */
  findSocket(): Promise<string>;
  /** Stops the database with its service and waits until all their processes ended. */
  putToSleep(): Promise<void>;
  setWorkers(count: number): Promise<void>;
  /** Changes the application and updates the service; returns the seconds of `service update`. */
  update(how: { readonly adds_column: boolean }): Promise<number>;
  /** MB of all pods. */
  memory(): Promise<number>;
  ownMemory: HostedDatabases["ownMemory"];
}

/**
 * Starts the product and deploys the service on a database that requests may wake. Disposing stops and removes
 * everything.
 */
export async function setService(): Promise<HostedService> {
  // one key from one address sends all the load
  const settings = { SERVICE_KEY_RATE: "1000000", SERVICE_MAX_ADDRESS_CONNECTIONS: "4096" };
  const hosted = await setDatabases("process", 1, settings);
  const write = (workers: number) => writeFile(join(hosted.folder, "service.toml"), writeSettings(workers));
  try {
    await write(1);
    await hosted.timeCreation();
    await hosted.command("db", "update", MAIN, "-f");
    let version = 0;
    let hasColumn = false;
    const change = async (addsColumn: boolean) => {
      version += 1;
      hasColumn ||= addsColumn;
      await writeFile(join(hosted.folder, "app.py"), writeApp(version, hasColumn));
      await hosted.command("db", "update", MAIN, "-f");
      if (addsColumn || version === 1) await hosted.command("schema", "update", "app.py", MAIN);
      const began = performance.now();
      await hosted.command("service", "update", "app.py", MAIN, "-f");
      return seconds(began);
    };
    await change(false);
    const find = async () => {
      const { services } = JSON.parse(await hosted.command("service", "list", MAIN, "--json"));
      return services[0] as { id: string; endpoint: string; state: string; pods: { id: string }[] };
    };
    const { endpoint } = await find();
    const url = `${endpoint}/docs`;
    const headers = { "x-api-key": hosted.key() };
    return {
      url,
      headers,
      slow_url: `${endpoint}/later`,
      memory: hosted.memory,
      ownMemory: hosted.ownMemory,
      async insert() {
        const answer = await fetch(url, {
          method: "POST",
          headers: { ...headers, "content-type": "application/json" },
          body: BODY,
        });
        const text = await answer.text();
        if (!answer.ok) throw new Error(`The row was refused: ${answer.status} ${text}`);
      },
      async findSocket() {
        const { id, pods } = await find();
        const instance = parseServicePodId(pods[0]?.id ?? "")?.instance;
        const [databaseId] = await readdir(join(hosted.home, "server", "databases"));
        if (instance === undefined || databaseId === undefined) throw new Error(`No pod serves ${endpoint}.`);
        const paths = { home: hosted.home, runtime_base: process.env.XDG_RUNTIME_DIR };
        return join(servicePaths(paths, { id, database_id: databaseId }, instance).run_folder, "http.sock");
      },
      async putToSleep() {
        await hosted.post("main/stop");
        await hosted.until("main", "STOPPED");
      },
      async setWorkers(workers) {
        await write(workers);
        await hosted.command("db", "update", MAIN, "-f");
        await change(false);
      },
      update: ({ adds_column: addsColumn }) => change(addsColumn),
      [Symbol.asyncDispose]: () => hosted[Symbol.asyncDispose](),
    };
  } catch (error) {
    await hosted[Symbol.asyncDispose]();
    throw error;
  }
}

function writeSettings(workers: number): string {
  return `[[service.database]]\n\n[[service.database]]\nname = "${MAIN}"\nwake_on_request = true\nworkers = ${workers}\n`;
}

function writeApp(version: number, hasColumn: boolean): string {
  return `import asyncio

import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router

Base = db.model_base()
VERSION = ${version}


@db.udf
async def wait(text: str) -> str:
    await asyncio.sleep(${SLOW_S})
    return f"{text} {VERSION}"


class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    body: db.String
    title_upper = upper(title)
${hasColumn ? "    body_upper = upper(body)\n" : ""}

class Waited(Base, name="waited"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    later = wait(title)


ingest = Router()
ingest.add_insert_route(Docs, path="/docs", inputs=[Docs.title, Docs.body], outputs=[Docs.id, Docs.title_upper])
ingest.add_compute_route(Waited, path="/later", inputs=[Waited.title], outputs=[Waited.later])
`;
}
