import { join } from "node:path";
import { openTestProject, type TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { copyExample } from "./support/examples.ts";
import { isAvailable, startWithAcme } from "./support/hosted.ts";
import { expectExit, type Listed } from "./support/served.ts";

/** Runs a program whose requests have a key, which examples do not know. */
const WITH_KEY = `
import runpy, sys, urllib.request
opener = urllib.request.build_opener()
opener.addheaders = [("X-api-key", sys.argv[1])]
urllib.request.install_opener(opener)
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
`;
const TIMEOUT = 240_000;

let project: TestProject;
let key: string;

beforeAll(async () => {
  project = openTestProject();
  await startWithAcme(project);
  key = JSON.parse((await expectExit(project, 0, "key", "create", "client", "--json")).stdout).api_key;
}, TIMEOUT);
afterAll(async () => {
  await project[Symbol.asyncDispose]();
}, TIMEOUT);

test.each(["sprint", "clips", "manuals"])(
  "the example %s gives the same answers from a hosted database",
  { timeout: TIMEOUT },
  async (name) => {
    // an organization has three databases, one of them `main`
    const target = `cloud://acme:${name === "sprint" ? "main" : name}`;
    copyExample(name, project);
    const run = async (line: string) => {
      const ran = await project.type(`cd "${join(project.folder, name)}" && ${line}`);
      expect(ran.code, `${line}\n${ran.stdout}${ran.stderr}`).toBe(0);
      return ran.stdout;
    };
    await run(`cli db update ${target} -f`);
    await isAvailable(project, target);
    await run(`cli schema update app.py ${target}`);
    await run(`cli service update app.py ${target} -f`);
    const { services } = JSON.parse(await run(`cli service list ${target} --json`));
    const [service] = services as Listed[];
    expect(service?.state, JSON.stringify(services)).toBe("AVAILABLE");
    const said = await run(`python3 -c '${WITH_KEY}' ${key} client.py ${service?.endpoint}`);
    expect(said).toContain("Every answer is as it has to be.");
    await run(`cli schema diff app.py ${target}`);
  },
);
