import { expect, test } from "vitest";
import { farewell } from "./lib/demo.mjs";

test("npm start says whether it stops what runs, or the server died and leaves it", () => {
  expect(farewell(undefined)).toMatch(/^Stopping/);
  expect(farewell({ death: undefined, log: "/home/server.log" })).toMatch(/^Stopping/);
  const said = farewell({ death: "SIGKILL", log: "/home/server.log" });
  expect(said).toContain("The server died (SIGKILL). Its log: less /home/server.log");
  expect(said).toContain("may still run. The next npm start takes them over.");
});
