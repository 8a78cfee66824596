import { safePath } from "../../api/safe-path.ts";

/** Continues as another person by reloading the page, which drops all loaded data. */
export function enter(next?: string): void {
  window.location.assign(safePath(next));
}
