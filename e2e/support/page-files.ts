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

/** Loads the sound of a page, as playing it would; its duration. */
export const LOAD_SOUND = `new Promise((resolve, reject) => {
  const sound = document.querySelector("audio");
  Object.assign(sound, { preload: "auto", onerror: reject, onloadedmetadata: () => resolve(sound.duration) }).load();
})`;

/** The width of a picture that the browser has decoded; 0 before. */
export async function widthOf(picture: Locator): Promise<number> {
  return await picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth);
}
