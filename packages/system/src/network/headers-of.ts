import type { IncomingMessage } from "node:http";
import type { Fetched } from "@appdb/contract/clients/client";

/** The headers of a response of node:http in the form of `fetch`. */
export function headersOf({ headers }: IncomingMessage): NonNullable<Fetched["headers"]> {
  return { get: (name) => [headers[name] ?? []].flat()[0] ?? null };
}
