// The answers of one request: each its prompt, muted, and the text that goes on from it.
import type { Piece } from "./completions";
import { copyOnClick, element } from "./dom";

const ENDINGS: Record<string, string> = {
  stop: "ended by itself",
  length: "reached the most tokens",
};
const MOST_OF_PROMPT = 400; // characters shown

interface Card {
  text: HTMLElement;
  ending: HTMLElement;
}

export class AnswerCards {
  private cards: Card[] = [];

  constructor(private readonly place: HTMLElement) {}

  set busy(is: boolean) {
    this.place.setAttribute("aria-busy", String(is));
  }

  // Empty cards for n answers, in place of the former ones.
  open(prompt: string, n: number): void {
    const shown = prompt.length > MOST_OF_PROMPT ? `… ${prompt.slice(-MOST_OF_PROMPT)}` : prompt;
    this.cards = [];
    this.place.replaceChildren();
    for (let index = 0; index < n; ++index) {
      const text = element("span", "drawn");
      const ending = element("span", "ending");
      const copy = element("button", "quiet", "Copy");
      copy.type = "button";
      copyOnClick(copy, () => text.textContent ?? "");
      const title = element("h2", "", n === 1 ? "Completion" : `Completion ${index + 1}`);
      const card = element(
        "article",
        "answer open",
        element("header", "", title, ending, copy),
        element("p", "text", element("span", "given", shown), text),
      );
      this.place.append(card);
      this.cards.push({ text, ending });
    }
  }

  add(piece: Piece): void {
    const card = this.cards[piece.index];
    if (card === undefined) return;
    if (piece.text !== "") card.text.append(element("span", "token", piece.text));
    if (piece.finish_reason !== null) {
      this.close(card, ENDINGS[piece.finish_reason] ?? piece.finish_reason);
    }
  }

  // The stream is over; what has not ended will not.
  breakOff(): void {
    for (const card of this.cards) {
      if (card.ending.textContent === "") this.close(card, "broken off");
    }
  }

  private close(card: Card, ending: string): void {
    card.ending.textContent = ending;
    card.text.closest(".answer")?.classList.remove("open");
  }
}
