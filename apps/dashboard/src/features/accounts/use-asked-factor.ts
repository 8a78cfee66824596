import { AppError } from "@appdb/contract/errors";
import { useState } from "react";

interface AskedFactor {
  /** Whether a code is to be typed: from the first time on that the server asked for one. */
  readonly is_asked: boolean;
  /** What went wrong; that a code is missing yet is no problem. */
  readonly problem: Error | null;
}

/** What the answer to a password says of the second factor. */
export function useAskedFactor(error: Error | null): AskedFactor {
  const [isAsked, setAsked] = useState(false);
  const isMissing = error instanceof AppError && error.code === "second_factor_required";
  if (isMissing && !isAsked) setAsked(true);
  return { is_asked: isAsked, problem: isMissing ? null : error };
}
