import * as z from "zod";

/** The part of a pyproject.toml that is compared with its lock. */
export const pyprojectSchema = z.object({
  project: z.object({
    name: z.string().optional(),
    dynamic: z.array(z.string()).default([]),
    dependencies: z.array(z.string()).default([]),
    "optional-dependencies": z.record(z.string(), z.array(z.string())).default({}),
  }),
});
/** The block of a uv.lock that describes the project itself. */
export const lockRootSchema = z.object({
  package: z.tuple([
    z.object({
      name: z.string(),
      metadata: z
        .object({ "requires-dist": z.array(z.looseObject({ name: z.string() })).default([]) })
        .default({ "requires-dist": [] }),
    }),
  ]),
});
export type PyprojectTable = z.output<typeof pyprojectSchema>["project"];
export type LockedRequirements = z.output<typeof lockRootSchema>["package"][0]["metadata"]["requires-dist"];
