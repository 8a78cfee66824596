import { SERVICE_STATES } from "@appdb/contract/routes/local";
import { expect, test } from "vitest";
import { nextState, type ServiceEvent, TRANSITIONS } from "./state.ts";

test("every state answers every event, and what is refused throws", () => {
  for (const state of SERVICE_STATES) {
    for (const [event, next] of Object.entries(TRANSITIONS[state])) {
      const take = () => nextState(state, event as ServiceEvent);
      if (next === "refuse") expect(take).toThrow(`A service that is ${state}`);
      else expect(take()).toBe(next);
    }
  }
});

test("a service can be stopped in every state, and started from each in which it rests", () => {
  for (const state of SERVICE_STATES) expect(nextState(state, "stop")).toBe("STOPPING");
  for (const state of ["STOPPED", "FAILED"] as const) expect(nextState(state, "start")).toBe("STARTING");
});
