import { DATABASE_EVENTS, type DatabaseEvent, nextDatabaseState } from "@appdb/contract/control/database-states";
import { DATABASE_STATES, type DatabaseState } from "@appdb/contract/routes/control-databases";
import { expect, test } from "vitest";
import { requestState } from "./state.ts";

const URI = "cloud://acme:main";
const EVENTS = Object.keys(DATABASE_EVENTS) as DatabaseEvent[];

test("only an AVAILABLE database can be updated; other states give their name and a next step", () => {
  for (const state of DATABASE_STATES.filter((name) => name !== "AVAILABLE")) {
    expect(() => requestState(URI, state, "update")).toThrow(
      expect.objectContaining({
        code: "database_not_available",
        message: `${URI} is ${state}; it must be AVAILABLE to be updated.`,
        hint: expect.stringMatching(/cli db [a-z-]+ cloud:\/\/acme:main/),
      }),
    );
  }
  expect(requestState(URI, "AVAILABLE", "update")).toBe("UPDATING");
  expect(() => requestState(URI, "FAILED", "update")).toThrow(
    expect.objectContaining({ hint: expect.stringMatching(/db build-image .* db retry/) }),
  );
});

test("every state can be left by a request or automatically", () => {
  for (const state of DATABASE_STATES) {
    const ways = EVENTS.map((event) => nextDatabaseState(state, event)).filter(
      (next) => next !== undefined && next !== state,
    );
    expect(ways, state).not.toEqual([]);
  }
});

test("AVAILABLE is reachable from every state, and every state from a new database", () => {
  const reachable = (from: DatabaseState) => {
    const seen = new Set([from]);
    for (const state of seen) for (const event of EVENTS) seen.add(nextDatabaseState(state, event) ?? state);
    return seen;
  };
  expect([...reachable("PROVISIONING")].sort()).toEqual([...DATABASE_STATES].sort());
  for (const state of DATABASE_STATES) expect(reachable(state)).toContain("AVAILABLE");
});

test("a database being deleted returns only by undelete", () => {
  const left = EVENTS.filter((event) => ![undefined, "DELETING"].includes(nextDatabaseState("DELETING", event)));
  expect(left).toEqual(["undelete"]);
});

test("stopping a stopped database and starting a running one do nothing", () => {
  expect(requestState(URI, "STOPPED", "stop")).toBe("STOPPED");
  expect(requestState(URI, "AVAILABLE", "start")).toBe("AVAILABLE");
  expect(() => requestState(URI, "STOPPED", "restart")).toThrow(
    expect.objectContaining({ code: "database_not_available", hint: `Wake it first: cli db start ${URI}` }),
  );
});
