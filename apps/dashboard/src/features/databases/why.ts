import type { Database } from "@appdb/contract/routes/control-databases";

/** Explains a database's state in a sentence. Undefined if its failure says more. */
export function stateReason({
  state,
  awake_because: awakeBecause,
  wake_on_request: wakeOnRequest,
  sleep_after: sleepAfter,
}: Database): string | undefined {
  switch (state) {
    case "PROVISIONING":
      return "It is being created, and becomes AVAILABLE automatically.";
    case "UPDATING":
      return "An update is being applied. The database becomes AVAILABLE again automatically.";
    case "AVAILABLE":
      return awakeBecause === null ? "It answers." : `Awake: ${awakeBecause}.`;
    case "STOPPING":
      return "Its pod is ending.";
    case "STOPPED":
      return wakeOnRequest
        ? "It sleeps, with all of its data. A request to one of its services wakes it, or you can start it."
        : "It sleeps, with all of its data, until someone starts it.";
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
