import { describe, expect, test } from "vitest";
import { firstDesired } from "../../database/desired.ts";
import { checkResources, planMediaLimit } from "./plan-resources.ts";

const GB = 1024 ** 3;
const MEDIA = { default_gb: 20, max_gb: 50 };
const RESOURCES = { cpu: 1, memory_mb: 1_024, disk_gb: 10, workers: 1 };
const { settings: SETTINGS } = firstDesired(RESOURCES);

describe("the limit of a media store in the bucket", () => {
  const usage = {
    disk_bytes: GB,
    disk_limit_bytes: 10 * GB,
    memory_bytes: null,
    is_disk_full: false,
    media_bytes: 3.2 * GB,
    is_media_in_bucket: true,
  };
  const plan = (from: number | undefined, to: number | undefined) => {
    const of = (gb: number | undefined) => (gb === undefined ? SETTINGS : { ...SETTINGS, media_gb: gb });
    return planMediaLimit(of(from), of(to), { media: MEDIA, usage });
  };

  test("changes with one restart, from the server's default or its own value", () => {
    expect(plan(undefined, 40)).toMatchObject([
      {
        target: "resources",
        severity: "additive",
        requires_restart: true,
        description: "media_gb will be 40 rather than 20, which restarts the database",
        details: { name: "media_gb", from: 20, to: 40 },
      },
    ]);
    expect(plan(40, 30)[0]?.description).toBe("media_gb will be 30 rather than 40, which restarts the database");
    expect(plan(40, 40)).toEqual([]);
  });

  test("may be below what the store holds, and the plan says that files are refused", () => {
    expect(plan(5, 3)).toMatchObject([
      {
        severity: "additive",
        description:
          "media_gb will be 3 rather than 5, which restarts the database; files are refused until its media store, which holds 3.20 GB, has room",
      },
    ]);
  });

  test("above the operator's maximum is refused, unless it was so before", () => {
    const check = (before: number | undefined) =>
      checkResources(
        { media_gb: 51 },
        { least: RESOURCES, most: RESOURCES },
        {
          uri: "cloud://acme:main",
          disk_bytes: 0,
          current: RESOURCES,
          media: MEDIA,
          media_gb: before,
        },
      );
    expect(() => check(undefined)).toThrow(
      expect.objectContaining({
        code: "resources_refused",
        message: expect.stringContaining("media_gb is 51; at most 50 (SERVICE_MAX_MEDIA_GB of the server)"),
        errors: [expect.objectContaining({ pointer: "/settings/media_gb" })],
      }),
    );
    expect(() => check(51)).not.toThrow();
  });
});
