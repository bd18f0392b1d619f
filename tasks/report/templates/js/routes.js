// Deep links: #section, #judge=NAME&vs=OTHER, #leaderboard&sort=mad&dir=asc&q=gpt. And the start of everything.

const BOARD = new Map();

function noteBoard(changes) {
  for (const [key, value] of Object.entries(changes)) if (value) BOARD.set(key, value); else BOARD.delete(key);
  const rest = [...BOARD].map(([key, value]) => `&${key}=${encodeURIComponent(value)}`).join("");
  history.replaceState(null, "", "#leaderboard" + rest);
}

function noteJudge() {
  const form = byId("choose"), vs = form.elements.vs.value;
  history.replaceState(null, "", "#judge=" + encodeURIComponent(form.elements.judge.value) + (vs ? "&vs=" + encodeURIComponent(vs) : ""));
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function follow() {
  const parts = location.hash.slice(1).split("&").map((part) => part.split("="));
  if (parts.length < 2 && parts[0].length < 2) return;
  const wanted = new Map(parts.map(([key, ...value]) => [decoded(key), decoded(value.join("="))]));
  if (wanted.has("judge")) {
    const form = byId("choose");
    if (wanted.get("judge")) form.elements.judge.value = wanted.get("judge");
    form.elements.vs.value = wanted.get("vs") || "";
    if (!form.elements.judge.value) form.elements.judge.selectedIndex = 0;
    showJudge();
    byId("judge").scrollIntoView();
  } else if (wanted.has("leaderboard")) {
    for (const [key, value] of wanted) if (key !== "leaderboard" && value) BOARD.set(key, value);
    applyBoard(BOARD);
    byId("leaderboard").scrollIntoView();
  }
}

function start() {
  startTheme();
  startTips();
  startContents();
  startPlotSwitch();
  startDownloads();
  startSorting();
  startFilters();
  byId("choose").addEventListener("submit", (event) => event.preventDefault());
  byId("choose").addEventListener("change", () => { showJudge(); noteJudge(); });
  addEventListener("hashchange", follow);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; showJudge(); } });
  showJudge();
  follow();
}

start();
