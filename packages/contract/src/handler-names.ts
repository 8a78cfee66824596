import * as z from "zod";
import type { ManifestHandlerRoute } from "./manifest.ts";

/** The parts of a handler's operation with names; the rest is documentation. */
const operationSchema = z.looseObject({
  parameters: z.array(z.looseObject({ name: z.string(), required: z.boolean() })).default([]),
  requestBody: z.unknown().optional(),
  responses: z.record(z.string(), z.unknown()).default({}),
});
const contentSchema = z.looseObject({
  content: z.looseObject({
    "application/json": z.looseObject({
      schema: z.looseObject({
        properties: z.record(z.string(), z.unknown()).default({}),
        required: z.array(z.string()).default([]),
      }),
    }),
  }),
});

export interface HandlerNames {
  readonly inputs: readonly string[];
  readonly required: readonly string[];
  readonly outputs: readonly string[];
}

/** The names of a handler's inputs and outputs, from its signature. */
export function handlerNames(route: ManifestHandlerRoute): HandlerNames {
  const { parameters, requestBody, responses } = operationSchema.parse(route.openapi ?? {});
  const body = membersOf(requestBody);
  const [answer] = Object.values(responses).map(membersOf);
  return {
    inputs: [...parameters.map(({ name }) => name), ...body.names],
    required: [...parameters.filter(({ required }) => required).map(({ name }) => name), ...body.required],
    outputs: answer?.names ?? [],
  };
}

function membersOf(part: unknown): { readonly names: readonly string[]; readonly required: readonly string[] } {
  const parsed = contentSchema.safeParse(part);
  if (!parsed.success) return { names: [], required: [] };
  const { properties, required } = parsed.data.content["application/json"].schema;
  return { names: Object.keys(properties), required };
}
