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
  /** What is asked before it is done, the name behind it, and what it means; absent where nobody is disturbed. */
  readonly asks?: { readonly question: string; readonly warning: string };
  readonly permission: Permission;
  /** It is offered where this leads to another state. */
  readonly event: DatabaseEvent;
}

/** What a button can do with a database, in the order in which it is shown. */
const ACTIONS: readonly DatabaseAction[] = [
  {
    route: "databaseStart",
    title: "Start",
    verb: "start",
    what: "Wakes it: its pod starts with the image, files and data that it has.",
    permission: "database.update",
    event: "start",
  },
  {
    route: "databaseRetry",
    title: "Try again",
    verb: "retry",
    what: "Starts it once more, with the image and the files that it has.",
    permission: "database.update",
    event: "retry",
  },
  {
    route: "databaseBuildImage",
    title: "Build the image",
    verb: "build-image",
    what: "Builds its image anew from the lock files that it has, after a package index was down for example. The command sends the project's files as well, such as a corrected uv.lock.",
    asks: {
      question: "Build the image anew of",
      warning: "Its pod is started anew with the new image; requests that run then are cut off.",
    },
    permission: "database.update",
    event: "build_image",
  },
  {
    route: "databaseRestart",
    title: "Restart",
    verb: "restart",
    what: "Starts its pod anew, so that it reads changed secrets. Image and files stay.",
    asks: { question: "Restart", warning: "It does not answer for a moment; requests that run now are cut off." },
    permission: "database.update",
    event: "restart",
  },
  {
    route: "databaseStop",
    title: "Stop",
    verb: "stop",
    what: "Puts it to sleep: its pod ends, its data stays.",
    asks: {
      question: "Stop",
      warning: "It does not answer until it is started; requests that run now are cut off. Its data stays.",
    },
    permission: "database.update",
    event: "stop",
  },
  {
    route: "databaseUndelete",
    title: "Undelete",
    verb: "undelete",
    what: "Takes the deletion back. It is STOPPED then, with all of its data.",
    permission: "database.delete",
    event: "undelete",
  },
];

/** What can be done with a database in this state. The server decides again. */
export function actionsIn(state: DatabaseState): readonly DatabaseAction[] {
  return ACTIONS.filter(({ event }) => {
    // what failed is started by trying again: one of the two buttons is enough
    if (event === "start" && state === "FAILED") return false;
    const next = nextDatabaseState(state, event);
    return next !== undefined && next !== state;
  });
}
