import { describe, expect, test } from "vitest";
import { AppError } from "../errors.ts";
import { parseKeyName, parseSecretName } from "./resource-names.ts";

const codeOf = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
  return undefined;
};

describe("names of keys", () => {
  test.each(["ci", "CI", "edge-1", "a.b_c", "9", "x".repeat(63)])("accepts %s", (name) => {
    expect(parseKeyName(name)).toBe(name);
  });

  test.each(["", " ", "-ci", ".", "..", "a b", "a/b", "a\nb", "cї", "х", "x".repeat(64), "a\u0000"])(
    "refuses %j",
    (name) => {
      expect(codeOf(() => parseKeyName(name))).toBe("invalid_name");
    },
  );
});

describe("names of secrets", () => {
  test.each(["OPENAI_API_KEY", "_x", "a1", "MY_SERVICE_URL", "SERVICES"])("accepts %s", (name) => {
    expect(parseSecretName(name)).toBe(name);
  });

  test.each(["", "1A", "A-B", "A B", "A=B", "Ａ", "A\n", "A".repeat(129)])("refuses %j", (name) => {
    expect(codeOf(() => parseSecretName(name))).toBe("invalid_name");
  });

  test.each(["SERVICE_", "SERVICE_HOME", "service_api_key", "Service_X"])("%s is reserved", (name) => {
    expect(codeOf(() => parseSecretName(name))).toBe("secret_reserved");
  });
});
