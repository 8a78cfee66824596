import { appError } from "@appdb/contract/errors";

/** Error when too many rows wait. */
export function overloaded(waiting: number, maxWaiting: number): unknown {
  return appError("overloaded", {
    detail: `${waiting} rows wait for a worker; the maximum is ${maxWaiting}.`,
    hint: "Send the request again in a moment, or raise the number of workers.",
    meta: { waiting, max_waiting: maxWaiting },
  });
}
