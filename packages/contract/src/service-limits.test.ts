import { describe, expect, test } from "vitest";
import {
  howToRaiseBodies,
  limitSettings,
  limitsOfPod,
  limitVariable,
  listLimits,
  readServiceLimits,
  toServiceLimits,
} from "./service-limits.ts";
import { DEFAULT_LIMITS } from "./service-spec.ts";

describe("the limits of a service", () => {
  test("have defaults for missing or empty variables", () => {
    expect(readServiceLimits({ SERVICE_RESULT_ROWS: "" })).toEqual({ limits: DEFAULT_LIMITS });
    expect(readServiceLimits({ SERVICE_RESULT_ROWS: "7", SERVICE_ROUTE_REQUESTS: "3" })).toEqual({
      limits: { ...DEFAULT_LIMITS, result_rows: 7, route_requests: 3 },
    });
  });

  test("that are not integers or too small are reported together", () => {
    const env = { SERVICE_WORKER_MEMORY_MB: "15", SERVICE_BODY_BYTES: "1e3", SERVICE_WORKERS: "99999999999999999" };
    expect(readServiceLimits(env)).toEqual({
      problems: [
        "SERVICE_WORKERS is '99999999999999999', expected a whole number of at least 1",
        "SERVICE_WORKER_MEMORY_MB is '15', expected a whole number of at least 16",
        "SERVICE_BODY_BYTES is '1e3', expected a whole number of at least 1",
      ],
    });
  });

  test("each have the variable that hints name", () => {
    const names = Object.keys(DEFAULT_LIMITS).filter((name) => name !== "connections");
    const set = Object.keys(limitSettings).map((variable) => toServiceLimits({ [variable]: 12_345 }));
    const changed = set.flatMap((limits) => Object.entries(limits).filter(([, value]) => value === 12_345));
    expect(changed.map(([name]) => name).sort()).toEqual(names.sort());
    expect(toServiceLimits({ SERVICE_LIVE_BYTES: 9 })).toEqual({ ...DEFAULT_LIMITS, live_bytes: 9 });
    expect(limitVariable("live_bytes")).toBe("SERVICE_LIVE_BYTES");
  });
});

test("lists limits in force with their variables and defaults", () => {
  const listed = listLimits({ ...DEFAULT_LIMITS, workers: 4 });
  expect(listed).toContainEqual({ name: "workers", value: 4, setting: "SERVICE_WORKERS", default: 1 });
  expect(listed).toContainEqual({ name: "connections", value: 6, setting: null, default: 6 });
});

describe("a limit of bodies is raised", () => {
  const limits = { body_bytes: 16 * 1024 ** 2 };

  test("by the variable of this machine", () => {
    expect(howToRaiseBodies(limits)).toBe("raise SERVICE_BODY_BYTES");
  });

  test("by the server's setting in a pod with enough memory, otherwise by its memory", () => {
    expect(howToRaiseBodies(limitsOfPod(limits, 1_024))).toBe("raise SERVICE_MAX_BODY_MB of the server");
    const ofSmall = { body_bytes: 8 * 1024 ** 2 };
    expect(limitsOfPod(ofSmall, 256)).toMatchObject(ofSmall);
    expect(howToRaiseBodies(limitsOfPod(ofSmall, 256))).toBe("raise memory_mb of the database");
  });
});
