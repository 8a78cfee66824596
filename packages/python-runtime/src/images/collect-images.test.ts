import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COLLECT_LIMITS, collectImages, type ImageEntry, selectUnused } from "./collect-images.ts";

const NOW = new Date("2026-01-31T00:00:00Z");
const HOUR_MS = 3_600_000;
const ago = (hours: number) => new Date(NOW.getTime() - hours * HOUR_MS);
const entry = (name: string, hours: number, orgId = "one"): ImageEntry => ({
  org_id: orgId,
  name,
  changed_at: ago(hours),
});
const NOBODY = { desired: new Set<string>(), oldest_pods: new Map<string, Date>() };
const names = (entries: readonly ImageEntry[]) => entries.map(({ org_id: orgId, name }) => `${orgId}/${name}`);

test("removes an image that is unused and older than a week", () => {
  const use = { ...NOBODY, desired: new Set(["one/wanted", "two/other"]) };
  const entries = [entry("wanted", 1_000), entry("old", 169), entry("young", 167), entry("other", 1_000)];
  expect(names(selectUnused(entries, use, COLLECT_LIMITS, NOW))).toEqual(["one/old", "one/other"]);
});

test("keeps running builds and removes those of killed ones", () => {
  const entries = [entry("draft-a1", 1), entry("draft-b2", 3), entry("draft-c3", -5)];
  expect(names(selectUnused(entries, NOBODY, COLLECT_LIMITS, NOW))).toEqual(["one/draft-b2"]);
});

test("removes a replaced image once all pods were started later", () => {
  const former = (hours: number, orgId: string) => entry(`former-${ago(hours).getTime()}-ab`, 1_000, orgId);
  const use = {
    ...NOBODY,
    oldest_pods: new Map([
      ["one", ago(5)],
      ["two", ago(5)],
    ]),
  };
  const entries = [former(6, "one"), former(4, "two"), former(4, "three"), entry("former-odd", 9, "two")];
  expect(names(selectUnused(entries, use, COLLECT_LIMITS, NOW))).toEqual([
    `one/former-${ago(6).getTime()}-ab`,
    `three/former-${ago(4).getTime()}-ab`,
  ]);
});

test("removes unused images with their contents, and oversized caches", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-collect-"));
  try {
    for (const [path, hours] of [
      ["images/one/old", 1_000],
      ["images/one/kept", 1_000],
      ["caches/one", 0],
      ["caches/two", 0],
      ["caches/shared/venv-left", 3],
      ["caches/shared/venv-made", 1],
    ] as const) {
      mkdirSync(join(folder, path, "venv", "lib"), { recursive: true });
      writeFileSync(join(folder, path, "venv", "lib", "file"), "x".repeat(path === "caches/two" ? 100_000 : 10));
      utimesSync(join(folder, path), ago(hours), ago(hours));
    }
    const use = { ...NOBODY, desired: new Set(["one/kept"]) };
    const folders = { images: join(folder, "images"), caches: join(folder, "caches") };
    const limits = { ...COLLECT_LIMITS, org_cache_bytes: 50_000 };
    expect(await collectImages(folders, use, limits, NOW)).toBe(3);
    expect(readdirSync(join(folders.images, "one"))).toEqual(["kept"]);
    expect(readdirSync(folders.caches).sort()).toEqual(["one", "shared"]);
    expect(readdirSync(join(folders.caches, "shared"))).toEqual(["venv-made"]);
    expect(await collectImages(folders, use, { ...limits, cache_files: 1 }, NOW)).toBe(2);
    expect(
      await collectImages({ images: join(folder, "nowhere"), caches: join(folder, "nowhere") }, use, limits, NOW),
    ).toBe(0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
