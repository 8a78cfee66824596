import { describe, expect, test } from "vitest";
import { readCliConfig } from "./config.ts";

describe("the command's environment", () => {
  test("treats empty or blank variables as not set", () => {
    expect(readCliConfig({ SERVICE_API_KEY: "", SERVICE_API_URL: " \n" })).toMatchObject({
      api_key: undefined,
      api_url: undefined,
    });
    expect(readCliConfig({ SERVICE_API_KEY: " sk_x\n" }).api_key).toBe("sk_x");
  });

  test("removes our secrets from the application's environment", () => {
    const env = { SERVICE_API_KEY: "sk_x", SERVICE_DATABASE_URL: "postgres://x", OPENAI_API_KEY: "sk_y" };
    expect(readCliConfig(env).application_env).toEqual({ OPENAI_API_KEY: "sk_y" });
  });

  test.each([
    ["linux", {}, false],
    ["linux", { DISPLAY: ":0" }, true],
    ["linux", { WAYLAND_DISPLAY: "wayland-0" }, true],
    ["darwin", {}, true],
    ["darwin", { SSH_CONNECTION: "192.0.2.7 50000 192.0.2.8 22" }, false],
    ["win32", {}, true],
  ] as const)("on %s with %j a browser can open: %s", (platform, env, shown) => {
    expect(readCliConfig(env, platform).has_display).toBe(shown);
  });
});

test.each([
  ["win32", { PATH: "C:\\Windows" }],
  ["linux", { Path: "C:\\Windows" }],
] as const)("finds the PATH of Windows by any case (%s)", (platform, env) => {
  expect(readCliConfig({ Path: "C:\\Windows" }, platform).application_env).toEqual(env);
});
