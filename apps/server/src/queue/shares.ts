/** Jobs of each kind that run at a time. */
export const AT_ONCE = {
  /** Databases that are started, changed or stopped. */
  databases: 20,
  services: 20,
  /** Builds take minutes, and a core each. */
  builds: 4,
  /** Organizations to whose webhooks is posted: that waits for strangers' servers, and for nothing of this machine. */
  webhooks: 16,
  /** One for each task that looks after all organizations. */
  upkeep: 2,
} as const;

/**
 * Jobs of one organization that run at a time. Each such place is a lane: its jobs run one after the other. The three organizations that
 * a person may make leave places for others. Organizations of the operator, who makes those of many people, have no share together.
 */
export const OF_ONE_ORG = { databases: 6, services: 6, builds: 1 } as const;
