import { AppError, appError } from "@appdb/contract/errors";
import { findTooMany } from "@appdb/http/value-bounds";
import type * as z from "zod";
import { fromDatabaseError } from "../database/pool.ts";

const MAX_ERRORS = 20;
/** A message may list all unknown members, and a pointer may contain a name of any length. */
const MAX_CHARACTERS = 300;

/** Turns errors of Fastify and of PostgreSQL's connection into ours. Other errors stay. `isRead`: nothing was changed. */
export function toAppError(error: unknown, isRead = false): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  switch ("code" in error ? error.code : undefined) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return appError("payload_too_large", { detail: "The body is larger than the route accepts.", cause: error });
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
    case "FST_ERR_CTP_INVALID_TYPE":
      return appError("unsupported_media_type", {
        detail: "The body's content type is not application/json.",
        hint: "Send the header: content-type: application/json",
        cause: error,
      });
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return appError("invalid_request", {
        detail: "The body's length differs from its content-length header.",
        cause: error,
      });
    case "FST_ERR_CTP_INVALID_JSON_BODY":
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return appError("invalid_json", {
        detail: "The body is empty or not JSON.",
        hint: "Send an object.",
        cause: error,
      });
    case "FST_ERR_BAD_URL":
    case "FST_ERR_MAX_PARAM_LENGTH":
      return appError("invalid_request", {
        detail: "Invalid path: it contains an invalid % sequence, or a part is too long.",
        cause: error,
      });
    // a text with a NUL character, which PostgreSQL cannot store
    case "22021":
    case "22P05":
      return appError("invalid_request", {
        detail: "A text of the request contains a NUL character.",
        hint: "Remove the character.",
        cause: error,
      });
    default:
      // refused by secure-json-parse: __proto__ and constructor.prototype
      if (error instanceof SyntaxError)
        return appError("invalid_json", { detail: "The body is not acceptable JSON.", cause: error });
      return fromDatabaseError(error, isRead);
  }
}

/** Parses a client's input; missing input is `{}`. @throws invalid_request with a pointer to each invalid member */
export function parseInput<T>(schema: z.ZodType<T>, value: unknown, where: "body" | "params" | "query"): T {
  const tooMany = findTooMany(value);
  if (tooMany !== undefined) {
    throw appError("invalid_request", {
      detail: `The ${where} has ${tooMany}.`,
      hint: "Send less in one request.",
    });
  }
  const mayBeNothing = value == null && schema.safeParse(undefined).success;
  const parsed = schema.safeParse(mayBeNothing ? undefined : (value ?? {}));
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.slice(0, MAX_ERRORS).map((issue) => ({
    pointer: `/${issue.path.map(String).join("/")}`.slice(0, MAX_CHARACTERS),
    detail: issue.message.slice(0, MAX_CHARACTERS),
  }));
  throw appError("invalid_request", {
    detail: `Invalid ${where}: ${errors.map(({ pointer, detail }) => `${pointer === "/" ? "it" : pointer}: ${detail}`).join("; ")}.`,
    errors,
  });
}
