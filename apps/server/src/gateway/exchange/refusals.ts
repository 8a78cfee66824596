import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { RoutedDatabase, RoutedService } from "../routing/routing-table.ts";

/** What the gateway itself says instead of a service. None names what the caller may not know. */

export function noDatabase(host: string): Error {
  return appError("not_found", {
    detail: `No database is served at ${JSON.stringify(host.slice(0, 100))}.`,
    hint: "The addresses of services are listed by: cli service list cloud://<org>:<db>",
  });
}

export function badTarget(): Error {
  return appError("invalid_request", {
    detail: "The request's target is not a path that begins with a slash, or it names two hosts.",
    hint: "Send the path alone, and the host in one Host header.",
  });
}

export function noKey(wasShown: boolean): Error {
  return appError("unauthorized", {
    detail: wasShown ? "The API key is not valid, or was revoked." : "The request shows no API key.",
    hint: "Send one: X-api-key: sk_... (made by: cli key create <name>)",
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
    hint: "Its services and their routes are listed by: cli service list cloud://<org>:<db>",
  });
}

export function keyNotGranted(service: string): Error {
  return appError("forbidden", {
    detail: `The API key may not call the service ${service}.`,
    hint: "Show a key that was granted it, or make one: cli key create <name> --grant access:cloud://<org>:<db>/services",
  });
}

export function tooLarge(mostBytes: number): Error {
  const most = mostBytes >= 1_073_741_824 ? `${mostBytes / 1_073_741_824} GiB` : `${mostBytes / 1_048_576} MiB`;
  return appError("payload_too_large", {
    detail: `The body is larger than ${most}, the most that is taken here for its content type.`,
    hint: "Send it in parts.",
    meta: { most_bytes: mostBytes },
  });
}

export function noBodyOfStrangers(): Error {
  return appError("payload_too_large", {
    detail: "The request needs no API key and takes no body.",
    hint: "Send it without a body.",
    meta: { most_bytes: 0 },
  });
}

export function tooManyAtOnce(service: string, most: number): Error {
  return appError("overloaded", {
    detail: `${most} requests to the service ${service} are under way, the most that it may have at once.`,
    hint: "Send the request again in a moment.",
    meta: { most, retry_after_s: 1 },
  });
}

export function tooManyOfOrganization(most: number): Error {
  return appError("overloaded", {
    detail: `The services of the organization have ${most} requests under way, the most at once.`,
    hint: "Send the request again in a moment.",
    meta: { most, retry_after_s: 1 },
  });
}

/** No number: a stranger learns nothing of the limits. */
export function tooManyStrangers(): Error {
  return appError("overloaded", {
    detail: "Too many requests without an API key are under way.",
    hint: "Send the request again in a moment.",
    meta: { retry_after_s: 1 },
  });
}

export function noMemory(shareBytes: number): Error {
  return appError("overloaded", {
    detail: `The gateway has no memory left for the request; one organization may use ${Math.floor(shareBytes / 1_048_576)} MiB.`,
    hint: "Send the request again in a moment, and send fewer large requests at once.",
    meta: { share_bytes: shareBytes, retry_after_s: 1 },
  });
}

export function tooOften(rate: number, retryAfterS: number): Error {
  return appError("rate_limited", {
    detail: `The API key has sent more than ${rate} requests in a second.`,
    hint: "Send fewer at once; RateLimit headers say how many are left.",
    meta: { rate, retry_after_s: retryAfterS },
  });
}

export function notRunning(database: RoutedDatabase, service: RoutedService): Error {
  const uri = `${databaseUriOf(database.organization, database.name)}/${service.name}`;
  const isStopped = !service.is_wanted;
  return appError("service_not_available", {
    detail: isStopped ? `The service ${uri} was stopped.` : `The service ${uri} is ${service.state}.`,
    hint:
      isStopped || service.state === "FAILED"
        ? `Start it: cli service restart ${uri}`
        : "Send the request again in a moment.",
    meta: { state: service.state, retry_after_s: isStopped ? 30 : 2 },
  });
}

/** The reason is told to members by the control plane alone. */
export function suspended({ organization }: RoutedDatabase): Error {
  return appError("organization_suspended", {
    detail: `The operator of the server has suspended the organization ${organization}.`,
    hint: "Ask the operator of the server to end the suspension. Its data are kept.",
    meta: { organization },
  });
}

/** A database that does not start; a later request may find it running. */
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
    // nothing wakes it: another try would be in vain
    meta: stays ? { state: database.state } : { state: database.state, retry_after_s: 2 },
  });
}

/** Tells a caller without a key that a service does not serve. It names neither the database nor its state. */
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
      : `The service ${service} broke off before it answered; whether it did what was asked is not known.`,
    hint: mayRepeat
      ? "Send the request again in a moment."
      : "Look whether it was done before you send it again, or send an Idempotency-Key with what you send.",
    meta: mayRepeat ? { retry_after_s: 2 } : {},
  });
}

export function serviceTimedOut(service: string, ms: number): Error {
  return appError("service_timeout", {
    detail: `The service ${service} was silent for ${ms / 1_000} s; the request was given up.`,
    hint: "Ask for less at once, or have the operator raise SERVICE_REQUEST_TIMEOUT_S.",
  });
}

export function bodyTooSlow(): Error {
  return appError("request_timeout", {
    detail: "The body of the request did not come in time.",
    hint: "Send it again, without a pause in it.",
  });
}

export function refusedWebSocket(): Error {
  return appError("no_websockets", {
    detail: "The request asks for a WebSocket, but services do not support them.",
    hint: "To be told of changes, open a query route as a live query: GET it with the header accept: text/event-stream",
  });
}
