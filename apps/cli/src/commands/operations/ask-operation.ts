import { AppError, appError } from "@appdb/contract/errors";
import type { Context } from "../../context.ts";
import { openOrganization, takeFirst } from "../account.ts";

/** Number of latest operations that are searched for the start of an id. */
const MAX_LOOKED_AT = 1_000;

type OpenOrganization = Awaited<ReturnType<typeof openOrganization>>;

/**
 * Requests an operation by its id, or resolves the start of an id first.
 * @throws operation_not_found, also for several
 */
export async function askOperation<T>(
  ctx: Context,
  named: { readonly id: string; readonly org: string | undefined },
  ask: (open: OpenOrganization, id: string) => Promise<T>,
): Promise<T> {
  const open = await openOrganization(ctx, named.org);
  try {
    return await ask(open, named.id);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "operation_not_found") throw error;
    const id = await findByBeginning(ctx, open, named.id);
    if (id === undefined) throw error;
    return await ask(open, id);
  }
}

async function findByBeginning(
  ctx: Pick<Context, "signal">,
  { client, org }: OpenOrganization,
  typed: string,
): Promise<string | undefined> {
  if (typed === "") return undefined;
  const all = client.each("operationList", { params: { org }, query: { limit: 200 } }, { signal: ctx.signal });
  const known = await takeFirst(all, MAX_LOOKED_AT);
  const [found, other] = known.filter(({ id }) => id.startsWith(typed.toLowerCase()));
  if (other === undefined) return found?.id;
  throw appError("operation_not_found", {
    detail: `Several operations start with '${typed}'.`,
    hint: "List the operations: cli operations list",
    meta: { id: typed },
  });
}
