import * as z from "zod";
import { functionSchema } from "../manifest.ts";
import { MAX_CONTENT, MAX_MODULES } from "../program-code.ts";

/** Functions of programs that a hosted database keeps for a while (program-code.ts). */

/** A lease ends so many seconds after its last renewal. */
export const PROGRAM_LEASE_SECONDS = 60;

/** Maxima of a database. `program_bytes` counts the base64 of all modules, and the descriptions of functions. */
export const PROGRAM_LIMITS = {
  programs: 100,
  program_modules: 1_000,
  program_functions: 2_000,
  program_bytes: 256_000_000,
};

/** What a program stores: all that its queries and changes name. */
export const programCodeSchema = z.strictObject({
  /** `3.12`: the Python that wrote the modules. */
  python: z.string().regex(/^[1-9]\.\d{1,3}$/, "The Python is not a version such as 3.12."),
  /** Of the modules of this program, stored now or before. */
  functions: z.array(functionSchema).max(1_000).default([]),
  modules: z.array(z.base64().max(MAX_CONTENT)).max(MAX_MODULES).default([]),
});
export type ProgramCodeRequest = z.output<typeof programCodeSchema>;

export const programLeaseSchema = z.object({
  /** Random, made by the database. */
  program: z.string(),
  lease_seconds: z.int().min(1),
});
export type ProgramLease = z.output<typeof programLeaseSchema>;

/** The input and output of the routes, which the control plane passes on to the pod. */
export const PROGRAM_SCHEMAS = {
  programStore: { body: programCodeSchema, answer: programLeaseSchema },
  /** Renews the lease, and stores more. */
  programRenew: { body: programCodeSchema, answer: programLeaseSchema },
  programEnd: { status: 204 },
} as const;
