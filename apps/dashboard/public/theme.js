// Sets the chosen theme before the first paint. A separate file, because the content security policy allows no inline
// script. src/ui/theme.ts stores the theme.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // storage is forbidden: keep the system's theme
}
