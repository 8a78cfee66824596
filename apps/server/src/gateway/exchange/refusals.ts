import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { RoutedDatabase, RoutedService } from "../routing/routing-table.ts";

/** Errors that the gateway answers itself. They reveal nothing that the caller may not know. */

export function noDatabase(host: string): Error {
  return appError("not_found", {
    detail: `No database is served at ${JSON.stringify(host.slice(0, 100))}.`,
    hint: "List the addresses of services: cli service list cloud://<org>:<db>",
  });
}

export function badTarget(): Error {
  return appError("invalid_request", {
    detail: "The request's target must be a path that starts with a slash, with one host.",
    hint: "Send only the path, and one Host header.",
  });
}

export function noKey(wasShown: boolean): Error {
  return appError("unauthorized", {
    detail: wasShown ? "The API key is not valid, or was revoked." : "The request has no API key.",
    hint: "Send one: X-api-key: sk_... (create it: cli key create <name>)",
  });
}

export function keysUnavailable(): Error {
  return appError("keys_unavailable", {
    detail: "API keys cannot be checked now: the control plane does not answer.",
    hint: "Send the request again in a moment.",
    meta: { retry_after_s: 2 },
  });
}

export function noService(path: string): Error {
  return appError("service_not_found", {
    detail: `The database has no service at ${path.slice(0, 200)}.`,
    hint: "List its services and routes: cli service list cloud://<org>:<db>",
  });
}

export function keyNotGranted(service: string): Error {
  return appError("forbidden", {
    detail: `The API key may not call the service ${service}.`,
    hint: "Use a key with that grant, or create one: cli key create <name> --grant access:cloud://<org>:<db>/services",
  });
}

export function tooLarge(maxBytes: number): Error {
  const max = maxBytes >= 1_073_741_824 ? `${maxBytes / 1_073_741_824} GiB` : `${maxBytes / 1_048_576} MiB`;
  return appError("payload_too_large", {
    detail: `The body is larger than ${max}, the maximum for its content type.`,
    hint: "Send it in parts.",
    meta: { most_bytes: maxBytes },
  });
}

export function keylessBodyRefused(): Error {
  return appError("payload_too_large", {
    detail: "A request without an API key cannot have a body here.",
    hint: "Send it without a body, or with an API key.",
    meta: { most_bytes: 0 },
  });
}

export function tooManyAtOnce(service: string, max: number): Error {
  return appError("overloaded", {
    detail: `The service ${service} has ${max} requests in progress, the maximum.`,
    hint: "Send the request again in a moment.",
    meta: { most: max, retry_after_s: 1 },
  });
}

export function tooManyOfOrganization(max: number): Error {
  return appError("overloaded", {
    detail: `The services of the organization have ${max} requests in progress, the maximum.`,
    hint: "Send the request again in a moment.",
    meta: { most: max, retry_after_s: 1 },
  });
}

/** Without a number: callers without a key must not learn the limits. */
export function tooManyStrangers(): Error {
  return appError("overloaded", {
    detail: "Too many requests without an API key are in progress.",
    hint: "Send the request again in a moment.",
    meta: { retry_after_s: 1 },
  });
}

export function noMemory(shareBytes: number): Error {
  return appError("overloaded", {
    detail: `The gateway has no memory left for the request. One organization may use ${Math.floor(shareBytes / 1_048_576)} MiB.`,
    hint: "Send the request again in a moment, and send fewer large requests at once.",
    meta: { share_bytes: shareBytes, retry_after_s: 1 },
  });
}

export function rateLimited(rate: number, retryAfterS: number): Error {
  return appError("rate_limited", {
    detail: `The API key sent more than ${rate} requests in a second.`,
    hint: "Send fewer requests at once. RateLimit headers show how many are left.",
    meta: { rate, retry_after_s: retryAfterS },
  });
}

export function notRunning(database: RoutedDatabase, service: RoutedService): Error {
  const uri = `${databaseUriOf(database.organization, database.name)}/${service.name}`;
  const isStopped = !service.is_wanted;
  if (!isStopped && service.state !== "FAILED" && service.is_failing === true) {
    return appError("service_not_available", {
      detail: `The service ${uri} is ${service.state}: its last start failed, and the server tries again.`,
      hint: `See the reason: cli service list ${uri}`,
      meta: { state: service.state, retry_after_s: 30 },
    });
  }
  return appError("service_not_available", {
    detail: isStopped ? `The service ${uri} was stopped.` : `The service ${uri} is ${service.state}.`,
    hint:
      isStopped || service.state === "FAILED"
        ? `Start it: cli service restart ${uri}`
        : "Send the request again in a moment.",
    meta: { state: service.state, retry_after_s: isStopped ? 30 : 2 },
  });
}

/** Only the control plane shows members the reason. */
export function suspended({ organization }: RoutedDatabase): Error {
  return appError("organization_suspended", {
    detail: `The operator of the server suspended the organization ${organization}.`,
    hint: "Ask the operator of the server to end the suspension. Its data are kept.",
    meta: { organization },
  });
}

/** A database that failed to start. A later request may succeed. */
export function failed(database: RoutedDatabase): Error {
  const uri = databaseUriOf(database.organization, database.name);
  return appError("database_failed", {
    detail: `The database ${uri} is FAILED: it could not be started.`,
    hint: `See the reason: cli db status ${uri}`,
    meta: { state: database.state, retry_after_s: 30 },
  });
}

export function asleep(database: RoutedDatabase): Error {
  const uri = databaseUriOf(database.organization, database.name);
  const stays = database.state === "STOPPED" && !database.is_woken;
  return appError("database_asleep", {
    detail: `The database ${uri} is ${database.state}.`,
    hint: stays ? `Start it: cli db start ${uri}` : "Send the request again in a moment.",
    // nothing wakes it, so a retry is useless
    meta: stays ? { state: database.state } : { state: database.state, retry_after_s: 2 },
  });
}

/** The error for a caller without a key. Reveals neither the database nor its state. */
export function notServing(isAsleep: boolean): Error {
  return isAsleep
    ? appError("database_asleep", {
        detail: "The database of the service is asleep.",
        hint: "Send a request with an API key; requests without a key do not wake a database.",
        meta: { retry_after_s: 30 },
      })
    : appError("service_not_available", {
        detail: "The service is not available.",
        hint: "Send the request again later.",
        meta: { retry_after_s: 2 },
      });
}

export function broken(service: string, mayRepeat: boolean): Error {
  return appError("service_broken", {
    detail: mayRepeat
      ? `The service ${service} does not answer.`
      : `The service ${service} closed the connection before it answered. The request may have been carried out.`,
    hint: mayRepeat
      ? "Send the request again in a moment."
      : "Check whether it was carried out before you send it again, or send it with an Idempotency-Key.",
    meta: mayRepeat ? { retry_after_s: 2 } : {},
  });
}

export function serviceTimedOut(service: string, ms: number): Error {
  return appError("service_timeout", {
    detail: `The service ${service} was silent for ${ms / 1_000} s, so the request was cancelled.`,
    hint: "Request less at once, or ask the operator to raise SERVICE_REQUEST_TIMEOUT_S.",
  });
}

export function bodyTooSlow(): Error {
  return appError("request_timeout", {
    detail: "The body of the request did not arrive in time.",
    hint: "Send it again without a pause.",
  });
}

export function refusedWebSocket(): Error {
  return appError("no_websockets", {
    detail: "The request asks for a WebSocket, which services do not support.",
    hint: "To get changes, open a query route as a live query: GET it with the header accept: text/event-stream",
  });
}
