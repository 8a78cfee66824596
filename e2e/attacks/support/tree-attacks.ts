import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TreeEntry } from "@appdb/contract/control/project-tree";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { collectEnvironment } from "@appdb/python-runtime/environments/collect-environment";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileEntry, linkEntry } from "../../support/tree.ts";
import type { AttackTarget, Tenant } from "./attack-target.ts";
import { TENANT_APP } from "./tenant-app.ts";

/** The three requests that make the server write project files into a build. */
const ROUTES = ["update", "build-image", "preparations"] as const;
type Route = (typeof ROUTES)[number];

interface Project {
  readonly texts: Readonly<Record<string, string>>;
  readonly links: Readonly<Record<string, string>>;
  /** Paths in the environment document besides the honest ones, with their listing texts. */
  readonly extra: readonly { readonly path: string; readonly text: string }[];
}

/** This package's build reveals each file named `canary` in its project through the version of its wheel. */
const BACKEND = `import os
import zipfile


def find():
    found = []
    for folder, folders, names in os.walk(".."):
        for name in names:
            if name.startswith("canary"):
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        found.append(file.read().hex())
                except OSError as error:
                    found.append(type(error).__name__)
    return found


def build_wheel(folder, config_settings=None, metadata_directory=None):
    version = "1+" + (".".join(["b", *sorted(find())]))
    name = "leak-" + version + "-py3-none-any.whl"
    info = "leak-" + version + ".dist-info/"
    files = {
        "leak.py": "",
        info + "METADATA": "Metadata-Version: 2.1\\nName: leak\\nVersion: " + version + "\\n",
        info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: leak\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    files[info + "RECORD"] = "".join(path + ",,\\n" for path in [*files, info + "RECORD"])
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name
`;

const PACKAGE: Readonly<Record<string, string>> = {
  "app.py": TENANT_APP,
  "requirements.txt": "./x\n",
  "x/pyproject.toml":
    '[project]\nname = "leak"\ndynamic = ["version"]\n[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
  "x/backend.py": BACKEND,
};

/** From a project's folder, `<home>/server/files/<database>/<digest>`, to the parent folder of the home. */
const UPS_TO_PLACE = 5;
const DEPTH = 24;
const NOTHING = "nothing";

/**
 * Registers attacks on the machine's files by project trees and environment documents. Canaries are next to the home
 * and next to the master key. Each attack starts with an honest build of the same package, which must reveal its own
 * canary.
 */
export function testTreeAttacks(open: () => AttackTarget): void {
  describe("a member who uploads links", () => {
    let beside: string;
    let held: string;
    let written: string;

    beforeAll(() => {
      const { project } = open();
      beside = join(dirname(project.home), "beside");
      written = join(dirname(project.home), "written");
      held = join(project.home, "server", "held");
      for (const folder of [beside, held, written]) mkdirSync(folder, { mode: 0o700 });
    });
    afterAll(() => {
      for (const folder of [beside, held, written]) rmSync(folder, { recursive: true, force: true });
    });

    test.each(ROUTES)("an honest %s builds the package and reveals its own canary", async (route) => {
      const { mallory } = open();
      const own = `own ${route}`;
      const { said } = await build(mallory, route, { texts: { "x/canary": own }, links: {}, extra: [] });
      expect(said).toContain(Buffer.from(own).toString("hex"));
    });

    test.each(ROUTES)("%s reads no file next to the home through nested links", async (route) => {
      const links = throughLink("t", UPS_TO_PLACE);
      expect(await readCanary(route, beside, { links, extra: [{ path: "t/beside/", text: "" }] })).toBe(NOTHING);
    });

    test.each(ROUTES)("%s reads no file next to the master key", async (route) => {
      const links = throughLink("t", UPS_TO_PLACE - 2);
      expect(await readCanary(route, held, { links, extra: [{ path: "t/held/", text: "" }] })).toBe(NOTHING);
    });

    test.each(ROUTES)("%s writes no file outside the build through a folder alias", async (route) => {
      const { mallory } = open();
      const name = `planted-${route}`;
      const { links, texts, extra } = throughAlias(written, name);
      await build(mallory, route, { texts, links, extra });
      expect(existsSync(join(written, name))).toBe(false);
    });

    /** Puts a unique canary into the folder and counts how much of it the member learns. */
    async function readCanary(route: Route, folder: string, project: Omit<Project, "texts">): Promise<string> {
      const secret = `canary ${randomBytes(8).toString("hex")}`;
      writeFileSync(join(folder, "canary"), secret, { mode: 0o600 });
      const { said } = await build(open().mallory, route, { texts: { "x/note": secret.slice(-8) }, ...project });
      return said.includes(Buffer.from(secret).toString("hex")) ? `${secret.length} bytes of the canary` : NOTHING;
    }

    test("the database still works afterwards", async () => {
      const { mallory } = open();
      await mallory.settles("AVAILABLE");
    });
  });
}

/** `t` leads `ups` folders up. Its text looks inside, because the path of the other link counts as folders. */
function throughLink(name: string, ups: number): Record<string, string> {
  const deep = Array.from({ length: DEPTH }, (_, at) => `d${at}`);
  const back = `${deep.join("/")}/back`;
  return {
    [back]: deep.map(() => "..").join("/"),
    [name]: [back, ...Array.from({ length: ups }, () => "..")].join("/"),
  };
}

/**
 * `t/q` is `x0/.../q` in the tree, where its relative link stays inside. Copied to `t/q` of the build, the link leads
 * to the target.
 */
function throughAlias(target: string, name: string): Project {
  const deep = Array.from({ length: DEPTH }, (_, at) => `x${at}`);
  const folder = deep.join("/");
  const out = [...deep.map(() => ".."), ".."].join("/");
  const inside = target.replace(/^\//, "");
  return {
    texts: { [`${folder}/q/plain`]: "here\n", [`${inside}/${name}`]: "planted\n" },
    links: { t: folder, [`${folder}/q/s`]: `${out}/${inside}` },
    extra: [
      { path: "t/q/", text: "" },
      { path: `t/q/s/${name}/`, text: "" },
    ],
  };
}

/** Sends the project, waits for the end of the work, and returns everything that the member learns. */
async function build(tenant: Tenant, route: Route, project: Project): Promise<{ readonly said: string }> {
  const { links, extra } = project;
  const texts = { ...PACKAGE, ...project.texts };
  const files: TreeEntry[] = [
    ...Object.entries(texts).map(([path, text]) => fileEntry(path, text)),
    ...Object.entries(links).map(([path, link]) => linkEntry(path, link)),
  ].sort((a, b) => (a.path < b.path ? -1 : 1));
  const honest = await collectEnvironment({
    entries: files.filter(({ path }) => path.startsWith("x/")),
    readText: async (path) => (texts as Record<string, string>)[path],
  });
  const environment: EnvironmentDocument = { ...honest, files: [...honest.files, ...extra] };
  await tenant.upload(Object.values(texts));
  await tenant.settles("AVAILABLE");
  const request = { settings: {}, files, environment };
  const planned = await tenant.ask("POST", "/databases/main/plan", request);
  const sent = {
    update: { ...request, expected_generation: planned.json?.generation ?? 0, allow_destructive: true },
    "build-image": request,
    preparations: { ...request, app_file: "app.py" },
  }[route];
  const answer = await tenant.ask("POST", `/databases/main/${route}`, sent);
  const id = answer.json?.operation?.id;
  if (id === undefined) return { said: `${planned.text}\n${answer.text}` };
  await tenant.ends(id);
  const log = await tenant.ask("GET", `/operations/${id}/log`);
  const logs = await tenant.ask("GET", "/databases/main/logs?source=build&tail=1000");
  return { said: [answer.text, log.text, logs.text].join("\n") };
}
