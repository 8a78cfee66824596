import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeFolder } from "./remove-folder.ts";

const LEVELS = 400;
const ROUNDS = 3;
const WIDTH = 300;
let folder: string;
let kept: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remove-"));
  kept = join(folder, "kept");
  mkdirSync(kept);
  writeFileSync(join(kept, "file"), "");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("removes a tree with its contents and keeps link targets", async () => {
  const tree = join(folder, "tree");
  for (let at = 0; at < 100; at += 1) {
    mkdirSync(join(tree, `folder ${at}`), { recursive: true });
    writeFileSync(join(tree, `folder ${at}`, "file"), "");
  }
  symlinkSync(kept, join(tree, "link"));
  symlinkSync(join(kept, "file"), join(tree, "folder 1", "link"));
  await removeFolder(tree);
  expect([existsSync(tree), readdirSync(kept)]).toEqual([false, ["file"]]);
});

test("removes a link but not its target, and accepts a missing path", async () => {
  symlinkSync(kept, join(folder, "link"));
  await removeFolder(join(folder, "link"));
  await removeFolder(join(folder, "link"));
  expect(readdirSync(folder)).toEqual(["kept"]);
  expect(readdirSync(kept)).toEqual(["file"]);
});

test("removes a tree that is deeper than the maximum path length", { timeout: 60_000 }, async () => {
  const tree = join(folder, "tree");
  // from the inside out: the full path would be too long
  let inner = join(folder, "inner");
  mkdirSync(inner);
  for (let level = 0; level < LEVELS; level += 1) {
    const outer = join(folder, `outer ${level}`);
    mkdirSync(outer);
    renameSync(inner, join(outer, "a folder with a long name"));
    inner = outer;
  }
  renameSync(inner, tree);
  await removeFolder(tree);
  expect(existsSync(tree)).toBe(false);
});

test.runIf(process.platform === "linux")(
  "follows no link when a folder is swapped for one",
  async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const tree = join(folder, "tree");
      for (let at = 0; at < WIDTH; at += 1) {
        mkdirSync(join(tree, `x${at}`), { recursive: true });
        writeFileSync(join(tree, `x${at}`, "file"), "");
      }
      const exchange = exchangeForLinks(tree, kept);
      await exchange.started;
      // it may give up while the folder is written to
      await removeFolder(tree).catch(() => undefined);
      await exchange.ended;
      expect(readdirSync(kept), `round ${round}`).toEqual(["file"]);
      await removeFolder(tree);
      expect(existsSync(tree)).toBe(false);
    }
  },
  60_000,
);

/** Replaces folders by links while they are removed, the last folder first. */
function exchangeForLinks(tree: string, target: string) {
  const code = `const { renameSync, symlinkSync } = require("node:fs");
    const { parentPort, workerData: { count, target, tree } } = require("node:worker_threads");
    parentPort.postMessage("started");
    for (let at = count - 1; at >= 0; at -= 1) {
      try { renameSync(tree + "/x" + at, tree + "/y" + at); symlinkSync(target, tree + "/x" + at); } catch {}
    }`;
  const worker = new Worker(code, { eval: true, workerData: { count: WIDTH, target, tree } });
  return {
    started: new Promise((resolve) => worker.once("message", resolve)),
    ended: new Promise((resolve) => worker.once("exit", resolve)),
  };
}
