// Sets the chosen theme before the first paint. A file of its own, because the content security policy allows no script
// inside the page; src/ui/theme.ts writes what is read here.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // where storage is forbidden the system's theme stays
}
