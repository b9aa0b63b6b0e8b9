// Light, dark, or as the system says.
const NAME = "callboard-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export function currentTheme() {
  return localStorage.getItem(NAME) ?? (dark.matches ? "dark" : "light");
}

export function applyTheme() {
  document.documentElement.dataset.theme = currentTheme();
}

export function switchTheme() {
  localStorage.setItem(NAME, currentTheme() === "dark" ? "light" : "dark");
  applyTheme();
}

dark.addEventListener("change", applyTheme);
