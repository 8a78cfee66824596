/** Of commands that concern all organizations, or one. */
export const ORG_OPTION = {
  kind: "parsed",
  optional: true,
  brief: "Of this organization alone",
  placeholder: "name",
} as const;

/** The organization that an act is for. */
export const ORG_ARGUMENT = { brief: "Name of the organization", placeholder: "ORG" } as const;
