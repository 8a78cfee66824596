import type { Leaf, Noun } from "./command-entry.ts";
import { DATA_LEAVES, QUERY_NOUN } from "./data-leaves.ts";
import { STATUS_LEAVES } from "./status-leaves.ts";

/** Every command in the order of the help. */
export const LEAVES: Readonly<Record<string, Leaf>> = {
  init: {
    brief: "Make this folder a project",
    load: async () => (await import("./commands/root/init.ts")).init,
  },
  examples: {
    brief: "List example applications, or write one into a folder",
    load: async () => (await import("./commands/root/examples.ts")).examples,
  },
  ...STATUS_LEAVES,
  deploy: {
    brief: "Deploy a project to a hosted database: files, image, tables and services",
    has_plan: true,
    load: async () => (await import("./commands/root/deploy.ts")).deploy,
  },
  rollback: {
    brief: "Undo the last deployment: services, project files, image and size; tables and rows stay",
    has_plan: true,
    load: async () => (await import("./commands/root/rollback.ts")).rollback,
  },
  dev: {
    brief: "Watch the project's files and keep tables and services up to date",
    load: async () => (await import("./commands/root/dev.ts")).dev,
  },
  ...DATA_LEAVES,
  recompute: {
    brief: "Recompute columns of existing rows",
    load: async () => (await import("./commands/root/recompute.ts")).recompute,
  },
  errors: {
    brief: "List computed cells that failed",
    load: async () => (await import("./commands/root/errors.ts")).errors,
  },
  login: {
    brief: "Sign in by confirming a code in a browser",
    load: async () => (await import("./commands/root/login.ts")).login,
  },
  logout: {
    brief: "Sign out on this machine",
    load: async () => (await import("./commands/root/logout.ts")).logout,
  },
  whoami: {
    brief: "Show the current identity, credential and server",
    load: async () => (await import("./commands/root/whoami.ts")).whoami,
  },
  events: {
    brief: "Read the audit log: who did what, when and from where",
    load: async () => (await import("./commands/root/events.ts")).events,
  },
  completions: {
    brief: "Print the completions of a shell",
    load: async () => (await import("./commands/root/completions.ts")).completions,
  },
};

export const NOUNS: Readonly<Record<string, Noun>> = {
  schema: {
    brief: "Tables of a database",
    has_plan: true,
    verbs: {
      diff: {
        brief: "Show what an update would change",
        load: async () => (await import("./commands/schema/diff.ts")).diff,
      },
      update: {
        brief: "Create or change tables to match the file",
        load: async () => (await import("./commands/schema/update.ts")).update,
      },
      check: {
        brief: "Check the file without a database",
        load: async () => (await import("./commands/schema/check.ts")).check,
      },
      prune: {
        brief: "Drop tables that the file does not declare",
        load: async () => (await import("./commands/schema/prune.ts")).prune,
      },
      example: {
        brief: "Print an example file with tables",
        load: async () => (await import("./commands/schema/example.ts")).example,
      },
    },
  },
  query: QUERY_NOUN,
  service: {
    brief: "HTTP services of a database",
    has_plan: true,
    verbs: {
      run: {
        brief: "Serve in this terminal until Ctrl-C",
        load: async () => (await import("./commands/service/run.ts")).run,
      },
      diff: {
        brief: "Show what an update would start or restart",
        load: async () => (await import("./commands/service/diff.ts")).diff,
      },
      update: {
        brief: "Start or update services in the background",
        load: async () => (await import("./commands/service/update.ts")).update,
      },
      list: {
        brief: "Show services, addresses and routes",
        load: async () => (await import("./commands/service/list.ts")).list,
      },
      logs: {
        brief: "Print a service's log",
        load: async () => (await import("./commands/service/logs.ts")).logs,
      },
      restart: {
        brief: "Restart services",
        load: async () => (await import("./commands/service/restart.ts")).restart,
      },
      stop: {
        brief: "Stop services",
        load: async () => (await import("./commands/service/stop.ts")).stop,
      },
      retry: {
        brief: "Retry a hosted service that FAILED",
        load: async () => (await import("./commands/service/retry.ts")).retry,
      },
      releases: {
        brief: "List the releases of a hosted service",
        load: async () => (await import("./commands/service/releases.ts")).releases,
      },
      rollback: {
        brief: "Roll a hosted service back to an earlier release",
        load: async () => (await import("./commands/service/rollback.ts")).rollback,
      },
      check: {
        brief: "Check the file's services without a database",
        load: async () => (await import("./commands/service/check.ts")).check,
      },
      prune: {
        brief: "Stop and remove services that the file does not define",
        load: async () => (await import("./commands/service/prune.ts")).prune,
      },
      example: {
        brief: "Print an example application",
        load: async () => (await import("./commands/service/example.ts")).example,
      },
    },
  },
  db: {
    brief: "Databases: hosted ones, and those of this machine",
    has_plan: true,
    verbs: {
      diff: {
        brief: "Show what an update would do",
        load: async () => (await import("./commands/db/diff.ts")).diff,
      },
      update: {
        brief: "Upload project files, build the image if its environment changed, resize",
        load: async () => (await import("./commands/db/update.ts")).update,
      },
      status: {
        brief: "Show a database: its state, resources, image, files and pods",
        load: async () => (await import("./commands/db/status.ts")).status,
      },
      list: {
        brief: "List the hosted databases that you can reach, or those of this machine",
        load: async () => (await import("./commands/db/list.ts")).list,
      },
      logs: {
        brief: "Print the log of a database's pod, or of its builds",
        load: async () => (await import("./commands/db/logs.ts")).logs,
      },
      start: {
        brief: "Start a stopped or sleeping database",
        load: async () => (await import("./commands/db/start.ts")).start,
      },
      stop: {
        brief: "Stop the pods of a database; its data stays",
        load: async () => (await import("./commands/db/stop.ts")).stop,
      },
      restart: {
        brief: "Restart the pods of a database; they read new secrets",
        load: async () => (await import("./commands/db/restart.ts")).restart,
      },
      retry: {
        brief: "Retry a database that FAILED",
        load: async () => (await import("./commands/db/retry.ts")).retry,
      },
      "build-image": {
        brief: "Rebuild the image of a database",
        load: async () => (await import("./commands/db/build-image.ts")).buildImage,
      },
      delete: {
        brief: "Delete a database; a hosted one can be undeleted for some days",
        load: async () => (await import("./commands/db/delete.ts")).deleteDatabase,
      },
      undelete: {
        brief: "Restore a deleted database",
        load: async () => (await import("./commands/db/undelete.ts")).undelete,
      },
    },
  },
  jobs: {
    brief: "Background jobs on tables",
    has_plan: false,
    verbs: {
      list: {
        brief: "List background jobs and their progress",
        load: async () => (await import("./commands/jobs/list.ts")).list,
      },
      cancel: {
        brief: "Cancel a job",
        load: async () => (await import("./commands/jobs/cancel.ts")).cancel,
      },
    },
  },
  daemon: {
    brief: "The local daemon",
    has_plan: false,
    verbs: {
      start: {
        brief: "Start the daemon if it does not run",
        load: async () => (await import("./commands/daemon/start.ts")).start,
      },
      stop: {
        brief: "Stop the daemon, its services and its PostgreSQL",
        load: async () => (await import("./commands/daemon/stop.ts")).stop,
      },
      restart: {
        brief: "Restart the daemon",
        load: async () => (await import("./commands/daemon/restart.ts")).restart,
      },
      reset: {
        brief: "Empty the home: end the daemon and remove all local databases and services",
        load: async () => (await import("./commands/daemon/reset.ts")).reset,
      },
      status: {
        brief: "Show whether the daemon runs",
        load: async () => (await import("./commands/daemon/status.ts")).status,
      },
    },
  },
  org: {
    brief: "Organizations of the hosted service",
    has_plan: false,
    verbs: {
      create: {
        brief: "Create an organization with its database main",
        load: async () => (await import("./commands/org/create.ts")).create,
      },
      list: {
        brief: "List your organizations",
        load: async () => (await import("./commands/org/list.ts")).list,
      },
      switch: {
        brief: "Switch organization",
        load: async () => (await import("./commands/org/switch.ts")).switchTo,
      },
    },
  },
  key: {
    brief: "API keys of an organization",
    has_plan: false,
    verbs: {
      create: {
        brief: "Create an API key; its secret is printed once",
        load: async () => (await import("./commands/key/create.ts")).create,
      },
      list: {
        brief: "List API keys",
        load: async () => (await import("./commands/key/list.ts")).list,
      },
      delete: {
        brief: "Delete an API key",
        load: async () => (await import("./commands/key/delete.ts")).deleteKey,
      },
      rotate: {
        brief: "Give an API key a new secret",
        load: async () => (await import("./commands/key/rotate.ts")).rotate,
      },
    },
  },
  secret: {
    brief: "Secrets of databases and organizations",
    has_plan: false,
    verbs: {
      set: {
        brief: "Set secrets of a database or an organization",
        load: async () => (await import("./commands/secret/set.ts")).set,
      },
      list: {
        brief: "List the names of secrets",
        load: async () => (await import("./commands/secret/list.ts")).list,
      },
      delete: {
        brief: "Delete secrets of a database or an organization",
        load: async () => (await import("./commands/secret/delete.ts")).deleteSecret,
      },
    },
  },
  operations: {
    brief: "Operations of the hosted service",
    has_plan: false,
    verbs: {
      list: {
        brief: "List operations and their results",
        load: async () => (await import("./commands/operations/list.ts")).list,
      },
      show: {
        brief: "Show an operation: its state, its times, its error",
        load: async () => (await import("./commands/operations/show.ts")).show,
      },
      wait: {
        brief: "Wait until an operation has ended",
        load: async () => (await import("./commands/operations/wait.ts")).wait,
      },
      cancel: {
        brief: "Cancel an operation",
        load: async () => (await import("./commands/operations/cancel.ts")).cancel,
      },
    },
  },
  media: {
    brief: "Files in the media store of a database",
    has_plan: false,
    verbs: {
      ls: {
        brief: "List files of a media store",
        load: async () => (await import("./commands/media/ls.ts")).ls,
      },
      cp: {
        brief: "Copy files into a media store, out of it, or within it",
        load: async () => (await import("./commands/media/cp.ts")).cp,
      },
      rm: {
        brief: "Remove files of a media store",
        load: async () => (await import("./commands/media/rm.ts")).rm,
      },
      prune: {
        brief: "Free the files of a media store that nothing refers to",
        has_plan: true,
        load: async () => (await import("./commands/media/prune.ts")).prune,
      },
      du: {
        brief: "Show the size of a media store and of its folders",
        load: async () => (await import("./commands/media/du.ts")).du,
      },
    },
  },
  server: {
    brief: "The server of this machine, for its operator",
    has_plan: false,
    verbs: {
      status: {
        brief: "Show the state of this machine's server",
        load: async () => (await import("./commands/server/status.ts")).status,
      },
      orgs: {
        brief: "List all organizations of the server",
        load: async () => (await import("./commands/server/orgs.ts")).orgs,
      },
      databases: {
        brief: "List all databases and services of the server with their states",
        load: async () => (await import("./commands/server/databases.ts")).databases,
      },
      retry: {
        brief: "Start all FAILED databases and services again",
        load: async () => (await import("./commands/server/retry.ts")).retry,
      },
      suspend: {
        brief: "Stop an organization's databases and refuse its requests",
        load: async () => (await import("./commands/server/suspend.ts")).suspend,
      },
      resume: {
        brief: "End the suspension of an organization and start its databases",
        load: async () => (await import("./commands/server/resume.ts")).resume,
      },
      quota: {
        brief: "Set how many databases an organization may have",
        load: async () => (await import("./commands/server/quota.ts")).quota,
      },
      "rotate-master-key": {
        brief: "Write a new master key; the server uses it from its next start",
        load: async () => (await import("./commands/server/rotate-master-key.ts")).rotateMasterKey,
      },
      "reset-link": {
        brief: "Print a password reset link for an account",
        load: async () => (await import("./commands/server/reset-link.ts")).resetLink,
      },
    },
  },
};
