import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readServerConfig } from "../config/config.ts";
import { rotateMasterKey, takeNextMasterKey } from "./rotate-master-key.ts";

const FIRST = Buffer.alloc(32, 1).toString("base64");
const ENV_KEY = Buffer.alloc(32, 9).toString("base64");

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "appdb-rotate-"));
  mkdirSync(join(home, "server"));
  writeFileSync(place(""), `${FIRST}\n`);
});
afterEach(() => rmSync(home, { recursive: true }));

const place = (suffix: string) => join(home, "server", `master-key${suffix}`);
const read = (suffix: string) => (existsSync(place(suffix)) ? readFileSync(place(suffix), "utf8").trim() : undefined);
const rotate = (env: Record<string, string> = {}) => rotateMasterKey(readServerConfig({ SERVICE_HOME: home, ...env }));

describe("a new master key", () => {
  test("is written next to the current one, which stays until the next start", () => {
    const { file, former, next } = rotate();
    expect(file).toBe(place(".next"));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(next).not.toBe(former);
    expect(read("")).toBe(FIRST);
  });

  test("is the same if requested twice", () => {
    expect(rotate()).toEqual(rotate());
  });

  test("is refused if the settings contain the key", () => {
    expect(() => rotate({ SERVICE_MASTER_KEY: ENV_KEY })).toThrow(/SERVICE_MASTER_KEY/);
    expect(existsSync(place(".next"))).toBe(false);
  });
});

describe("the next start", () => {
  test("uses it, keeps the previous one, and later removes that", () => {
    rotate();
    const made = read(".next");
    const taken = takeNextMasterKey(home);
    expect([taken.current?.reveal(), taken.previous?.reveal()]).toEqual([made, FIRST]);
    expect([read(""), read(".previous"), read(".next")]).toEqual([made, FIRST, undefined]);
    taken.forgetPrevious();
    expect([read(""), read(".previous")]).toEqual([made, undefined]);
  });

  test("continues after a kill", () => {
    rotate();
    const made = read(".next");
    writeFileSync(place(".previous"), `${FIRST}\n`);
    expect(takeNextMasterKey(home).current?.reveal()).toBe(made);
    // killed before anything was encrypted
    const again = takeNextMasterKey(home);
    expect([again.current?.reveal(), again.previous?.reveal()]).toEqual([made, FIRST]);
  });

  test("takes no second key before the previous one is unused", () => {
    rotate();
    const second = read(".next");
    takeNextMasterKey(home);
    rotate();
    const third = read(".next");
    const taken = takeNextMasterKey(home);
    expect([taken.current?.reveal(), taken.previous?.reveal(), read(".next")]).toEqual([second, FIRST, third]);
    taken.forgetPrevious();
    expect(takeNextMasterKey(home).current?.reveal()).toBe(third);
  });

  test("changes nothing without a new key", () => {
    const taken = takeNextMasterKey(home);
    expect([taken.current?.reveal(), taken.previous]).toEqual([FIRST, undefined]);
  });
});
