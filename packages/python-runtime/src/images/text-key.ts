/**
 * A name for a text, short enough for a file: 64 bits of FNV-1a in hex. For texts of our own, such as the paths of this machine,
 * where nobody looks for two of one name: a cryptographic hash would cost each command the 5 ms in which Node loads it.
 */
export function textKey(text: string): string {
  return `${hash(text, 0x811c9dc5)}${hash(text, 0x01000193)}`;
}

function hash(text: string, start: number): string {
  let value = start;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return (value >>> 0).toString(16).padStart(8, "0");
}
