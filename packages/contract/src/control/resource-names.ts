import { appError } from "../errors.ts";
import { HOSTED_SCHEME, MAX_NAME_LENGTH } from "../names.ts";

const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_SECRET_NAME = 128;
/** Settings of the product: a secret with such a name would change how a service runs. */
const RESERVED_PREFIX = "SERVICE_";
const SHOWN = 60;

/** A key's name: letters, digits, `_`, `-` and `.`, a letter or digit first, at most 63. @throws invalid_name */
export function parseKeyName(text: string): string {
  if (text.length <= MAX_NAME_LENGTH && KEY_NAME.test(text)) return text;
  throw appError("invalid_name", {
    detail: `${shown(text)} is not a valid key name: names have letters, digits, '_', '-' and '.', a letter or digit first, and at most ${MAX_NAME_LENGTH} characters.`,
    hint: "Write a name such as: ci",
    meta: { kind: "key" },
  });
}

/**
 * A secret's name: that of an environment variable, at most 128 characters.
 * @throws invalid_name; secret_reserved for SERVICE_ in any case
 */
export function parseSecretName(text: string): string {
  if (text.length > MAX_SECRET_NAME || !SECRET_NAME.test(text)) {
    throw appError("invalid_name", {
      detail: `${shown(text)} is not a valid secret name: it becomes an environment variable, so it has letters (a-z), digits and '_', no digit first, and at most ${MAX_SECRET_NAME} characters.`,
      hint: "Write a name such as: OPENAI_API_KEY",
      meta: { kind: "secret" },
    });
  }
  if (!text.toUpperCase().startsWith(RESERVED_PREFIX)) return text;
  throw appError("secret_reserved", {
    detail: `${text} cannot be the name of a secret: names that begin with ${RESERVED_PREFIX}, in upper or lower case, are settings of the product.`,
    hint: "Choose a name that begins differently.",
    meta: { name: text },
  });
}

/** The address of a hosted database, made of parsed names. */
export function databaseUriOf(organization: string, database: string): string {
  return `${HOSTED_SCHEME}${organization}:${database}`;
}

/** The address of a hosted service, by its name within the database: `cloud://acme:main/reports/ingest`. */
export function serviceUriOf(organization: string, database: string, service: string): string {
  return `${databaseUriOf(organization, database)}/${service}`;
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN - 3)}...` : text);
}
