/** Concurrent jobs of each kind. */
export const AT_ONCE = {
  /** Starts, changes and stops of databases. */
  databases: 20,
  services: 20,
  /** Builds take minutes and one core each. */
  builds: 4,
  /** Organizations whose webhooks are posted to: these jobs wait for remote servers and need few local resources. */
  webhooks: 16,
  /** One for each task that covers all organizations. */
  upkeep: 2,
} as const;

/**
 * Concurrent jobs of one organization. Each such place is a lane, whose jobs run one after the other. The three
 * organizations that a person may create leave room for others. An operator's organizations have no common limit.
 */
export const OF_ONE_ORG = { databases: 6, services: 6, builds: 1 } as const;
