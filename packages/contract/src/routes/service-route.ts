import * as z from "zod";
import { routeKindSchema } from "../manifest.ts";

/** A route in `service list`, equal for a local and a hosted service. */
export const serviceRouteSchema = z.object({
  method: z.string(),
  path: z.string(),
  route_type: routeKindSchema,
  /** Null for a query, which may read several. */
  table: z.string().nullable(),
  /** Name of the query; null for a route over a table. */
  query: z.string().nullable(),
  one_row: z.boolean(),
  inputs: z.array(z.string()),
  outputs: z.array(z.string()),
});
export type ServiceRoute = z.infer<typeof serviceRouteSchema>;
