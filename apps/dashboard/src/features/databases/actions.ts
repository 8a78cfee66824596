import { type DatabaseEvent, nextDatabaseState } from "@appdb/contract/control/database-states";
import type { Permission } from "@appdb/contract/permissions";
import type { DatabaseState } from "@appdb/contract/routes/control-databases";

export interface DatabaseAction {
  readonly route:
    | "databaseStart"
    | "databaseStop"
    | "databaseRestart"
    | "databaseRetry"
    | "databaseBuildImage"
    | "databaseUndelete";
  readonly title: string;
  /** `cli db <verb> <uri>` does the same. */
  readonly verb: string;
  readonly what: string;
  /** The question before the action, followed by the name, and a warning. Absent for a harmless action. */
  readonly asks?: { readonly question: string; readonly warning: string };
  readonly permission: Permission;
  /** The action is offered if this event leads to another state. */
  readonly event: DatabaseEvent;
}

/** The actions of a database, in display order. */
const ACTIONS: readonly DatabaseAction[] = [
  {
    route: "databaseStart",
    title: "Start",
    verb: "start",
    what: "Wakes the database: starts its pod with the current image, files and data.",
    permission: "database.update",
    event: "start",
  },
  {
    route: "databaseRetry",
    title: "Try again",
    verb: "retry",
    what: "Starts it again with the current image and files.",
    permission: "database.update",
    event: "retry",
  },
  {
    route: "databaseBuildImage",
    title: "Build the image",
    verb: "build-image",
    what: "Builds the image again from the current lock files, for example after a package index was down. The command also sends the project's files, such as a corrected uv.lock.",
    asks: {
      question: "Rebuild the image of",
      warning: "Its pod restarts with the new image, and running requests are interrupted.",
    },
    permission: "database.update",
    event: "build_image",
  },
  {
    route: "databaseRestart",
    title: "Restart",
    verb: "restart",
    what: "Restarts the pod to read changed secrets. Image and files stay.",
    asks: { question: "Restart", warning: "It does not answer for a moment, and running requests are interrupted." },
    permission: "database.update",
    event: "restart",
  },
  {
    route: "databaseStop",
    title: "Stop",
    verb: "stop",
    what: "Puts the database to sleep: its pod ends, its data stays.",
    asks: {
      question: "Stop",
      warning: "It does not answer until it is started, and running requests are interrupted. Its data stays.",
    },
    permission: "database.update",
    event: "stop",
  },
  {
    route: "databaseUndelete",
    title: "Undelete",
    verb: "undelete",
    what: "Undoes the deletion. The database is then STOPPED, with all of its data.",
    permission: "database.delete",
    event: "undelete",
  },
];

/** The actions for a database in this state. The server checks again. */
export function actionsIn(state: DatabaseState): readonly DatabaseAction[] {
  return ACTIONS.filter(({ event }) => {
    // for a FAILED database, retry replaces start
    if (event === "start" && state === "FAILED") return false;
    const next = nextDatabaseState(state, event);
    return next !== undefined && next !== state;
  });
}
