import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseSecretName } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { Context } from "../../context.ts";
import { usageError } from "../parameters.ts";

/** Limit of the route's schema. */
const MAX_CHARACTERS = 65_536;

export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/**
 * Reads the secrets of a command line with their values: `NAME=VALUE` or just NAME. The value of a NAME comes from
 * `--file`, from piped input, or from a prompt without echo, because command lines appear in shell history and process
 * lists.
 * @throws usage, interrupted, invalid_name, secret_reserved
 */
export async function readValues(
  ctx: Pick<Context, "cwd" | "prompt" | "readInput">,
  items: readonly string[],
  file: string | undefined,
): Promise<NamedValue[]> {
  const named = items.map(split);
  const bare = named.filter(({ value }) => value === undefined);
  if (bare.length > 1) throw usageError(`${bare.map(({ name }) => name).join(" and ")} have no value.`, ONE_BY_ONE);
  if (file !== undefined && bare.length === 0) {
    throw usageError(`--file ${file} needs a NAME without a value, and there is none.`, ONE_BY_ONE);
  }
  // Checked before anything is read or sent; otherwise the server would refuse it after some were set.
  for (const { name } of named) parseSecretName(name);
  const values: NamedValue[] = [];
  for (const { name, value } of named) values.push({ name, value: value ?? (await readValue(ctx, name, file)) });
  for (const { name, value } of values) {
    if (value.length <= MAX_CHARACTERS) continue;
    throw usageError(
      `The value of ${name} has ${value.length} characters; the maximum is ${MAX_CHARACTERS}.`,
      "A secret becomes an environment variable. Store longer data in a file or a bucket, and its key as the secret.",
    );
  }
  const empty = values.find(({ value }) => value === "");
  if (empty !== undefined)
    throw usageError(`The value of ${empty.name} is empty.`, "Delete a secret with: cli secret delete");
  return values;
}

const ONE_BY_ONE = "Write NAME=VALUE for each, or set one NAME at a time: cli secret set URI NAME --file path";

function split(item: string): { name: string; value: string | undefined } {
  const at = item.indexOf("=");
  const name = at < 0 ? item : item.slice(0, at);
  // The argument may be the value itself, so it is not printed.
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw usageError(
      "A secret's name consists of letters, digits and '_' and does not start with a digit, because it becomes an environment variable.",
      "Write: cli secret set cloud://acme:main OPENAI_API_KEY",
    );
  }
  return { name, value: at < 0 ? undefined : item.slice(at + 1) };
}

async function readValue(
  ctx: Pick<Context, "cwd" | "prompt" | "readInput">,
  name: string,
  file: string | undefined,
): Promise<string> {
  if (file !== undefined) return decode(readFile(resolve(ctx.cwd, file), file), `The file ${file}`);
  if (ctx.readInput !== undefined) return decode(await ctx.readInput(), "What was piped in");
  if (ctx.prompt !== undefined) return await ctx.prompt.secret(`Value of ${name} (not shown)`);
  throw usageError(`No terminal to ask for the value of ${name}.`, "Pipe the value in, or use a file: --file path");
}

function readFile(path: string, typed: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : cause;
    throw appError("usage", {
      detail: `The file ${typed} cannot be read: ${reason}.`,
      hint: "Use a file that you can read.",
      cause,
    });
  }
}

/** Decodes text and removes the final line break of editors and `echo`. */
function decode(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch (cause) {
    throw appError("usage", {
      detail: `${what} is not UTF-8 text.`,
      hint: "A secret becomes an environment variable, which is text. Encode it, for example with base64.",
      cause,
    });
  }
}
