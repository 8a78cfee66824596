import { appError } from "@appdb/contract/errors";
import { readServiceLimits, type ServiceLimits } from "@appdb/contract/service-limits";

/**
 * Limits of a service in the foreground, from the daemon's settings for services. Reports all problems together.
 * @throws config_invalid
 */
export function foregroundLimits(env: Readonly<Record<string, string>>): ServiceLimits {
  const read = readServiceLimits(env);
  if ("limits" in read) return read.limits;
  throw appError("config_invalid", {
    detail: `The environment is not valid: ${read.problems.join("; ")}.`,
    hint: "Correct or unset these variables.",
  });
}
