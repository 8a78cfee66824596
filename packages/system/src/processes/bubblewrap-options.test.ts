import { expect, test } from "vitest";
import { environmentOptions, optionsText } from "./bubblewrap-options.ts";

test("refuses values that would add options and does not reveal them", () => {
  expect(optionsText(environmentOptions({ A: "--bind / /" }))).toBe("--clearenv\0--setenv\0A\0--bind / /\0");
  const refused = () => optionsText(environmentOptions({ A: "1", KEY: "sk-1\0--bind\0/\0/host" }));
  expect(refused).toThrow("The variable KEY of a sandbox contains a null character.");
  expect(refused).not.toThrow("sk-1");
});
