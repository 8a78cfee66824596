import type { Database } from "@appdb/contract/routes/control-databases";

/** Why a database is in its state, or what it waits for, in one sentence; undefined where its failure says more. */
export function whyState({ state, awake_because, wake_on_request, sleep_after }: Database): string | undefined {
  switch (state) {
    case "PROVISIONING":
      return "It is being made, and turns AVAILABLE by itself.";
    case "UPDATING":
      return "An update is being applied. It turns AVAILABLE again by itself.";
    case "AVAILABLE":
      return awake_because === null ? "It answers." : `Awake: ${awake_because}.`;
    case "STOPPING":
      return "Its pod is ending.";
    case "STOPPED":
      return wake_on_request
        ? "It sleeps, with all of its data. A request to one of its services wakes it, or you do."
        : "It sleeps, with all of its data, until somebody starts it.";
    case "STARTING":
      return sleep_after === "never"
        ? "Its pod is starting."
        : `Its pod is starting. It sleeps again after ${sleep_after} without use.`;
    case "DELETING":
      return "It is being deleted.";
    case "FAILED":
      return undefined;
  }
}
