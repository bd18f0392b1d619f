// The part of the page about one judge, or two side by side.

function currentJudges() {
  const form = byId("choose");
  const find = (name) => DATA.judges.find((judge) => judge.name === name) || null;
  return [find(form.elements.judge.value), find(form.elements.vs.value)];
}

function showJudge() {
  const [judge, other] = currentJudges(), body = byId("judge-body");
  if (!judge) return;
  const place = DATA.judges.indexOf(judge), effects = DATA.effects[place] || [];
  const wide = body.clientWidth || 900, half = wide < 820 ? wide : (wide - 40) / 2;
  const parts = [judgeHead(judge)];
  const grid = make("div", { class: "one" });
  grid.append(make("div", {}, make("h3", {}, other ? `${judge.name} and ${other.name}` : "Metrics"), metricTable(judge, other)));
  const scores = make("div", {}, make("h3", {}, "Scores given"), drawHistogram(judge, half), make("p", { class: "hint" }, histogramWords(judge)));
  if (other) scores.append(make("h3", {}, `Scores given by ${other.name}`), drawHistogram(other, half), make("p", { class: "hint" }, histogramWords(other)));
  else scores.append(make("h3", {}, "Facts"), factList(judge));
  grid.append(scores);
  if (effects.length) grid.append(make("div", { class: "span" }, make("h3", {}, "Mean shift by condition"), ...drawForest(judge, effects, Math.min(wide, 900))));
  if (judge.scores.some(Boolean)) {
    grid.append(make("div", { class: "span" }, make("h3", {}, "Scores by paper and wording"), make("p", { class: "hint" }, "A cell is a score; its colour is the shift against the original, in points."),
      byId("cell-legend").content.cloneNode(true), drawPapers(judge)));
    const worst = worstShifts(judge);
    if (worst) grid.append(make("div", { class: "span" }, make("h3", {}, "Largest shifts, at most two a paper"), worst));
  }
  body.replaceChildren(...parts, grid);
}

function judgeHead(judge) {
  const row = [...byId("board").tBodies[0].rows].find((each) => each.dataset.name === judge.name);
  const chip = row.querySelector(".chip").cloneNode(true);
  const head = make("div", { class: "one-head" }, make("h3", {}, judge.name), chip);
  return make("div", {}, head, judge.title ? make("p", { class: "spoken" }, judge.title) : "", make("p", { class: "muted" }, [judge.meaning, ...judge.why].join(" ")));
}

function histogramWords(judge) {
  const parts = [];
  if (judge.top !== null) parts.push(`${Math.round(100 * judge.top)} % of cells have one score`);
  if (judge.entropy !== null) parts.push(`entropy ${judge.entropy.toFixed(2)} bits`);
  return parts.join(" · ");
}

function factList(judge) {
  const list = make("dl", { class: "pairs" });
  const missing = judge.missing.map(([reason, cells]) => `${cells} ${reason.toLowerCase()}`).join(", ");
  const cells = `${judge.answered.toLocaleString("en")} of ${judge.wanted.toLocaleString("en")} answered` + (missing ? ` (missing: ${missing})` : "");
  for (const [key, value] of [...judge.facts, ["Cells", cells]]) list.append(make("dt", {}, key), make("dd", {}, value));
  return list;
}

function estimateCell(found, digits, tip) {
  const [value, low, high, n, reason, method, flags, lacking] = found;
  if (value === null) return make("td", { class: "null" }, make("span", { class: "num" }, "\u2013"), make("span", { class: "why" }, reason));
  const notes = [`n = ${n.toLocaleString("en")}`, method ? `interval: ${method}` : "", flags && flags.length ? flags.join(", ") : ""].filter(Boolean).join(" · ");
  return make("td", { "data-tip": `${tip} · ${notes}` }, make("span", { class: "num" }, say(value, digits)), make("span", { class: "ci" }, sayInterval(low, high, digits) || lacking));
}

function comparison(metric, one, two) {
  const places = [DATA.judges.indexOf(one), DATA.judges.indexOf(two)];
  const row = DATA.comparisons.find((each) => each[0] === metric && places.includes(each[1]) && places.includes(each[2]));
  if (!row) return null;
  const [, first, , value, low, high, n, reason, p, holm, needed] = row;
  return first === places[0] ? { value, low, high, n, reason, p, holm, needed } : { value: value === null ? null : -value, low: high === null ? null : -high, high: low === null ? null : -low, n, reason, p, holm, needed };
}

function differenceCell(metric, one, two, digits) {
  const found = comparison(metric, one, two);
  if (!found) return make("td", { class: "null" }, make("span", { class: "why" }, "Not compared"));
  if (found.value === null) return make("td", { class: "null" }, "\u2013", make("span", { class: "why" }, found.reason));
  const holm = found.holm === null ? "not tested" : found.holm < 0.001 ? "p < 0.001 (Holm)" : `p = ${found.holm.toFixed(3)} (Holm)`;
  const needed = found.needed ? `A true difference of this size shows with ${found.needed.toLocaleString("en")} papers` : "";
  return make("td", { "data-tip": needed || null }, make("span", { class: "num" }, say(found.value, digits, true)), make("span", { class: "ci" }, sayInterval(found.low, found.high, digits, true)), make("span", { class: "ci" }, holm), make("span", { class: "ci" }, found.needed ? `${found.needed.toLocaleString("en")} papers to show` : ""));
}

function metricTable(judge, other) {
  const heads = ["Metric", ...(other ? [judge.name, other.name, "Difference"] : ["Value", ...(judge.planted ? ["Planted"] : [])])];
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((word) => make("th", { scope: "col" }, word)))));
  const body = make("tbody");
  DATA.metrics.forEach(([key, label, meaning, digits], index) => {
    const row = make("tr", {}, make("th", { scope: "row", "data-tip": meaning }, label), estimateCell(judge.metrics[index], digits, label));
    if (other) row.append(estimateCell(other.metrics[index], digits, label), differenceCell(key, judge, other, digits));
    else if (judge.planted) row.append(make("td", { class: "num" }, say(judge.planted[index], digits)));
    body.append(row);
  });
  table.append(body);
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Metrics" }, table);
}

function worstShifts(judge) {
  const found = [];
  judge.scores.forEach((row, place) => {
    if (!row || row[0] === null) return;
    row.forEach((score, index) => { if (index && score !== null && score !== row[0]) found.push([score - row[0], place, index, row[0], score]); });
  });
  const reviews = new Map((DATA.reviews[DATA.judges.indexOf(judge)] || []).map((each) => [`${each[0]}/${each[1]}`, each]));
  const isRead = ([, place, index]) => reviews.has(`${place}/${index}`);
  found.sort((one, two) => Math.abs(two[0]) - Math.abs(one[0]) || isRead(two) - isRead(one));
  if (!found.length) return null;
  const body = make("tbody");
  const taken = new Map();
  const few = found.filter(([, place]) => { taken.set(place, (taken.get(place) || 0) + 1); return taken.get(place) <= 2; }).slice(0, 8);
  const hasLinks = few.some(([, place, index]) => pageOf(place, index));
  for (const [shift, place, index, first, score] of few) {
    const [title, producer] = DATA.versions[index], [family, name] = DATA.families[place], digits = Number.isInteger(score) && Number.isInteger(first) ? 0 : 1;
    const row = make("tr", {}, make("th", { scope: "row" }, family, make("span", { class: "ci wrap" }, name)), make("td", {}, producer ? `${title} · ${producer}` : title),
      make("td", { class: "metric num" }, say(first, digits)), make("td", { class: "metric num" }, say(score, digits)), make("td", { class: "metric num" }, say(shift, digits, true)));
    if (hasLinks) row.append(make("td", {}, pageOf(place, index) ? make("a", { href: pageOf(place, index) }, "What changed") : ""));
    body.append(row);
    const read = reviews.get(`${place}/${index}`);
    if (read) body.append(make("tr", { class: "reviews" }, make("td", { colspan: hasLinks ? 6 : 5 }, bothReviews(read))));
  }
  const heads = [["Paper", ""], ["Wording", ""], ["Original", "metric"], ["Reworded", "metric"], ["Shift", "metric"], ...(hasLinks ? [["Word diff", ""]] : [])];
  const head = make("tr", {}, ...heads.map(([word, kind]) => make("th", { scope: "col", class: kind }, word)));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Largest shifts" }, make("table", {}, make("thead", {}, head), body));
}

function pageOf(place, index) { return (DATA.pages[place] || {})[index] || ""; }

function bothReviews([, , original, reworded, isCut]) {
  const side = (word, text) => make("div", {}, make("h4", {}, word), make("div", { class: "review" }, text));
  const both = make("div", { class: "both" }, side("Review of the original", original), side("Review of the reworded paper", reworded));
  return make("details", {}, make("summary", {}, "Both reviews side by side"), both, isCut ? make("p", { class: "hint" }, "Cut here; the whole answers are in the store.") : "");
}
