"use strict";
// What serves the whole page: data, theme, tooltips, contents, plot switch, downloads. No part draws numbers here.

const DATA = JSON.parse(document.getElementById("data").textContent);

function byId(id) { return document.getElementById(id); }

function remember(key, value) {
  try { if (value) localStorage.setItem(key, value); else localStorage.removeItem(key); } catch { /* private windows have no storage; the choice then lasts for the visit */ }
}

function recall(key) {
  try { return localStorage.getItem(key); } catch { return null; }
}

const THEMES = { "": "system", light: "light", dark: "dark" };

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  const button = byId("theme");
  button.textContent = "Theme: " + THEMES[theme];
  button.setAttribute("aria-label", "Theme: " + THEMES[theme] + ". Select to change the colours.");
}

function startTheme() {
  const order = Object.keys(THEMES);
  let theme = recall("evenhand-theme") || "";
  if (!(theme in THEMES)) theme = "";
  setTheme(theme);
  byId("theme").addEventListener("click", () => {
    theme = order[(order.indexOf(theme) + 1) % order.length];
    setTheme(theme);
    remember("evenhand-theme", theme);
  });
}

function tipText(target) {
  const cell = target.closest ? target.closest("[data-tip]") : null;
  if (cell) return cell.dataset.tip;
  if (!target.closest || !target.closest(".plot")) return "";
  const mark = target.matches("[aria-label]") ? target : target.querySelector("path[aria-label]");
  return mark && mark.tagName !== "svg" ? mark.getAttribute("aria-label") : "";
}

function showTip(text, x, y) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = !text;
  if (!text) return;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
}

function startTips() {
  document.addEventListener("pointermove", (event) => showTip(tipText(event.target), event.clientX, event.clientY));
  document.addEventListener("pointerleave", () => showTip(""));
  document.addEventListener("focusin", (event) => {
    const box = event.target.getBoundingClientRect();
    showTip(tipText(event.target), box.left, box.top);
  });
  document.addEventListener("focusout", () => showTip(""));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") showTip(""); });
  document.addEventListener("scroll", () => showTip(""), { passive: true });
}

function startContents() {
  const links = new Map([...document.querySelectorAll(".contents nav a")].map((link) => [link.hash.slice(1), link]));
  const sections = [...document.querySelectorAll("main > section")].filter((section) => links.has(section.id));
  const contents = document.querySelector(".contents");
  if (matchMedia("(max-width: 1080px)").matches) contents.open = false;
  contents.addEventListener("click", (event) => { if (event.target.closest("a") && matchMedia("(max-width: 1080px)").matches) contents.open = false; });
  const mark = () => {
    let here = sections[0];
    for (const section of sections) if (section.getBoundingClientRect().top < 160) here = section;
    for (const [id, link] of links) if (here && id === here.id) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}

function startPlotSwitch() {
  for (const choice of document.querySelectorAll("input[name=plot]")) {
    choice.addEventListener("change", () => {
      for (const plot of document.querySelectorAll("[data-plot]")) plot.hidden = plot.dataset.plot !== choice.value;
    });
  }
}

async function unpack(element) {
  const packed = Uint8Array.from(atob(element.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).blob();
}

async function download(element) {
  const blob = new Blob([await unpack(element)], { type: element.dataset.type });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = element.dataset.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function startDownloads() {
  for (const button of document.querySelectorAll("button.file")) button.addEventListener("click", () => download(byId(button.dataset.file)));
}
