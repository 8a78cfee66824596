import { AppError, appError, type ErrorCode, type FieldError } from "@appdb/contract/errors";
import { MAX_REPORTED_ERRORS } from "../rows/error-list.ts";
import { rowErrors } from "../rows/many-rows.ts";

/** Errors of the request as a whole, although each of its rows gets them. */
const OF_REQUEST: ReadonlySet<ErrorCode> = new Set([
  "overloaded",
  "disk_full",
  "database_unavailable",
  "commit_unknown",
  "query_timeout",
  "worker_unavailable",
  "schema_changed",
]);

/** The errors of a request's rows, by row number from 0. Nothing is changed when there is any. */
export class RowRefusals {
  readonly #member: string;
  readonly #found: { readonly at: number; readonly error: AppError }[] = [];

  /** `member`: the list of the body that has the rows. */
  constructor(member: string) {
    this.#member = member;
  }

  /** Whether more errors would not be reported. */
  get isFull(): boolean {
    return this.#found.length >= MAX_REPORTED_ERRORS;
  }

  /** Adds the error of a row. @throws an error that is not about the row */
  add(at: number, error: unknown): void {
    if (!(error instanceof AppError) || OF_REQUEST.has(error.code)) throw error;
    this.#found.push({ at, error });
  }

  /** @throws the error of the only refused row, or one that lists the first ones */
  check(): void {
    const found = this.#found.toSorted((one, other) => one.at - other.at);
    const [first] = found;
    if (first === undefined) return;
    const all = found.flatMap(({ at, error }) => rowErrors(error, { row: at, name: `[${at}]` }));
    const errors = all
      .slice(0, MAX_REPORTED_ERRORS)
      .map((one): FieldError => ({ pointer: `/${this.#member}${one.pointer}`, detail: one.detail }));
    const [only] = errors;
    const { code, hint, meta } = first.error;
    throw appError(code, {
      detail:
        errors.length === 1 && only !== undefined
          ? `${only.detail} Nothing was changed.`
          : `${found.length} rows are refused; \`errors\` lists the first ${errors.length} reasons. Nothing was changed.`,
      ...(hint === undefined ? {} : { hint }),
      meta: { ...meta, row: first.at },
      errors,
      cause: first.error,
    });
  }
}
