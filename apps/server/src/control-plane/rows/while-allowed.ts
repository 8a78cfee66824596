import type { FastifyRequest } from "fastify";

/** How often the permission of a caller with a long request is checked again. */
const CHECK_MS = 20_000;

export interface WhileAllowedDeps {
  mayStillRead(request: FastifyRequest): Promise<boolean>;
}

/**
 * Does work for a caller. Its signal aborts when the caller loses the permission: the key or membership is deleted, or
 * it expires. A check that fails changes nothing.
 */
export async function whileAllowed<T>(
  { mayStillRead }: WhileAllowedDeps,
  request: FastifyRequest,
  work: (lost: AbortSignal) => Promise<T>,
  checkMs = CHECK_MS,
): Promise<T> {
  const lost = new AbortController();
  const timer = setInterval(() => {
    mayStillRead(request).then(
      (may) => may || lost.abort(),
      () => undefined,
    );
  }, checkMs);
  try {
    return await work(lost.signal);
  } finally {
    clearInterval(timer);
  }
}
