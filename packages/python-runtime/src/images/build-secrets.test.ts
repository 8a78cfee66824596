import { expect, test } from "vitest";
import { hideSecrets, selectBuildSecrets } from "./build-secrets.ts";

test("passes credentials of indexes, git and proxies, and names in its files", () => {
  const files = [
    { path: "requirements.txt", text: `--index-url https://me:${"$"}{MY_TOKEN}@example.com/simple\n` },
    { path: "uv.lock", text: `${"$"}{IN_LOCK}` },
    { path: "libs/", text: `${"$"}{IN_LISTING}` },
  ];
  const secrets = Object.fromEntries(
    [
      "MY_TOKEN",
      "IN_LOCK",
      "IN_LISTING",
      "IN_OPTIONS",
      "OPENAI_API_KEY",
      "AWS_SECRET_ACCESS_KEY",
      "UV_PUBLISH_TOKEN",
      "UV_INDEX_OWN_PASSWORD",
      "UV_INDEX_OWN_USERNAME",
      "UV_PYTHON",
      "UV_CACHE_DIR",
      "GIT_CONFIG_KEY_0",
      "GIT_SSH_COMMAND",
      "HTTPS_PROXY",
      "https_proxy",
      "LD_PRELOAD",
      "PATH",
      "PYTHONPATH",
    ].map((name) => [name, "value"]),
  );
  const chosen = selectBuildSecrets({ files, uv_options: `--index ${"$"}{IN_OPTIONS}` }, secrets);
  expect(Object.keys(chosen).sort()).toEqual(
    [
      "GIT_CONFIG_KEY_0",
      "HTTPS_PROXY",
      "IN_OPTIONS",
      "MY_TOKEN",
      "UV_INDEX_OWN_PASSWORD",
      "UV_INDEX_OWN_USERNAME",
      "https_proxy",
    ].sort(),
  );
});

test("hides every secret in output, plain, in addresses and line by line", () => {
  const hide = hideSecrets({ A: "pass word", B: "pass word and more", C: "one line\nanother line", D: "on" });
  expect(hide("x pass word and more y pass word z pass%20word on")).toBe("x *** y *** z *** on");
  expect(hide("another line")).toBe("***");
});

test("hides a long secret completely and in parts", () => {
  const secret = Array.from({ length: 300 }, (_, at) => String.fromCharCode(97 + ((at * at) % 26)))
    .join("")
    .concat("end");
  const hide = hideSecrets({ A: secret });
  expect(hide(`a ${secret} b`)).toBe("a *** b");
  expect(hide(secret.slice(0, 96))).toBe("***");
});

test("shows short lines of a secret but hides its values", () => {
  const hide = hideSecrets({ A: "end\nfi\nlong enough", B: "abcd" });
  expect(hide("end fi long enough abcd")).toBe("end fi *** ***");
});

test("hides many large secrets in many lines", { timeout: 60_000 }, () => {
  const secrets = Object.fromEntries(
    Array.from({ length: 400 }, (_, at) => [`S${at}`, `${at}\n`.repeat(3_000) + "a".repeat(40_000 + at)]),
  );
  const hide = hideSecrets(secrets);
  const line = "a".repeat(4_000);
  for (let left = 300; left > 0; left--) expect(hide(line)).not.toContain("aaaaaaaa".repeat(8));
});

test.each(Array.from({ length: 80 }, (_, at) => at + 4))("hides a secret of %i characters completely", (length) => {
  const secret = Array.from({ length }, (_, at) => String.fromCharCode(33 + ((at * 7 + length) % 90))).join("");
  const hide = hideSecrets({ A: secret, B: "beside it" });
  expect(hide(`${secret} = ${secret}, beside it`)).toBe("*** = ***, ***");
});

test("hides secrets of all lengths with a common prefix in time", { timeout: 30_000 }, () => {
  const secrets = Object.fromEntries(
    Array.from({ length: 400 }, (_, at) => [`S${at}`, `${"a".repeat(4 + (at % 60))}${at}`]),
  );
  const hide = hideSecrets(secrets);
  const line = `${"a".repeat(3)}b`.repeat(1_000);
  // testing each length at each character would take about a minute
  for (let left = 1_000; left > 0; left--) expect(hide(line)).toBe(line);
});
