// Drawing of one judge's plots as SVG and tables. Everything from data becomes text nodes or attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";
const MINUS = "\u2212";

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function draw(tag, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

function say(value, digits = 2, signed = false) {
  if (value === null || value === undefined) return "\u2013";
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return text;
  return (value < 0 ? MINUS : signed ? "+" : "") + text;
}

function sayInterval(low, high, digits = 2, signed = false) {
  return low === null || high === null ? "" : `[${say(low, digits, signed)}, ${say(high, digits, signed)}]`;
}

function shade(shift) {
  if (shift === null) return "dx";
  const level = DATA.steps.filter((step) => Math.abs(shift) >= step).length;
  return level === 0 ? "d0" : (shift > 0 ? "dp" : "dn") + level;
}

function ticks(low, high, about) {
  const raw = (high - low) / about, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9; at += step) found.push(Number(at.toFixed(10)));
  return found;
}

function frame(width, height, label) {
  return draw("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

function drawHistogram(judge, width) {
  const bins = binned(judge.histogram), height = 190, foot = 24, top = Math.max(...bins.map((bin) => bin[1]), 1);
  const total = bins.reduce((sum, bin) => sum + bin[1], 0) || 1;
  const svg = frame(width, height, `Scores of ${judge.name}: ` + bins.map((bin) => `${bin[0]}: ${bin[1]}`).join(", "));
  const step = width / Math.max(bins.length, 1), wide = Math.min(step * 0.72, 64);
  bins.forEach(([score, cells], index) => {
    const tall = (height - foot - 22) * cells / top, x = index * step + step / 2;
    svg.append(draw("rect", { x: x - wide / 2, y: height - foot - tall, width: wide, height: Math.max(tall, 1), rx: 2, fill: "var(--blue)", opacity: 0.85 }),
      draw("text", { x, y: height - foot - tall - 6, "text-anchor": "middle", class: "soft" }, cells ? (cells / total < 0.005 ? "< 1" : Math.round(100 * cells / total)) + "\u00a0%" : ""),
      draw("text", { x, y: height - 6, "text-anchor": "middle" }, score));
  });
  svg.append(draw("line", { x1: 0, x2: width, y1: height - foot, y2: height - foot, stroke: "var(--rule)" }));
  return svg;
}

function binned(histogram) {
  if (histogram.length <= 12) return histogram;
  const values = histogram.map((pair) => Number(pair[0])), low = Math.min(...values), high = Math.max(...values), step = (high - low) / 10 || 1;
  const bins = Array.from({ length: 10 }, (_, index) => [(low + step * (index + 0.5)).toFixed(1), 0]);
  histogram.forEach((pair, index) => { bins[Math.min(9, Math.floor((values[index] - low) / step))][1] += pair[1]; });
  return bins;
}

const PRODUCER_HUES = ["var(--blue)", "var(--orange)", "var(--purple)", "var(--green)"];

function drawForest(judge, effects, width) {
  const producers = [...new Set(effects.map((each) => each[1]))], conditions = [...new Set(effects.map((each) => each[0]))];
  const narrow = width < 460, left = Math.max(...conditions.map((each) => each.length)) * (narrow ? 6.6 : 7.2) + 14, right = narrow ? 8 : 124, lane = 15, gap = 13, head = 8;
  const ends = effects.flatMap((each) => [each[2], each[3], each[4], 0]).filter((each) => each !== null);
  const low = Math.min(...ends), high = Math.max(...ends), room = (high - low || 1) * 0.06, span = high - low + 2 * room || 1;
  const place = (value) => left + (value - low + room) / span * (width - left - right);
  const height = head + conditions.length * (producers.length * lane + gap) + 30, foot = height - 26;
  const svg = frame(width, height, `Mean shift by condition for ${judge.name}, with 95 % intervals`);
  for (const at of ticks(low - room, high + room, narrow ? 3 : 6)) {
    svg.append(draw("line", { x1: place(at), x2: place(at), y1: head, y2: foot, stroke: at === 0 ? "var(--muted)" : "var(--rule)" }),
      draw("text", { x: place(at), y: height - 8, "text-anchor": "middle", class: "soft" }, say(at, span < 1 ? 2 : 1, true)));
  }
  conditions.forEach((condition, row) => {
    const top = head + row * (producers.length * lane + gap) + gap / 2;
    svg.append(draw("text", { x: left - 12, y: top + producers.length * lane / 2 + 4, "text-anchor": "end", style: `font-size:${narrow ? 11 : 12}px` }, condition));
    producers.forEach((producer, index) => {
      const effect = effects.find((each) => each[0] === condition && each[1] === producer);
      if (effect) forestLane(svg, effect, place, top + index * lane + lane / 2, PRODUCER_HUES[index % 4], width, narrow);
    });
  });
  return [producers.length > 1 ? producerKey(producers) : "", svg];
}

function forestLane(svg, effect, place, y, hue, width, narrow) {
  const [condition, producer, value, low, high, n, reason] = effect;
  const words = value === null ? `\u2013 ${reason}` : `${say(value, 2, true)} ${sayInterval(low, high, 2, true)}`;
  if (value !== null && low !== null && high !== null) svg.append(draw("line", { x1: place(low), x2: place(high), y1: y, y2: y, stroke: hue, "stroke-width": 1.6, opacity: 0.55 }));
  if (value !== null) svg.append(draw("circle", { cx: place(value), cy: y, r: 3.6, fill: hue, "data-tip": `${condition} · ${producer} · ${words} · n = ${n}` }));
  if (!narrow) svg.append(draw("text", { x: width, y: y + 4, "text-anchor": "end", class: "soft", style: "font-size:11px" }, words));
}

function producerKey(producers) {
  const list = make("ul", { class: "legend" });
  producers.forEach((producer, index) => {
    const dot = draw("svg", { class: "mark", viewBox: "0 0 12 12", "aria-hidden": "true", style: `--tone:${PRODUCER_HUES[index % 4]}` });
    dot.append(draw("circle", { cx: 6, cy: 6, r: 4.4 }));
    list.append(make("li", {}, dot, producer || "no producer"));
  });
  return list;
}

function drawPapers(judge) {
  const seen = DATA.versions.map((_, column) => judge.scores.some((row) => row && row[column] !== null));
  const digits = judge.scores.flat().every((score) => score === null || Number.isInteger(score)) ? 0 : 1;
  const columns = DATA.versions.map((version, index) => [version, index]).filter(([, index]) => seen[index]);
  const head = make("tr", {}, make("th", { scope: "col", class: "sticky" }, "Paper"), make("th", { scope: "col", class: "turn" }, make("span", {}, "Human")));
  for (const [[title, producer]] of columns) head.append(make("th", { scope: "col", class: "turn" }, make("span", {}, producer ? `${title} · ${producer}` : title)));
  const body = make("tbody");
  judge.scores.forEach((row, place) => {
    if (!row) return;
    const [family, title, human] = DATA.families[place];
    const line = make("tr", {}, make("th", { scope: "row", class: "sticky", "data-tip": title }, family), make("td", { class: "human" }, say(human, 1)));
    for (const [[name, producer], index] of columns) line.append(paperCell(row, index, title, producer ? `${name} · ${producer}` : name, digits));
    body.append(line);
  });
  const table = make("table", { class: "heat papers" }, make("thead", {}, head), body);
  return make("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": `Scores of ${judge.name} by paper and wording` }, table);
}

function paperCell(row, index, title, wording, digits) {
  const score = row[index], first = row[0], shift = index && score !== null && first !== null ? score - first : null;
  const words = score === null ? "missing" : `score ${say(score, digits)}` + (shift === null ? "" : `, ${say(shift, digits, true)} against the original`);
  return make("td", { class: index ? shade(shift) : "first", "data-tip": `${title} · ${wording} · ${words}` }, score === null ? "\u00b7" : say(score, digits));
}
