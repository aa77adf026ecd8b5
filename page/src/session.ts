// What a tab remembers, and forgets when it is closed. Never localStorage: a key must not outlive
// the session of whoever typed it.

function read(name: string): string {
  try {
    return sessionStorage.getItem(name) ?? "";
  } catch {
    return ""; // storage may be switched off
  }
}

function write(name: string, value: string): void {
  try {
    if (value === "") sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, value);
  } catch {
    // Then the field alone holds it.
  }
}

// Keeps the value of a key's field in the session, under `name`.
export function rememberKey(field: HTMLInputElement, name: string, changed: () => void): void {
  field.value = read(name);
  field.addEventListener("change", () => {
    field.value = field.value.trim();
    write(name, field.value);
    changed();
  });
}

// A button that goes from the system's colours to the other ones and back.
export function offerThemes(button: HTMLButtonElement): void {
  const root = document.documentElement;
  const show = (theme: string) => {
    if (theme === "") delete root.dataset["theme"];
    else root.dataset["theme"] = theme;
  };
  show(read("submix-theme"));
  button.addEventListener("click", () => {
    const current =
      root.dataset["theme"] ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const next = current === "dark" ? "light" : "dark";
    write("submix-theme", next);
    show(next);
  });
}
