/**
 * Short file name for a text: 64-bit FNV-1a in hex. Only for trusted texts, such as paths of this machine, where no one
 * crafts collisions. A cryptographic hash would add the 5 ms that Node needs to load it to each command.
 */
export function textKey(text: string): string {
  return `${hash(text, 0x811c9dc5)}${hash(text, 0x01000193)}`;
}

function hash(text: string, start: number): string {
  let value = start;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return (value >>> 0).toString(16).padStart(8, "0");
}
