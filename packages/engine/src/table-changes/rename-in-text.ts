/** A string of Python, or a name with what is before and after it. */
const PARTS = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([.\w]*?)(\b[A-Za-z_]\w*\b)(\s*=(?!=))?/g;

/** The printed form of an expression with other names of columns. Attributes, keywords and strings stay. */
export function renameInText(text: string, names: ReadonlyMap<string, string>): string {
  return text.replace(PARTS, (whole, string: string | undefined, before = "", name = "", keyword = "") => {
    if (string !== undefined || before !== "" || keyword !== "") return whole;
    return names.get(name) ?? whole;
  });
}
