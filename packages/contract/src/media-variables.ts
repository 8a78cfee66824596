// Apart from media-place.ts, whose schemas load zod: commands read these before every plan.

/** The variables that name the stores for given and computed media. */
export const INPUT_DESTINATION = "SERVICE_INPUT_MEDIA_DEST";
export const OUTPUT_DESTINATION = "SERVICE_OUTPUT_MEDIA_DEST";

/** The variable that names further stores whose files requests may name, separated by commas. */
export const MEDIA_SOURCES = "SERVICE_MEDIA_SOURCES";

/** The stores of the variable's text. */
export function readSources(text = ""): string[] {
  return text.split(",").flatMap((part) => part.trim() || []);
}
