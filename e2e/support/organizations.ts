import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { type Hosted, signInCommand, startHosted } from "./hosted.ts";
import { expectExit, makeProject, writeFile } from "./served.ts";

const NAMES = ["acme", "other"] as const;
const READY_MS = 60_000;

/** `attack` tries to reach all given targets and reports what it sees of its environment. */
const APP = `import appdb as db
import glob
import json
import os
import socket
import tiny
from appdb.functions import uuid7

Base = db.model_base()


def attempt(work):
    try:
        work()
    except OSError as error:
        return type(error).__name__
    return "reached"


def listed(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return type(error).__name__


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


@db.udf
def shout(text: str) -> str:
    return tiny.shout(text)


@db.udf
def attack(told: str) -> str:
    targets = json.loads(told)
    processes = glob.glob("/proc/[0-9]*")
    return json.dumps({
        "paths": {path: listed(path) for path in targets["paths"]},
        "sockets": {path: attempt(lambda: socket.socket(socket.AF_UNIX).connect(path)) for path in targets["sockets"]},
        "ports": {port: attempt(lambda: socket.create_connection(("127.0.0.1", port), 2)) for port in targets["ports"]},
        "abstract": [line for line in read("/proc/net/unix").split("\\n") if "@" in line],
        "programs": sorted({read(f"{path}/comm").strip() for path in processes}),
        "environments": sorted({pair.split("=")[0] for path in processes for pair in read(f"{path}/environ").split("\\0") if pair}),
        "told": [word for word in targets["words"] if any(word in read(f"{path}/{name}") for path in processes for name in ("environ", "cmdline"))],
        "user": os.getuid(),
        "secret": os.environ.get("OWN"),
    })


class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    shouted = shout(title)


class Attacks(Base, name="attacks"):
    id = db.Column(value=uuid7(), primary_key=True)
    told: db.String
    said = attack(told)
`;

/** A package in the project's files, so that an image is built without a registry. */
export const MAKE_WHEEL = `import zipfile
with zipfile.ZipFile("tiny-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("tiny.py", "def shout(text): return text.upper() + '!'\\n")
    wheel.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n")
    wheel.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("tiny-1.dist-info/RECORD", "tiny.py,,\\ntiny-1.dist-info/METADATA,,\\ntiny-1.dist-info/WHEEL,,\\ntiny-1.dist-info/RECORD,,\\n")
`;

/**
 * Registers tests of two organizations on one server, with the built product and the configured driver: images, tables,
 * computed rows, stop and start, and code of one that attacks the other, the server and its own database's programs.
 */
export function testOrganizations(settings: Readonly<Record<string, string>>): void {
  test("isolates databases of two organizations from each other, the server and pods", {
    timeout: 180_000,
  }, async () => {
    await using project = await makeProject(APP, { env: settings });
    writeFile(project, "wheel.py", MAKE_WHEEL);
    writeFile(project, "requirements.txt", "./tiny-1-py3-none-any.whl\n");
    expect(await project.type("python3 wheel.py")).toMatchObject({ code: 0 });
    const hosted = await startHosted(project);
    expect(hosted.server.output()).toContain('"driver":"sandbox"');
    await hosted.setUp("ann@example.com");
    await signInCommand(project, hosted);
    const databases = [];
    for (const name of NAMES) databases.push(await makeDatabase(project, hosted, name));
    for (const { id, insert, name, secret } of databases) {
      expect(await insert("docs", { title: `of ${name}` })).toMatchObject({ shouted: `OF ${name.toUpperCase()}!` });
      const targets = targetsOf(project, hosted, databases);
      // the targets that must be unreachable exist
      expect([...targets.paths, ...targets.sockets].filter((path) => !existsSync(path))).toEqual([]);
      const words = databases.filter((other) => other.name !== name).map((other) => other.secret);
      const { said } = await insert("attacks", { told: JSON.stringify({ ...targets, words }) });
      const { environments, programs, ...found } = JSON.parse(String(said));
      expect(found).toEqual({
        paths: {
          ...Object.fromEntries(targets.paths.map((path) => [path, "FileNotFoundError"])),
          ...wayTo(project, id),
        },
        sockets: Object.fromEntries(targets.sockets.map((path) => [path, "FileNotFoundError"])),
        ports: Object.fromEntries(targets.ports.map((port) => [String(port), "ConnectionRefusedError"])),
        abstract: [],
        told: [],
        user: 1001,
        secret,
      });
      expect(programs.filter((program: string) => !/^(bwrap|python.*)$/.test(program))).toEqual([]);
      expect(environments.filter((variable: string) => /^SERVICE|TOKEN|PG/.test(variable))).toEqual([]);
    }
    for (const { name, rows } of databases) {
      expect((await expectExit(project, 0, "db", "stop", `cloud://${name}:main`)).stdout).toContain("STOPPED");
      expect((await expectExit(project, 0, "db", "start", `cloud://${name}:main`)).stdout).toContain("AVAILABLE");
      expect(await rows("docs")).toMatchObject([{ title: `of ${name}`, shouted: `OF ${name.toUpperCase()}!` }]);
    }
  });
}

interface MadeDatabase {
  readonly name: string;
  readonly id: string;
  readonly secret: string;
  insert(table: string, row: object): Promise<Record<string, unknown>>;
  rows(table: string): Promise<unknown[]>;
}

/** Creates an organization with the command, and the project's files and tables in its database. */
async function makeDatabase(project: TestProject, hosted: Hosted, name: string): Promise<MadeDatabase> {
  const uri = `cloud://${name}:main`;
  const secret = `own-secret-of-${name}`;
  const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);
  await expectExit(project, 0, "org", "create", name);
  await eventually(async () => expect(await json("db", "status", uri)).toMatchObject({ state: "AVAILABLE" }), {
    timeout_ms: READY_MS,
  });
  await expectExit(project, 0, "secret", "set", uri, `OWN=${secret}`);
  // the image reads the file before its database runs it; the start with the image loads the secret
  const deployed = await expectExit(project, 0, "deploy", "app.py", uri, "-f");
  expect(deployed.stdout).toContain("the image will be one that was built before");
  const { api_key: apiKey } = await json("key", "create", "backend");
  const { id } = await json("db", "status", uri);
  const ask = async (table: string, body?: object) => {
    const response = await fetch(`${hosted.url}/v1/orgs/${name}/databases/main/tables/${table}/rows`, {
      method: body === undefined ? "GET" : "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    return JSON.parse(text);
  };
  return { name, id, secret, insert: ask, rows: async (table) => (await ask(table)).rows };
}

/** A sandbox shows the folder with functions of the database's own programs, and otherwise only the way to it. */
function wayTo({ home }: TestProject, id: string): Record<string, string[]> {
  const databases = join(home, "server", "databases");
  return { [databases]: [id], [join(databases, id)]: ["data"], [join(databases, id, "data")]: ["programs"] };
}

/** Targets that no organization's code may reach: both databases' folders, the server's, and its address. */
function targetsOf({ env, home }: TestProject, { url }: Hosted, databases: readonly MadeDatabase[]) {
  const places = databases.map(({ id }) => {
    const folder = join(home, "server", "databases", id);
    const runFolder = nameRuntimeFolder(folder, env.XDG_RUNTIME_DIR);
    return { data_folder: join(folder, "data"), folder, run_folder: runFolder };
  });
  const server = ["auth-secret", "databases", "master-key", "pods", "postgres", "template"];
  return {
    paths: [
      ...server.map((path) => join(home, "server", path)),
      ...places.flatMap(({ data_folder: dataFolder, folder, run_folder: runFolder }) => [
        join(dataFolder, "postgres"),
        dataFolder,
        folder,
        runFolder,
      ]),
    ],
    sockets: places.flatMap(({ run_folder: runFolder }) =>
      readdirSync(runFolder)
        .filter((name) => /^(pod\.sock|\.s\.PGSQL\.\d+)$/.test(name))
        .map((name) => join(runFolder, name)),
    ),
    ports: [Number(new URL(url).port)],
  };
}
