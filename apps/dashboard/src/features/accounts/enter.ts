import { safePath } from "../../api/safe-path.ts";

/** Goes on as another person than before, by loading the page anew: nothing that was read for the last one stays. */
export function enter(next?: string): void {
  window.location.assign(safePath(next));
}
