import { AppError, appError } from "@appdb/contract/errors";
import type { DataTable } from "@appdb/contract/routes/data-api";
import type { keysOf } from "./data-target.ts";

interface Typed {
  readonly table: DataTable | undefined;
  readonly keys: ReturnType<typeof keysOf>;
  readonly path: string;
}

/** Awaits a write of typed values. Its errors name rows by their keys instead of their place in the request. */
export async function nameRows<T>(written: Promise<T>, { keys, path, table }: Typed): Promise<T> {
  try {
    return await written;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "invalid_request") throw error;
    const named = (detail: string) =>
      detail.replace(/^\[(\d+)\]: /, (place, at) => {
        const key = keys[Number(at)];
        return key === undefined ? place : `The row ${key.map(([, json]) => json).join(", ")} of ${path}: `;
      });
    const name = error.errors?.[0]?.pointer.replace(/^\/(rows|keys)\/\d+/, "").split("/")[1];
    const column = table?.columns.find((one) => one.name === name);
    throw appError(error.code, {
      detail: named(error.message),
      hint: column === undefined ? error.hint : `${column.name} is ${column.type}.`,
      meta: error.meta,
      errors: error.errors?.map(({ detail, pointer }) => ({ pointer, detail: named(detail) })),
      cause: error,
    });
  }
}
