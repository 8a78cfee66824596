import { LOCAL_SERVICE_STATES } from "@appdb/contract/routes/local";
import { expect, test } from "vitest";
import { LOCAL_SERVICE_TRANSITIONS, type LocalServiceEvent, nextLocalServiceState } from "./service-state.ts";

test("every state handles every event, and refused events throw", () => {
  for (const state of LOCAL_SERVICE_STATES) {
    for (const [event, next] of Object.entries(LOCAL_SERVICE_TRANSITIONS[state])) {
      const take = () => nextLocalServiceState(state, event as LocalServiceEvent);
      if (next === "refuse") expect(take).toThrow(`A service that is ${state}`);
      else expect(take()).toBe(next);
    }
  }
});

test("a service can stop in every state and start from resting ones", () => {
  for (const state of LOCAL_SERVICE_STATES) expect(nextLocalServiceState(state, "stop")).toBe("STOPPING");
  for (const state of ["STOPPED", "FAILED"] as const) expect(nextLocalServiceState(state, "start")).toBe("STARTING");
});
