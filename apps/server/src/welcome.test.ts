import { existsSync, fstatSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isJournal, writeWelcome } from "./welcome.ts";

const url = "http://127.0.0.1:8080";
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "appdb-welcome-"));
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

test("prints the link of the first account unless a journal stores the output", () => {
  const text = writeWelcome({ home, url, token: "secret", is_journal: false });
  expect(text).toBe(`Dashboard: ${url}\nMake the first account: ${url}/setup?token=secret\n\n`);
  expect(existsSync(join(home, "server/first-account"))).toBe(false);
});

test("writes the link into a private file under a journal", () => {
  const file = join(home, "server/first-account");
  const text = writeWelcome({ home, url, token: "secret", is_journal: true });
  expect(text).not.toContain("secret");
  expect(text).toContain(file);
  expect(readFileSync(file, "utf8")).toBe(`${url}/setup?token=secret\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("removes the file once there is an account", () => {
  writeWelcome({ home, url, token: "secret", is_journal: true });
  writeWelcome({ home, url, token: undefined, is_journal: true });
  expect(existsSync(join(home, "server/first-account"))).toBe(false);
});

test("detects a journal only if the output is its stream", () => {
  const { dev, ino } = fstatSync(process.stdout.fd);
  expect(isJournal(`${dev}:${ino}`)).toBe(true);
  expect(isJournal(`${dev}:${ino + 1}`)).toBe(false);
  expect(isJournal(undefined)).toBe(false);
});
