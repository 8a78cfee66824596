/**
 * The error catalogue: code -> HTTP status and title. Codes are permanent; wording may improve freely. `docs/errors.md`
 * is generated from it.
 */
export const ERRORS = {
  // a request's body, path or method
  invalid_json: { status: 400, title: "The body is not JSON" },
  invalid_request: { status: 422, title: "The request is not valid" },
  invalid_encoding: { status: 400, title: "The body does not match its content encoding" },
  unsupported_media_type: { status: 415, title: "The content type is not supported" },
  request_timeout: { status: 408, title: "The request took too long to arrive" },
  payload_too_large: { status: 413, title: "The body is too large" },
  not_found: { status: 404, title: "Nothing was found at this path" },
  no_websockets: { status: 400, title: "WebSockets are not supported" },
  method_not_allowed: { status: 405, title: "The path does not support this method" },
  invalid_idempotency_key: { status: 400, title: "The Idempotency-Key is not valid" },
  idempotency_mismatch: { status: 422, title: "The Idempotency-Key was used with another request" },
  unauthorized: { status: 401, title: "The credential is missing or wrong" },
  reauthentication_required: { status: 403, title: "The last proof of identity is too old" },
  client_too_old: { status: 426, title: "The command is too old for this server" },
  server_too_old: { status: 501, title: "The server or daemon is older than the command" },
  // rows and functions
  unique_violation: { status: 409, title: "A row with this key already exists" },
  function_failed: { status: 400, title: "A function of the application failed" },
  function_missing: { status: 409, title: "The application lacks a function that a column calls" },
  program_not_found: { status: 404, title: "The database does not have the functions of the program" },
  program_python: { status: 409, title: "The program and the database run different versions of Python" },
  program_quota: { status: 409, title: "The database has reached its limit for functions of programs" },
  function_timeout: { status: 400, title: "A function exceeded its time limit" },
  worker_died: { status: 400, title: "A function ended its worker process" },
  handler_failed: { status: 400, title: "The application refused the request" },
  handler_interrupted: { status: 503, title: "The process that ran the request ended" },
  worker_out_of_memory: { status: 400, title: "A function exceeded the memory of its worker" },
  worker_unavailable: { status: 503, title: "No worker could be started" },
  export_failed: { status: 502, title: "The row was stored here but not in the other database" },
  export_refused: { status: 422, title: "The table of an export does not match its route" },
  schema_changed: { status: 409, title: "The table changed while it was in use" },
  database_unavailable: { status: 503, title: "PostgreSQL does not answer" },
  commit_unknown: { status: 503, title: "The connection broke before the outcome was known" },
  disk_full: { status: 507, title: "The disk is full" },
  overloaded: { status: 503, title: "Too many requests are waiting" },
  psql_paused: { status: 429, title: "The caller's psql sessions made others wait too often" },
  // media
  media_invalid: { status: 422, title: "The media file is not valid" },
  media_too_large: { status: 413, title: "The media file is too large" },
  media_not_found: { status: 404, title: "The media file was not found" },
  media_unreachable: { status: 502, title: "The media file could not be downloaded" },
  media_denied: { status: 502, title: "The media store refused access" },
  media_store_not_found: { status: 502, title: "The media store does not exist" },
  media_source_not_allowed: { status: 422, title: "The database does not read files of this store" },
  media_store_full: { status: 507, title: "The media store is full" },
  media_in_use: { status: 409, title: "A row needs the media file" },
  media_exists: { status: 412, title: "A media file of this name exists" },
  media_address_invalid: { status: 403, title: "The media address is not valid" },
  invalid_form: { status: 400, title: "The request body is not a form" },
  media_unavailable: { status: 503, title: "The media store does not answer" },
  // queries
  row_not_found: { status: 404, title: "The row was not found" },
  several_rows: { status: 409, title: "The query found more than one row" },
  query_timeout: { status: 504, title: "A statement exceeded its time limit" },
  value_outside_type: { status: 422, title: "A stored value is outside of its column's type" },
  result_too_large: { status: 422, title: "The result is too large" },
  invalid_condition: { status: 422, title: "The condition is not valid" },
  invalid_cursor: { status: 422, title: "The cursor does not belong to this request" },
  not_pageable: { status: 422, title: "The query does not support pages" },
  sql_refused: { status: 422, title: "PostgreSQL refused the SQL statement" },
  query_not_found: { status: 404, title: "The query was not found" },
  // the application file
  app_file_not_found: { status: 404, title: "The application file does not exist" },
  app_invalid: { status: 422, title: "The application file is not valid" },
  app_outside_project: { status: 422, title: "The application file is outside the project" },
  project_exists: { status: 409, title: "The folder is inside another project" },
  file_exists: { status: 409, title: "The file already exists" },
  no_project: { status: 422, title: "No project root was found" },
  manifest_invalid: { status: 422, title: "The manifest does not match its schema" },
  manifest_too_new: { status: 422, title: "The manifest was written by a newer library" },
  python_not_found: { status: 422, title: "No Python was found for the application" },
  environment_failed: { status: 422, title: "The Python environment could not be built" },
  // names and configuration
  invalid_name: { status: 422, title: "The name is not valid" },
  invalid_target: { status: 422, title: "The target is not valid" },
  config_invalid: { status: 422, title: "The configuration is not valid" },
  hosted_not_available: { status: 422, title: "The command does not work on hosted targets" },
  // schema
  schema_mismatch: { status: 409, title: "The tables do not match the application" },
  schema_unsupported: { status: 422, title: "The change cannot be made" },
  schema_lock_timeout: { status: 503, title: "The tables were locked for too long" },
  other_project: { status: 409, title: "The tables or services belong to another project" },
  destructive_refused: { status: 409, title: "The plan would destroy data" },
  confirmation_required: { status: 409, title: "The command needs a confirmation" },
  catalog_moved: { status: 409, title: "The tables changed after the plan was made" },
  catalog_too_new: { status: 409, title: "The database was upgraded by a newer version" },
  upgrade_failed: { status: 500, title: "The database could not be upgraded" },
  fill_failed: { status: 400, title: "A new computed column could not be filled" },
  recompute_failed: { status: 400, title: "A column could not be recomputed" },
  table_not_found: { status: 404, title: "The table was not found" },
  table_exists: { status: 409, title: "A table or view of this name exists" },
  column_exists: { status: 409, title: "A column of this name exists" },
  index_exists: { status: 409, title: "The index exists" },
  index_not_found: { status: 404, title: "The index was not found" },
  folder_exists: { status: 409, title: "The folder exists" },
  folder_not_found: { status: 404, title: "The folder was not found" },
  has_dependents: { status: 409, title: "Something else needs it" },
  column_not_found: { status: 404, title: "The column was not found" },
  job_not_found: { status: 404, title: "The job was not found" },
  job_lost: { status: 500, title: "The job failed too often" },
  job_cancelled: { status: 409, title: "The job was cancelled" },
  job_not_cancellable: { status: 409, title: "The job cannot be cancelled" },
  // services and the daemon
  service_not_found: { status: 404, title: "The service was not found" },
  service_conflict: { status: 409, title: "Another file has a service of this name" },
  service_quota: { status: 409, title: "The database has reached its number of services" },
  service_state: { status: 409, title: "The service's state does not allow this" },
  deploy_not_found: { status: 404, title: "No deployment can be undone" },
  deploy_under_way: { status: 409, title: "A deployment is running" },
  preparation_not_found: { status: 404, title: "The prepared deployment was not found" },
  deploy_moved: { status: 409, title: "The database changed after it was deployed" },
  release_not_found: { status: 404, title: "The release was not found" },
  service_failed: { status: 500, title: "The service did not start" },
  port_taken: { status: 409, title: "The port is in use" },
  daemon_not_running: { status: 503, title: "The daemon is not running" },
  daemon_failed: { status: 500, title: "The daemon could not be started" },
  daemon_busy: { status: 409, title: "The daemon is busy" },
  daemon_hung: { status: 503, title: "The daemon does not answer" },
  home_copied: { status: 409, title: "The home is a copy of one that is in use" },
  home_not_writable: { status: 500, title: "The home folder is not writable" },
  postgres_failed: { status: 500, title: "PostgreSQL could not be started" },
  postgres_unsupported: { status: 422, title: "The PostgreSQL server cannot be used" },
  gateway_failed: { status: 500, title: "The gateway could not be started" },
  // the hosted service
  invalid_grant: { status: 422, title: "The grant is not valid" },
  forbidden: { status: 403, title: "The credential does not allow this" },
  not_signed_in: { status: 401, title: "You are not signed in" },
  server_unreachable: { status: 503, title: "The server does not answer" },
  server_failed: { status: 502, title: "The server did not finish the request" },
  sign_in_failed: { status: 401, title: "The sign-in was not accepted" },
  weak_password: { status: 422, title: "The password is easy to guess" },
  second_factor_required: { status: 401, title: "The sign-in needs a code" },
  second_factor_wrong: { status: 401, title: "The code was not accepted" },
  second_factor_conflict: { status: 409, title: "The second factor is in another state" },
  sign_in_denied: { status: 403, title: "The sign-in was denied" },
  sign_in_expired: { status: 410, title: "The code was not confirmed in time" },
  sign_up_closed: { status: 403, title: "Accounts are created by invitation" },
  reset_expired: { status: 410, title: "The password link was used or has expired" },
  no_mail: { status: 409, title: "The server cannot send mail" },
  account_exists: { status: 409, title: "An account with this address already exists" },
  set_up_done: { status: 409, title: "The first account already exists" },
  too_many_attempts: { status: 429, title: "Too many attempts" },
  csrf_refused: { status: 403, title: "The request came from another site" },
  device_code_not_found: { status: 404, title: "The code was not found" },
  organization_not_found: { status: 404, title: "The organization was not found" },
  organization_suspended: { status: 403, title: "The organization is suspended" },
  organization_state: { status: 409, title: "The organization's state does not allow this" },
  organization_taken: { status: 409, title: "The organization's name is taken" },
  organization_quota: { status: 409, title: "The person has reached their number of organizations" },
  no_organization: { status: 409, title: "No organization is selected" },
  member_not_found: { status: 404, title: "The member was not found" },
  member_exists: { status: 409, title: "The person is already a member" },
  last_owner: { status: 409, title: "An organization needs at least one owner" },
  invitation_not_found: { status: 404, title: "The invitation is not open" },
  session_not_found: { status: 404, title: "The session was not found" },
  key_not_found: { status: 404, title: "The key was not found" },
  key_taken: { status: 409, title: "The key's name is taken" },
  secret_not_found: { status: 404, title: "The secret was not found" },
  secret_reserved: { status: 422, title: "The secret's name is reserved" },
  master_key_wrong: { status: 500, title: "The master key does not decrypt the secrets" },
  database_not_found: { status: 404, title: "The database was not found" },
  database_quota: { status: 409, title: "The organization has reached its number of databases" },
  resources_quota: { status: 409, title: "The organization has reached its processors, memory or disk" },
  storage_quota: { status: 409, title: "The organization has reached its storage" },
  database_exists: { status: 409, title: "The database already exists" },
  database_not_available: { status: 409, title: "The database is not AVAILABLE" },
  database_state: { status: 409, title: "The database's state does not allow this" },
  database_protected: { status: 409, title: "The database cannot be deleted" },
  database_not_reached: { status: 503, title: "The database does not answer" },
  generation_moved: { status: 409, title: "The database changed after the plan was made" },
  resources_refused: { status: 422, title: "The resources are out of range" },
  blobs_missing: { status: 409, title: "Some project files were not uploaded" },
  blob_invalid: { status: 422, title: "A blob does not match its digest" },
  tree_invalid: { status: 422, title: "The project files are not valid" },
  project_files_differ: { status: 409, title: "The project files differ from those of the database" },
  files_changed: { status: 409, title: "Files changed while they were being read" },
  environment_refused: { status: 422, title: "The environment cannot be built on the server" },
  build_failed: { status: 422, title: "The image could not be built" },
  image_missing: { status: 409, title: "The image of the release was removed" },
  system_packages_refused: { status: 422, title: "System packages are not available here" },
  pod_failed: { status: 500, title: "A pod could not be started" },
  machine_exhausted: { status: 500, title: "The machine of the server ran out of a resource" },
  pods_unavailable: { status: 500, title: "The configured pod driver does not work here" },
  pods_one_organization: { status: 409, title: "This server's pods serve one organization" },
  operation_not_found: { status: 404, title: "The operation was not found" },
  operation_running: { status: 409, title: "The operation is still running" },
  operation_cancelled: { status: 409, title: "The operation was cancelled" },
  operation_not_cancellable: { status: 409, title: "The operation cannot be cancelled" },
  webhook_not_found: { status: 404, title: "The webhook was not found" },
  webhook_refused: { status: 422, title: "The webhook's address is not allowed" },
  precondition_failed: { status: 412, title: "Another request changed it first" },
  // the gateway, and pods of services
  service_not_available: { status: 503, title: "The service is not running" },
  service_broken: { status: 502, title: "The service broke off its response" },
  service_timeout: { status: 504, title: "The service did not answer in time" },
  database_failed: { status: 503, title: "The database is FAILED" },
  database_asleep: { status: 503, title: "The database is asleep" },
  keys_unavailable: { status: 503, title: "Keys cannot be checked" },
  keys_refused: { status: 409, title: "The pod refused the key snapshot" },
  rate_limited: { status: 429, title: "The key exceeded its rate" },
  // the command
  usage: { status: 400, title: "The command line is not valid" },
  interrupted: { status: 499, title: "The command was interrupted" },
  internal_error: { status: 500, title: "An internal error occurred" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** Whether a text is a code of the catalogue. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}

/** One error of one field: `pointer` is a JSON pointer into the body (`/title`). */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

export interface AppErrorInput {
  /** What happened, with the actual values. */
  readonly detail: string;
  /** One next step, a command where there is one. */
  readonly hint?: string | undefined;
  /** For programs; never a secret. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  readonly errors?: readonly FieldError[] | undefined;
  readonly cause?: unknown;
}

/** The one error class: a code of the catalogue with what happened and what to do next. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly errors: readonly FieldError[] | undefined;

  constructor(code: ErrorCode, input: AppErrorInput) {
    super(input.detail, input.cause === undefined ? undefined : { cause: input.cause });
    this.name = "AppError";
    this.code = code;
    this.hint = input.hint;
    this.meta = input.meta ?? {};
    this.errors = input.errors;
  }

  /** By name: the command has several bundles, each with its own copy of this class. */
  static override [Symbol.hasInstance](value: unknown): value is AppError {
    return value instanceof Error && value.name === "AppError";
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** Makes an AppError; reads better after `throw`. */
export function appError(code: ErrorCode, input: AppErrorInput): AppError {
  return new AppError(code, input);
}

/** The RFC 9457 body of an error, in HTTP responses and in `--json` output. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly hint?: string;
  readonly instance?: string;
  readonly errors?: readonly FieldError[];
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** A name and not a URL: the catalogue in docs/errors.md has no host of its own. */
const TYPE = "urn:appdb:error:";

/** Converts any thrown value to a problem. An unknown error becomes `internal_error` without its text. */
export function toProblem(error: unknown, instance?: string): Problem {
  const known = error instanceof AppError ? error : undefined;
  const code = known?.code ?? "internal_error";
  return {
    type: TYPE + code,
    title: ERRORS[code].title,
    status: ERRORS[code].status,
    detail: known?.message ?? "An unexpected error occurred. The log has it under this request's id.",
    code,
    ...(known?.hint === undefined ? {} : { hint: known.hint }),
    ...(instance === undefined ? {} : { instance }),
    ...(known?.errors === undefined ? {} : { errors: known.errors }),
    ...(known === undefined || Object.keys(known.meta).length === 0 ? {} : { meta: known.meta }),
  };
}

/** Converts a received problem to an AppError; an unknown code becomes `internal_error`. */
export function fromProblem(problem: Problem): AppError {
  const code = isErrorCode(problem.code) ? problem.code : "internal_error";
  return new AppError(code, {
    detail: problem.detail,
    hint: problem.hint,
    meta: problem.meta,
    errors: problem.errors,
  });
}

/** Parses the body of an error response; undefined if it is not a problem document. */
export function parseProblem(text: string): Problem | undefined {
  try {
    const problem = JSON.parse(text) as Problem;
    return typeof problem.code === "string" && typeof problem.detail === "string" ? problem : undefined;
  } catch {
    return undefined;
  }
}
