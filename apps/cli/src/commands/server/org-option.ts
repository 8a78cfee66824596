/** Option of commands for all organizations or one. */
export const ORG_OPTION = {
  kind: "parsed",
  optional: true,
  brief: "Only this organization",
  placeholder: "name",
} as const;

/** Organization argument of a command. */
export const ORG_ARGUMENT = { brief: "Name of the organization", placeholder: "ORG" } as const;
