import { describe, expect, test } from "vitest";
import { setApiUrl } from "./write-api-url.ts";

const URL = "https://cloud.example.com";
const LINE = `api_url = "${URL}"`;

describe("the server's address in config.toml", () => {
  test.each([
    ["an empty file", "", `[service]\n${LINE}\n`],
    ["a file without the section", "# mine\n", `# mine\n\n[service]\n${LINE}\n`],
    ["a last line without its end", "# mine", `# mine\n\n[service]\n${LINE}\n`],
    ["the section alone", "[service]\n", `[service]\n${LINE}\n`],
    [
      "a key and a comment",
      '[service]\n# my key\napi_key = "sk_x"\n',
      `[service]\n${LINE}\n# my key\napi_key = "sk_x"\n`,
    ],
    ["an address with a comment", "[service]\n  api_url = 'https://a' # old\n", `[service]\n  ${LINE} # old\n`],
    ["lines of Windows", '[service]\r\napi_url = "https://a"\r\n', `[service]\r\n${LINE}\r\n`],
    [
      "an api_url of another section",
      '[service]\n[other]\napi_url = "https://a"\n',
      `[service]\n${LINE}\n[other]\napi_url = "https://a"\n`,
    ],
  ])("is written into %s without other changes", (_what, before, after) => {
    expect(setApiUrl(before, URL)).toBe(after);
    expect(setApiUrl(after, URL)).toBe(after);
  });
});
