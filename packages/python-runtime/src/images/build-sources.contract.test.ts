import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { servePackages, sourceFiles } from "./testing/package-index.ts";
import { ask, below, openTestBuilds, PATH, type TestBuilds } from "./testing/test-builds.ts";

let builds: TestBuilds;

beforeEach(async () => {
  builds = await openTestBuilds();
});

afterEach(async () => {
  await builds[Symbol.asyncDispose]();
});

test("reads a private index with credentials from secrets and never shows them", async () => {
  builds.publish({ name: "tiny" }, "private");
  await using own = await servePackages(join(builds.folder, "private"), { credentials: "reader:pa55-w0rd" });
  const lock = await builds.locked(["tiny"], "", own.url.replace("//", "//reader:pa55-w0rd@"));
  const named = `[[tool.uv.index]]\nname = "own"\nurl = "${own.url}"\ndefault = true\n`;
  const files: Record<string, string> = { ...lock, "pyproject.toml": `${lock["pyproject.toml"]}${named}` };
  expect(files["uv.lock"]).not.toContain("pa55");
  await expect(
    builds.build({ files, secrets: { UV_INDEX_OWN_USERNAME: "reader", UV_INDEX_OWN_PASSWORD: "wrong-word" } }),
  ).rejects.toMatchObject({
    code: "build_failed",
    message: expect.stringMatching(/tiny.*401/s),
    hint: expect.stringContaining("UV_INDEX_<NAME>_USERNAME"),
  });
  const secrets = { UV_INDEX_OWN_USERNAME: "reader", UV_INDEX_OWN_PASSWORD: "pa55-w0rd" };
  expect((await builds.build({ files, secrets })).packages).toHaveLength(1);
  const address = own.url.replace("//", `//reader:${"$"}{INDEX_TOKEN}@`);
  const asked = { "requirements.txt": `--index-url ${address}\ntiny\nnone-such\n` };
  const failure = await builds
    .build({ files: asked, secrets: { INDEX_TOKEN: "pa55-w0rd" } })
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "build_failed", message: expect.stringContaining("none-such") });
  expect([...builds.lines, String(failure), JSON.stringify(failure)].join("\n")).not.toContain("pa55-w0rd");
  const right = { "requirements.txt": `--index-url ${address}\ntiny\n` };
  expect((await builds.build({ files: right, secrets: { INDEX_TOKEN: "pa55-w0rd" } })).packages).toHaveLength(1);
});

test("trusts a private authority from a secret or the operator", async () => {
  builds.publish({ name: "tiny" });
  const [cert, key] = makeCertificate();
  await using own = await servePackages(join(builds.folder, "packages"), { certificate: { cert, key } });
  const files = { "requirements.txt": `--index-url ${own.url}\ntiny\n` };
  await expect(builds.build({ files })).rejects.toMatchObject({
    code: "build_failed",
    hint: expect.stringContaining("BUILD_CA_CERTIFICATES"),
  });
  const caFile = join(builds.folder, "ca.pem");
  writeFileSync(caFile, cert);
  expect((await builds.build({ files, secrets: { BUILD_CA_CERTIFICATES: cert } })).packages).toHaveLength(1);
  expect((await builds.build({ files, options: { ca_file: caFile }, org: "two" })).packages).toHaveLength(1);
});

test("uses the operator's proxy", async () => {
  builds.publish({ name: "tiny" });
  // as a proxy, the index answers for a host that does not exist
  const files = { "requirements.txt": "--index-url http://packages.invalid/simple\ntiny\n" };
  await using proxy = await servePackages(join(builds.folder, "packages"), { is_proxy: true });
  const options = { network_env: { HTTP_PROXY: proxy.origin } };
  expect((await builds.build({ files, options })).packages).toEqual([{ name: "tiny", version: "1.0" }]);
});

test("builds a path dependency into the image and rebuilds when its files change", async () => {
  const filesOf = (text: string) => ({
    "requirements.txt": "./libs/own\n",
    ...below("libs/own", { ...sourceFiles("own", "1.0", "pass"), "own.py": text }),
  });
  const image = await builds.build({ files: filesOf("value = 1\n") });
  expect(ask(image, "import own, sys; print(own.value, own.__file__.startswith(sys.prefix))")).toBe("1 True");
  const next = await builds.build({ files: filesOf("value = 2\n") });
  expect(next.folder).not.toBe(image.folder);
  expect(ask(next, "import own; print(own.value)")).toBe("2");
  const broken = { ...filesOf("value = 3\n"), "libs/own/pyproject.toml": "[project\n" };
  const failure = await builds.build({ files: broken }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "build_failed" });
  expect(builds.lines).toContainEqual(expect.stringContaining("file://./libs/own"));
  // users read both, and must not see the server's paths
  expect([...builds.lines, String(failure), JSON.stringify(failure)].join("\n")).not.toContain(builds.folder);
});

test("fetches a git dependency", async () => {
  const repository = join(builds.folder, "repository");
  for (const [path, text] of Object.entries(sourceFiles("fromgit", "1.0", "pass"))) {
    mkdirSync(repository, { recursive: true });
    writeFileSync(join(repository, path), text);
  }
  const env = {
    PATH,
    HOME: builds.folder,
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@example.com",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@example.com",
  };
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    ["commit", "-qm", "a"],
  ])
    execFileSync("git", args, { cwd: repository, env });
  const files = { "requirements.txt": "fromgit @ git+https://git.example.com/own/fromgit.git\n" };
  // configures git's credentials and mirrors by secrets
  const secrets = {
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: `url.file://${repository}/.insteadOf`,
    GIT_CONFIG_VALUE_0: "https://git.example.com/own/fromgit.git",
  };
  expect((await builds.build({ files, secrets })).packages).toEqual([{ name: "fromgit", version: "1.0" }]);
});

/** A self-signed certificate for 127.0.0.1. */
function makeCertificate(): [cert: string, key: string] {
  const [cert, key] = [join(builds.folder, "cert.pem"), join(builds.folder, "key.pem")];
  const subject = [
    "-subj",
    "/CN=own authority",
    "-addext",
    "subjectAltName=IP:127.0.0.1",
    "-addext",
    "basicConstraints=critical,CA:FALSE",
    "-days",
    "2",
  ];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  execFileSync("openssl", [...kind, ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
  return [readFileSync(cert, "utf8"), readFileSync(key, "utf8")];
}
