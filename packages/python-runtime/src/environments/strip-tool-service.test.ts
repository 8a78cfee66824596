import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { environmentPart, stripToolService } from "./strip-tool-service.ts";

const CASES: [what: string, text: string, stripped: string][] = [
  ["nothing of ours", '[project]\nname = "a" # b\n\n[tool.ruff]\n', '[project]\nname = "a" # b\n\n[tool.ruff]\n'],
  ["an empty text", "", ""],
  ["a section at the end", '[project]\nname = "a"\n[tool.service]\napi_key = "sk"', '[project]\nname = "a"\n'],
  ["a section between others", "[a]\nx=1\n[tool.service]\ncpu = 1\n\n# k\n[b]\ny=2\n", "[a]\nx=1\n[b]\ny=2\n"],
  [
    "tables and arrays below it",
    "[tool.service.x]\na=1\n[[tool.service.database]]\nb=1\n[tool.services]\nc=1\n",
    "[tool.services]\nc=1\n",
  ],
  [
    "a section in two places",
    "[tool.service]\na=1\n[z]\nb=1\n[[tool.service.database]]\nc=1\n[y]\n",
    "[z]\nb=1\n[y]\n",
  ],
  ["spaces and quotes in headers", `[ tool . "service" ]\na=1\n[ 'tool'."\\u0073ervice".x ]\nb=1\n[q]\n`, "[q]\n"],
  [
    "dotted keys below [tool]",
    '[tool]\nruff.a = 1\nservice.api_key = "sk" # k\n"service" . b = 2\nuv.c = 3\n',
    "[tool]\nruff.a = 1\nuv.c = 3\n",
  ],
  ["dotted keys at the root", "tool.service.cpu = 1\ntool.uv.x = 2\n[tool.ruff]\n", "tool.uv.x = 2\n[tool.ruff]\n"],
  ["an inline table below [tool]", "[tool]\nservice = { cpu = 1, x = { y = 2 } }\nother = 1\n", "[tool]\nother = 1\n"],
  [
    "a member of an inline table",
    "tool = { ruff = 1, service = { a = 1 }, uv = 2 } # c\n",
    "tool = { ruff = 1, uv = 2 } # c\n",
  ],
  ["the first member", "tool = {service.a = 1, service.b = 2,uv = 2}\n", "tool = {uv = 2}\n"],
  ["the last member", "tool = { uv = 2, service = {} }\n", "tool = { uv = 2 }\n"],
  ["the only member", "tool = { service = {} }\nx = 1\n", "tool = {}\nx = 1\n"],
  [
    "a header within a string",
    'a = """\n[tool.service]\nb = 1\n"""\n[tool.service]\nc = """\n[d]\n"""\n[e]\n',
    'a = """\n[tool.service]\nb = 1\n"""\n[e]\n',
  ],
  [
    "quotes before the closing quotes",
    "a = \"\"\"x\"\"\"\"\"\n[tool.service]\n[b]\nc = ''''y''''\n",
    "a = \"\"\"x\"\"\"\"\"\n[b]\nc = ''''y''''\n",
  ],
  [
    "escaped quotes and brackets in strings",
    'a = "\\"]}" \n[tool.service]\nb = ["]", \'}"\']\n[c]\n',
    'a = "\\"]}" \n[c]\n',
  ],
  [
    "arrays over lines with comments",
    "a = [ # [tool.service]\n  1, # ]\n  [2],\n]\n[tool.service]\nb = [\n# [c]\n]\n",
    "a = [ # [tool.service]\n  1, # ]\n  [2],\n]\n",
  ],
  ["carriage returns", "[a]\r\nx = 1\r\n[tool.service]\r\ny = 1\r\n[b]\r\n", "[a]\r\nx = 1\r\n[b]\r\n"],
  ["a mark of the byte order", "\ufeff[tool.service]\na = 1\n[b]\n", "[b]\n"],
  [
    "dates and numbers",
    "a = 1979-05-27 07:32:00Z\n[tool.service]\nb = +1_000.5e-3\n[c]\nd = nan\n",
    "a = 1979-05-27 07:32:00Z\n[c]\nd = nan\n",
  ],
  [
    "names that only begin like it",
    "[tool.service-x]\na=1\n[toolx.service]\nb=1\n[service]\nc=1\n",
    "[tool.service-x]\na=1\n[toolx.service]\nb=1\n[service]\nc=1\n",
  ],
];

for (const [what, text, stripped] of CASES) {
  test(`removes [tool.service] and keeps all other bytes: ${what}`, () => {
    expect(stripToolService(text)).toBe(stripped);
    const tool = parse(stripped.replace("\ufeff", ""))["tool"] as Record<string, unknown> | undefined;
    expect(tool?.["service"]).toBeUndefined();
  });
}

test("leaves the parsed values of the rest unchanged", () => {
  for (const [, text] of CASES) {
    const before = parse(text.replace("\ufeff", "")) as { tool?: Record<string, unknown> };
    delete before.tool?.["service"];
    if (before.tool !== undefined && Object.keys(before.tool).length === 0) delete before.tool;
    const after = parse(stripToolService(text).replace("\ufeff", "")) as typeof before;
    if (after.tool !== undefined && Object.keys(after.tool).length === 0) delete after.tool;
    expect(after).toEqual(before);
  }
});

test("refuses invalid TOML with its line instead of sending a partial text", () => {
  for (const [text, line] of [
    ['[a]\nb = "open\n[tool.service]\n', 2],
    ["[a\n", 1],
    ["a = 1\n\nb\n", 3],
    ["a = [1, 2\n", 2],
    ["a = 1 b = 2\n", 1],
    ['a = {"b" = 1\n', 2],
  ] as const) {
    expect(() => stripToolService(text)).toThrow(
      expect.objectContaining({ code: "config_invalid", message: `pyproject.toml:${line}: invalid TOML.` }),
    );
  }
});

test("keeps only names, dependencies, groups and uv settings of a pyproject.toml", () => {
  const text = `# mine
[project]
name = "thing"
description = "words"
dependencies = [
  "iniconfig", # why
]
[project.optional-dependencies]
web = ["pluggy"]
[project.urls]
home = "https://example.com"
[tool.ruff]
line-length = 100
[[tool.uv.index]]
name = "own"
url = "https://example.com/simple"
[tool.service]
api_key = "sk_1"
[dependency-groups]
dev = ["x"]
`;
  expect(environmentPart(text)).toBe(`[project]
name = "thing"
dependencies = [
  "iniconfig", # why
]
[project.optional-dependencies]
web = ["pluggy"]
[[tool.uv.index]]
name = "own"
url = "https://example.com/simple"
[dependency-groups]
dev = ["x"]
`);
  expect(environmentPart(text.replace("line-length = 100", "line-length = 120").replace("words", "others"))).toBe(
    environmentPart(text),
  );
  expect(environmentPart(text.replaceAll("\n", "\r\n"))).toBe(environmentPart(text));
});
