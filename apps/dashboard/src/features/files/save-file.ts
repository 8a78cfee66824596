/** Saves texts as one file in the browser. */
export function saveFile(
  texts: readonly string[],
  { name, type }: { readonly name: string; readonly type: string },
): void {
  const url = URL.createObjectURL(new Blob([...texts], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // the click has already started the download
  URL.revokeObjectURL(url);
}
