// The parts twice: a skyline for the eye, rows with the numbers. Both keep their elements from one
// reading to the next, so that 128 bars move instead of flickering.
import { element } from "./dom";
import { nats, share } from "./ledger_figures";
import type { Part } from "./operator_api";

// Up to here the rows show it all at a glance.
const FEW_PARTS = 16;

interface Row {
  line: HTMLTableRowElement;
  meter: HTMLElement;
  fill: HTMLElement;
  percent: HTMLElement;
  spent: HTMLElement;
  budget: HTMLElement;
  left: HTMLElement;
  column: HTMLElement;
  columnFill: HTMLElement;
}

function level(part: Part): string {
  if (part.sureAnswers === 0) return "out";
  return share(part) >= 0.8 ? "low" : "fine";
}

export class PartBars {
  private rows: Row[] = [];

  constructor(
    private readonly table: HTMLElement,
    private readonly skyline: HTMLElement,
  ) {}

  show(parts: Part[], mostSpentFirst: boolean): void {
    if (this.rows.length !== parts.length) this.build(parts.length);
    this.rows.forEach((row, index) => {
      const part = parts[index];
      if (part !== undefined) fill(row, part);
    });
    const shares = parts.map(share);
    const order = this.rows.map((row, index) => ({ row, share: shares[index] ?? 0 }));
    if (mostSpentFirst) order.sort((a, b) => b.share - a.share);
    const inOrder = order.map(({ row }) => row);
    this.table.replaceChildren(...inOrder.map((row) => row.line));
    this.skyline.replaceChildren(...inOrder.map((row) => row.column));
  }

  private build(count: number): void {
    this.rows = Array.from({ length: count }, makeRow);
    this.skyline.hidden = count <= FEW_PARTS;
  }
}

function makeRow(): Row {
  const fillOf = element("i");
  const meter = element("div", "meter", fillOf);
  meter.setAttribute("role", "meter");
  meter.setAttribute("aria-valuemin", "0");
  meter.setAttribute("aria-valuemax", "100");
  const percent = element("span", "percent");
  const [spent, budget, left] = [element("td"), element("td"), element("td")];
  const name = element("th");
  name.scope = "row";
  const line = element("tr", "", name, element("td", "wide", meter, percent), spent, budget, left);
  const columnFill = element("i");
  return { line, meter, fill: fillOf, percent, spent, budget, left, column: element("div", "", columnFill), columnFill };
}

function fill(row: Row, part: Part): void {
  const percent = `${(100 * share(part)).toFixed(1)}%`;
  const words = `${part.name}: ${nats(part.spent, part.budget)} of ${nats(part.budget, part.budget)} nats spent`;
  row.line.cells[0]?.replaceChildren(part.name);
  row.meter.setAttribute("aria-label", words);
  row.meter.setAttribute("aria-valuenow", (100 * share(part)).toFixed(1));
  row.fill.style.width = percent;
  row.columnFill.style.height = percent;
  row.percent.textContent = percent;
  row.spent.textContent = nats(part.spent, part.budget);
  row.budget.textContent = nats(part.budget, part.budget);
  row.left.textContent = part.sureAnswers === null ? "–" : part.sureAnswers.toLocaleString("en");
  row.column.title = words;
  row.line.dataset["level"] = row.column.dataset["level"] = level(part);
}
