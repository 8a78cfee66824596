import { expect, test } from "vitest";
import { actionsIn } from "./actions.ts";

test.each([
  ["PROVISIONING", []],
  ["UPDATING", []],
  ["AVAILABLE", ["build-image", "restart", "stop"]],
  ["STOPPING", []],
  ["STOPPED", ["start"]],
  ["STARTING", ["stop"]],
  ["FAILED", ["retry", "build-image", "stop"]],
  ["DELETING", ["undelete"]],
] as const)("a %s database offers %j", (state, verbs) => {
  expect(actionsIn(state).map(({ verb }) => verb)).toEqual(verbs);
});
