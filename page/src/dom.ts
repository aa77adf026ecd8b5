// Elements without a framework. Text goes in as text nodes only: nothing of a model's answer is
// ever read as markup.

// The element of this id. A page without it is a bug of ours.
export function byId<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`no ${type.name} #${id}`);
  return found;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = "",
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className !== "") made.className = className;
  made.append(...children);
  return made;
}

// Copies, and says so on the button for a moment. Without a clipboard (plain HTTP) it says that.
export function copyOnClick(button: HTMLButtonElement, text: () => string): void {
  const label = button.textContent ?? "";
  button.addEventListener("click", () => {
    const said = (word: string) => {
      button.textContent = word;
      setTimeout(() => (button.textContent = label), 1200);
    };
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (clipboard === undefined) return said("No clipboard");
    clipboard.writeText(text()).then(
      () => said("Copied"),
      () => said("Not allowed"),
    );
  });
}
