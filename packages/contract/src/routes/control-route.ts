import type { RoutePermission } from "../permissions.ts";

/** A line of the table of routes. */
export interface ControlRoute {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly permission: RoutePermission;
  /** Keys with `manage` grants may call it too, for the services that they were granted. */
  readonly by_grant?: true;
  /** First words of its entry in the OpenAPI document. */
  readonly summary: string;
  /** The longest body that it takes, where `BODY_BYTES` do not suffice. */
  readonly body_bytes?: number;
  /** Takes a body that is read piece by piece, of this type; as long as it keeps coming it may take any time. */
  readonly streams?: "application/x-tar" | "application/json";
  /** Answers lines of JSON as they come up, an empty line now and then says that the connection lives; or text for Prometheus. */
  readonly answers?: "application/x-ndjson" | "text/plain";
}

/** The longest body of most routes. */
export const BODY_BYTES = 300_000;
/** Of routes that take a list of a project's files. */
export const TREE_BODY_BYTES = 32_000_000;
