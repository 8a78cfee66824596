import { AppError } from "@appdb/contract/errors";
import { useState } from "react";

interface AskedFactor {
  /** Whether to show the code field: once the server has asked for a code. */
  readonly is_asked: boolean;
  /** The error to show. A missing code is not an error yet. */
  readonly problem: Error | null;
}

/** The state of the second factor from the answer to a password. */
export function useAskedFactor(error: Error | null): AskedFactor {
  const [isAsked, setAsked] = useState(false);
  const isMissing = error instanceof AppError && error.code === "second_factor_required";
  if (isMissing && !isAsked) setAsked(true);
  return { is_asked: isAsked, problem: isMissing ? null : error };
}
