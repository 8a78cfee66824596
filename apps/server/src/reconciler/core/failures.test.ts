import { appError } from "@appdb/contract/errors";
import { describe, expect, test } from "vitest";
import { fromMachineError, retryAfter } from "./failures.ts";

const system = (code: string) => Object.assign(new Error(`${code}: no`), { code });

describe("errors of the machine", () => {
  test.each([
    ["ENOSPC", "disk_full"],
    ["EDQUOT", "disk_full"],
    ["EAGAIN", "machine_exhausted"],
    ["EMFILE", "machine_exhausted"],
  ])("%s is reported as %s", (code, told) => {
    expect(fromMachineError(system(code))?.code).toBe(told);
  });

  test("are found as causes of our errors", () => {
    const error = appError("pod_failed", { detail: "A pod could not be run.", cause: system("EAGAIN") });
    expect(fromMachineError(error)).toMatchObject({ code: "machine_exhausted", meta: { code: "EAGAIN" } });
  });

  test("exclude other errors", () => {
    expect(fromMachineError(system("ENOENT"))).toBeUndefined();
    expect(fromMachineError(appError("app_invalid", { detail: "no" }))).toBeUndefined();
    expect(fromMachineError("text")).toBeUndefined();
  });
});

describe("an automatic restart", () => {
  test("follows after growing pauses of up to ten minutes", () => {
    const after = [1, 5, 6, 7, 8, 9, 40].map((failed) => retryAfter("database", "pods_unavailable", failed));
    expect(after).toEqual([60, 60, 120, 240, 480, 600, 600]);
  });

  test("does not follow a failure that the tenant must fix", () => {
    for (const code of ["app_invalid", "master_key_wrong", "image_missing", "internal_error"]) {
      expect(retryAfter("database", code, 1)).toBeUndefined();
    }
    expect(retryAfter("service", "pod_failed", 1)).toBeUndefined();
    expect(retryAfter("database", "pod_failed", 1)).toBe(60);
  });
});
