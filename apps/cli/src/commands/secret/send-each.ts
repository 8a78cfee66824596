import { AppError, appError } from "@appdb/contract/errors";

/**
 * Sends a request for each name in order. When one fails, the error lists which were done and which were not.
 * @throws the errors of `send`
 */
export async function sendEach<Item extends { readonly name: string }, Result>(
  items: readonly Item[],
  verb: { readonly done: string; readonly not_done: string },
  send: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    try {
      results.push(await send(item));
    } catch (error) {
      if (!(error instanceof AppError) || items.length === 1) throw error;
      throw withProgress(error, verb, items.slice(0, results.length), items.slice(results.length));
    }
  }
  return results;
}

function withProgress(
  error: AppError,
  verb: { readonly done: string; readonly not_done: string },
  before: readonly { readonly name: string }[],
  after: readonly { readonly name: string }[],
): AppError {
  const done = before.map(({ name }) => name);
  const notDone = after.map(({ name }) => name);
  const status = [
    error.message,
    done.length === 0 ? `Nothing was ${verb.done}.` : `${capital(verb.done)} before: ${done.join(", ")}.`,
    `${capital(verb.not_done)}: ${notDone.join(", ")}.`,
  ];
  return appError(error.code, {
    detail: status.join(" "),
    hint: error.hint,
    errors: error.errors,
    meta: { ...error.meta, done, not_done: notDone },
    cause: error,
  });
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
