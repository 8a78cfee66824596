import type { Database } from "@appdb/contract/routes/control-databases";

/** Why a database is in its state, or what it waits for, in one sentence; undefined where its failure says more. */
export function whyState({
  state,
  awake_because: awakeBecause,
  wake_on_request: wakeOnRequest,
  sleep_after: sleepAfter,
}: Database): string | undefined {
  switch (state) {
    case "PROVISIONING":
      return "It is being made, and turns AVAILABLE by itself.";
    case "UPDATING":
      return "An update is being applied. It turns AVAILABLE again by itself.";
    case "AVAILABLE":
      return awakeBecause === null ? "It answers." : `Awake: ${awakeBecause}.`;
    case "STOPPING":
      return "Its pod is ending.";
    case "STOPPED":
      return wakeOnRequest
        ? "It sleeps, with all of its data. A request to one of its services wakes it, or you do."
        : "It sleeps, with all of its data, until somebody starts it.";
    case "STARTING":
      return sleepAfter === "never"
        ? "Its pod is starting."
        : `Its pod is starting. It sleeps again after ${sleepAfter} without use.`;
    case "DELETING":
      return "It is being deleted.";
    case "FAILED":
      return undefined;
  }
}
