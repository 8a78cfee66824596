import type { Leaf } from "./command-entry.ts";

/** The commands that show and check the state of this machine and of databases. */
export const STATUS_LEAVES: Readonly<Record<string, Leaf>> = {
  doctor: {
    brief: "Check what this machine has and lacks",
    load: async () => (await import("./commands/root/doctor.ts")).doctor,
  },
  config: {
    brief: "Show the settings and where each comes from",
    load: async () => (await import("./commands/overview/config.ts")).config,
  },
  status: {
    brief: "Show this machine, or a database",
    load: async () => (await import("./commands/overview/status.ts")).status,
  },
  health: {
    brief: "Check that this machine's databases, or one database, work",
    load: async () => (await import("./commands/overview/health.ts")).health,
  },
  limits: {
    brief: "Show the limits in force",
    load: async () => (await import("./commands/overview/limits.ts")).limits,
  },
  usage: {
    brief: "Show what the hosted databases of an organization used",
    load: async () => (await import("./commands/overview/usage.ts")).usage,
  },
};
