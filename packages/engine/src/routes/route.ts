import type { ManifestBackground, ManifestCors, ManifestRoute } from "@appdb/contract/manifest";
import type { RequestCaller } from "@appdb/contract/worker-protocol";
import type { RouteAnswer } from "../answers/answers.ts";
import type { Once } from "../idempotency/request-store.ts";
import type { Timing } from "../timing.ts";

/** A request to a compiled route, as the transport delivers it. Only its path has been checked. */
export interface RouteRequest {
  /** Empty when the body comes as `stream`. */
  readonly body: Uint8Array | string;
  /**
   * Replaces `body` for content types that the route lists in `streams`. Each piece is read on demand, and reading may
   * stop early. If the stream breaks off it throws; after a disconnect, it throws the signal's reason.
   */
  readonly stream?: AsyncIterable<Uint8Array> | undefined;
  /** The bytes that have arrived of a packed stream; undefined for another one. */
  readonly packedBytes?: (() => number | undefined) | undefined;
  /** The stream has frames with columns of rows (`COLUMNS_TYPE`). */
  readonly has_columns?: boolean;
  /** Replaces `body`: a form whose files are stored, as `RouteForm.store` returned it. */
  readonly form?: string;
  /** The query string of the URL, unchanged. */
  readonly search?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Included in the response's problem and in the log. */
  readonly id: string;
  /** Undefined for the owner of a local database, for members, and for background jobs, which were checked before. */
  readonly caller?: RequestCaller | undefined;
  /** Whose requests take turns with those of others, for a request without a caller: a person, or the client's address. */
  readonly sender?: string | undefined;
  /** Makes a changing route run the request once. Replaces the header Idempotency-Key. */
  readonly once?: Once;
  /** For routes with `takes_any_body`, and for routes that stream everything. */
  readonly route?: RouteAddress | undefined;
  /** Ends the wait for a function when the caller disconnects. A request with a stream always has one. */
  readonly signal?: AbortSignal | undefined;
  /** Records where the time goes, if the client asked for it. */
  readonly timing?: Timing | undefined;
}

/** A form that a route received. Disposing removes its files that were not stored. */
export interface RouteForm extends AsyncDisposable {
  /** The fields and the hashes of the files: what makes two requests equal. */
  readonly content: string;
  /** Throws the error that the route would return for its fields. */
  check(): void;
  /** Stores all its files. Returns the form for a later request. @throws media_invalid, media_store_full and others */
  store(): Promise<string>;
}

export type ReceiveForm = (request: RouteRequest) => Promise<RouteForm>;

/** The address of a request, and its sender. */
export interface RouteAddress {
  /** As the client sent it: `HEAD` for a route that also answers GET. */
  readonly method: string;
  readonly scheme: "http" | "https";
  /** As the client wrote it, with its port; empty for none. */
  readonly host: string;
  /** Below the service's own path, as sent. */
  readonly path: string;
  /** The service's own path: empty, or `/<service>`. */
  readonly root_path: string;
  /** Decoded values of the path's parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly client: readonly [host: string, port: number] | null;
}

export interface CompiledRoute {
  readonly service: string;
  readonly method: "POST" | "GET" | "PUT" | "PATCH" | "DELETE" | "ANY";
  /** Can contain `{name}`. `/*` matches all requests that no other route of the service matches. Includes the
   *  service's prefix; the server adds the service's own path (`/<service>`). */
  readonly path: string;
  /** True when application processes answer instead of the engine. */
  readonly is_handler?: boolean;
  /** True when a request can ask for an event stream. */
  readonly has_events?: boolean;
  /** True when a request may wait for Python, so workers should start early. */
  readonly uses_python: boolean;
  /** True when a request can stop early after its caller has disconnected. */
  readonly takes_signal: boolean;
  /** Content types, in lower case and without parameters, whose bodies come as `stream`. `*` means every content
   *  type, or none. */
  readonly streams?: readonly string[];
  /** Takes a stream of frames with columns of rows, for transports that offer it. */
  readonly takes_columns?: boolean;
  /** Accepts bodies of every content type, as bytes or text, and gets the request's address. */
  readonly takes_any_body?: boolean;
  /** Gets the request's address. */
  readonly takes_address?: boolean;
  /** The service's CORS policy; `own`: the route answers CORS requests itself. */
  readonly cors?: ManifestCors | "own" | null;
  /** Throws the error that the route would return for an invalid request. A request with many rows is checked only for what
   *  its caller may not name: it may run later, without the caller. */
  readonly check?: (request: RouteRequest) => void | Promise<void>;
  /** Receives a form without running it; only for routes that take files. */
  readonly receiveForm?: ReceiveForm | undefined;
  /** Handles every request; never rejects. */
  handle(request: RouteRequest): Promise<RouteAnswer>;
}

/** How a route runs in the background; null when it returns its result. */
export function backgroundOf(route: ManifestRoute): ManifestBackground | null {
  return "background" in route ? (route.background ?? null) : null;
}
