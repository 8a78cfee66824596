import { describe, expect, test } from "vitest";
import { AppError } from "./errors.ts";
import { type ConfigLocation, databaseEntrySchema, localEntry, parseServiceConfig } from "./service-toml.ts";

const place: ConfigLocation = { file: "service.toml", section: "service", lineOf: () => 7 };

function refusal(value: unknown): AppError {
  try {
    parseServiceConfig(value, place);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("was accepted");
}

describe("service.toml", () => {
  test("accepts every documented key", () => {
    const local = { vars: { region: "eu" }, exclude: ["data/**"], include: ["data/keep.csv"] };
    const hosted = {
      name: "cloud://acme:main",
      include_only: ["*.py"],
      python_version: "3.12",
      system_packages: ["ffmpeg", "libpq5=17.2-1"],
      uv_options: "--extra gpu",
      cpu: 0.5,
      memory_mb: 1024,
      disk_gb: 10,
      media_gb: 100,
      workers: 2,
      db_input_media_dest: "s3://bucket/in",
      db_output_media_dest: "s3://bucket/out",
      db_media_sources: ["s3://bucket/given"],
      sleep_after: "15m",
      wake_on_request: true,
    };
    const config = parseServiceConfig({ api_key: "sk_1_x", database: [local, hosted] }, place);
    expect(config.database).toEqual([local, hosted]);
    expect(localEntry(config)).toEqual(local);
  });

  test("a project without entries has an empty local one", () => {
    expect(localEntry(parseServiceConfig({}, place))).toEqual({});
  });

  test("a misspelt key is refused with file, line and suggestion", () => {
    const error = refusal({ database: [{ memroy_mb: 512 }] });
    expect(error.code).toBe("config_invalid");
    expect(error.message).toBe(
      "service.toml:7: 'memroy_mb' in [[service.database]]: is not a known key; did you mean 'memory_mb'?",
    );
    expect(error.hint).toBe("Write memory_mb instead of memroy_mb.");
    expect(refusal({ databse: [] }).message).toContain("did you mean 'database'?");
  });

  test("an unknown key is refused with the list of keys", () => {
    expect(refusal({ database: [{ colour: "red" }] }).hint).toContain("name, vars, include");
  });

  test("a placeholder name never fails", () => {
    expect(
      parseServiceConfig({ database: [{}, { name: "cloud://<your-org>:main", cpu: 1 }] }, place).database,
    ).toHaveLength(2);
  });

  test.each([
    [{ name: "acme:main" }, "omit the name"],
    [{ name: "cloud://ACME:main" }, "ACME"],
    [{ cpu: "2" }, "must be a number"],
    [{ cpu: 0 }, "more than 0"],
    [{ memory_mb: 1.5 }, "an integer"],
    [{ workers: 0 }, "at least 1"],
    [{ exclude: "data" }, "a list"],
    [{ exclude: [1] }, "text in quotes"],
    [{ python_version: "2.7" }, "3.12"],
    [{ sleep_after: "15" }, "15m"],
    [{ wake_on_request: "yes" }, "true or false"],
    [{ system_packages: ["a; rm -rf /"] }, "Debian package"],
    [{ vars: { a: 1 } }, "text in quotes"],
    [{ include_only: ["a"], exclude: ["b"] }, "conflicts with"],
  ])("refuses %j", (entry, reason) => {
    expect(refusal({ database: [entry] }).message).toContain(reason);
  });

  test("refuses two entries of one name, also two local ones", () => {
    expect(refusal({ database: [{}, {}] }).message).toContain("second entry without a name");
    const twice = { name: "cloud://acme:main" };
    expect(refusal({ database: [twice, twice] }).message).toContain("second entry of this name");
  });

  test("reports all problems at once", () => {
    const error = refusal({ database: [{ cpu: 0, workers: 0 }] });
    expect(error.message.split("\n")).toHaveLength(2);
    expect(error.errors?.map((field) => field.pointer)).toEqual(["/database/0/cpu", "/database/0/workers"]);
  });

  test("a message does not repeat a secret", () => {
    expect(JSON.stringify(refusal({ api_key: "sk_1_secret", databse: [] }))).not.toContain("sk_1_secret");
  });
});

test.each<[object, string]>([
  [{ database: {} }, "Write the header of this section in double brackets: each database has its own."],
  [{ database: [{ workers: "2" }] }, "Write for example: workers = 2"],
  [{ database: [{ python_version: 3.12 }] }, 'Write for example: python_version = "3.12"'],
  [{ database: [{ exclude: "notebooks/" }] }, 'Write for example: exclude = ["notebooks/"]'],
  [{ database: [{ vars: { STAGE: 1 } }] }, 'Write for example: vars = { STAGE = "test" }'],
  [{ database: [{ wake_on_request: "yes" }] }, "Write for example: wake_on_request = true"],
  [{ api_key: 3 }, 'Write for example: api_key = "sk_..."'],
  [{ database: [{}, {}] }, "Remove one of the two entries, or give it another name."],
  [{ database: [{ name: "main" }] }, 'Remove name = "main": all local databases use the entry without a name.'],
  [{ database: [{ name: "acme:other" }] }, "Write: cloud://acme:other"],
  [{ database: [{ name: "cloud://other" }] }, "Write for example: cloud://other:main"],
  [{ database: [{ include_only: ["a"], exclude: ["b"] }] }, "Remove include_only, or remove include and exclude."],
])("the hint for %j says what to write", (value, hint) => {
  expect(refusal(value).hint).toBe(hint);
});

test("each example value of a key is valid", () => {
  const written = Object.keys(databaseEntrySchema.shape).map((key) => {
    const hint = refusal({ database: [{ [key]: { x: [1] } }] }).hint ?? "";
    return [key, /^Write for example: \w+ = (.*)$/.exec(hint)?.[1]] as const;
  });
  for (const [key, value = ""] of written) {
    const parsed = key === "vars" ? { STAGE: "test" } : JSON.parse(value);
    expect(databaseEntrySchema.safeParse({ [key]: parsed }), key).toMatchObject({ success: true });
  }
});
