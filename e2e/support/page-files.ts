import type { Locator } from "playwright-core";

/** Two by two pixels. */
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mP438MARAwQCgAvPgYtcKLbpgAAAABJRU5ErkJggg==";
export const PNG = { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(DOT, "base64") };
/** A hundredth of a second of silence. */
const WAVE = `${Buffer.from("UklGRnQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YVAAAAA=", "base64").toString("latin1")}${"\x80".repeat(80)}`;
export const WAV = { name: "still.wav", mimeType: "audio/wav", buffer: Buffer.from(WAVE, "latin1") };
export const HTML = {
  name: "page.html",
  mimeType: "text/html",
  buffer: Buffer.from("<!doctype html><script>alert(1)</script>"),
};

/** An HTMLMediaElement, which the types of Node do not have. */
interface Media {
  readonly duration: number;
  readonly error: { readonly message: string } | null;
  load(): void;
}

/**
 * The seconds of a sound, which is loaded as playing it would. Where a busy browser has given up, the page tries again
 * and the result is why.
 */
export async function durationOf(within: Locator, name: string): Promise<number | string> {
  const again = within.getByRole("button", { name: `Try again to show ${name}` });
  if ((await again.count()) > 0) {
    const shown = await within.getByText(`${name}: `).allInnerTexts();
    await again.click();
    return shown.join();
  }
  const sound = within.locator(`audio[aria-label^="${name}"]`);
  return await sound.evaluate(loadSound, null, { timeout: 1_000 }).catch(String);
}

/** Runs in the page. */
function loadSound(element: unknown): Promise<number> {
  const sound = element as Media;
  return new Promise((resolve, reject) => {
    const onerror = () => reject(new Error(sound.error?.message ?? "not loaded"));
    Object.assign(sound, { preload: "auto", onerror, onloadedmetadata: () => resolve(sound.duration) }).load();
  });
}

/** The width of a picture that the browser has decoded; 0 before. */
export async function widthOf(picture: Locator): Promise<number> {
  return await picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth);
}
