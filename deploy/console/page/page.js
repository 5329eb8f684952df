"use strict";
// The operator's page: shows snapshots of the server, sends requests of the driver, and stops.

const STALE = 500;        // age of a picture or of an answer that is called old [ms]
const HEARTBEAT = 100;    // period of the driver's messages [ms]
const RETRY = 300;        // wait for the answer to a stop before it is sent again [ms]
const place = id => document.getElementById(id);
const page = {
  socket: null, stopSocket: null, hello: null, role: "", shownAt: 0, answeredAt: 0, roundTrip: 0,
  sequence: -1, movedAt: 0, snapshot: null, history: [], stopPending: false, stops: 0, ended: false,
};
const token = location.hash.slice(1);
if (token) {
  sessionStorage.setItem("token", token);
  history.replaceState(null, "", "/");  // the link is not left in the browser's history
}

function connect() {
  const socket = new WebSocket(`ws://${location.host}/socket`);
  page.socket = socket;
  socket.onopen = () => socket.send(JSON.stringify({
    token: sessionStorage.getItem("token") || "", pass: sessionStorage.getItem("pass") || "",
  }));
  socket.onmessage = event => receive(JSON.parse(event.data));
  socket.onclose = event => {
    if (event.code === 4401) {
      say("connection", "This link has no valid token: you can stop the robot, not watch it.");
    } else if (!page.ended) {
      say("connection", "not connected; trying again …");
      setTimeout(connect, 500);
    }
  };
}

function receive(message) {
  const now = performance.now();
  if (message.hello) { greet(message); }
  if ("echo" in message && message.echo !== null) {
    page.roundTrip = now - message.echo;
    page.answeredAt = now;
  }
  if (message.ended) {
    page.ended = true;
    say("connection", "The run has ended. Its report is named in the terminal.");
  }
  if ("motors" in message) {
    page.shownAt = now;
    if (message.sequence !== page.sequence) { page.movedAt = now; }
    page.sequence = message.sequence;
    show(message);
  }
}

function greet(message) {
  const hello = message.hello;
  page.hello = hello;
  page.role = message.role;
  if (message.pass) { sessionStorage.setItem("pass", message.pass); }
  say("title", `Solo12: ${hello.kind === "log" ? hello.name : `robot ${hello.robot}`}`);
  say("connection", "connected");
  place("states").replaceChildren(...hello.states.map(state => chip(state.name)));
  place("legs").replaceChildren(...[0, 1, 2, 3].map(() => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [420, 160];
    return canvas;
  }));
  if (hello.frame && !place("frame").src) {
    place("scene").hidden = false;
    // Drawing may slow this page down, which damps the robot: a driver starts it.
    if (message.role === "driver") { place("draw").hidden = false; } else { drawRobot(); }
  }
  if (hello.kind === "log") { return playLog(hello); }
  const who = {
    driver: "You drive. Keep this page in front: the motors are damped when it is silent.",
    watcher: `Driven by ${hello.operator}${hello.operator === "page" ? " in another browser" : ""}. ` +
      "You can watch and stop." +
      (hello.operator === "page" ? "" : " Start with --operator page to drive here."),
  };
  say("role", who[message.role]);
  place("skills").replaceChildren(...hello.skills.map(skill => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Skill ${skill}`;
    button.dataset.skill = skill;
    button.dataset.event = "WALK";
    button.onclick = () => send({request: "walk", skill});
    return button;
  }));
  place("velocity").hidden = !hello.command.steerable;
  for (const slider of document.querySelectorAll("[data-axis]")) {
    slider.min = hello.command.low[slider.dataset.axis];
    slider.max = hello.command.high[slider.dataset.axis];
    slider.parentElement.hidden = slider.min === slider.max;
  }
}

// Another name of this computer is another site, which browsers give a process of its own.
function drawRobot() {
  const other = location.hostname === "localhost" ? "127.0.0.1" : "localhost";
  place("frame").src = `http://${other}:${page.hello.frame}/`;
  place("frame").hidden = false;
  place("draw").hidden = true;
}
place("draw").onclick = drawRobot;

function chip(name) {
  const item = document.createElement("li");
  item.textContent = name;
  return item;
}

function say(id, text) {
  if (place(id).textContent !== text) { place(id).textContent = text; }
}

function fixed(number) {
  return number === null ? "not a number" : number.toFixed(2);
}

function show(snapshot) {
  page.snapshot = snapshot;
  const bad = ["DAMP", "FAULT"].includes(snapshot.state);
  for (const item of place("states").children) {
    const now = item.textContent === snapshot.state;
    item.className = now ? (bad ? "now bad" : "now") : "";
  }
  const state = page.hello.states.find(entry => entry.name === snapshot.state);
  const skill = snapshot.skill === null || snapshot.skill === undefined ? "" : ` with skill ${snapshot.skill}`;
  say("words", state ? `The robot ${state.words}${skill}.` : "The controller has not reported yet.");
  say("motors", snapshot.motors);
  say("fault", snapshot.fault ? `Fault: ${snapshot.fault}` : "");
  if (snapshot.velocity && snapshot.velocity[0] !== null) {
    say("speed", `Estimated velocity ${fixed(snapshot.velocity[0])} m/s forward, ` +
      `${fixed(snapshot.velocity[1])} m/s to the left`);
  }
  for (const button of document.querySelectorAll("[data-request], [data-skill]")) {
    const possible = !button.dataset.event || snapshot.possible.includes(button.dataset.event);
    button.disabled = page.role !== "driver" || !possible;
    button.classList.toggle("now", Number(button.dataset.skill) === snapshot.skill);
  }
  showMargins(snapshot.margins);
  drawHistogram(place("lateness"), snapshot.lateness, page.hello.lateness_edges_us);
  if (snapshot.ticks !== undefined) {
    say("late", `${snapshot.late_ticks} of ${snapshot.ticks} ticks were late by more than a period.`);
  }
  if (page.hello.kind === "live" && snapshot.position) { remember(snapshot); }
  [...place("legs").children].forEach((canvas, leg) => drawLeg(canvas, leg, page.hello.joints, page.history));
  if (snapshot.stops > page.stops && bad) { confirmStop("The robot is damped."); }
  if (!bad && !page.stopPending) { place("stop").className = ""; page.stops = snapshot.stops || 0; }
}

function remember(snapshot) {
  const last = page.history[page.history.length - 1];
  if (last && snapshot.time < last.time) { page.history = []; }
  page.history.push(snapshot);
  while (page.history[0].time < snapshot.time - WINDOW) { page.history.shift(); }
}

function showMargins(margins) {
  const rows = margins.map(margin => {
    const row = document.createElement("tr");
    const value = `${fixed(margin.value)} of ${fixed(margin.limit)} ${margin.unit}`;
    for (const text of [`${margin.name} ${margin.where}`, value]) {
      row.append(Object.assign(document.createElement("td"), {textContent: text}));
    }
    const meter = Object.assign(document.createElement("meter"), {min: 0, max: 1, low: .7, high: .9, optimum: 0});
    meter.value = margin.share === null ? 1 : margin.share;  // not a number: worse than any
    const cell = document.createElement("td");
    cell.append(meter);
    row.append(cell);
    return row;
  });
  place("margins").replaceChildren(...rows);
}

// --- Driving ------------------------------------------------------------------------------------

function send(message) {
  if (page.socket && page.socket.readyState === WebSocket.OPEN && page.hello) {
    const velocity = [...document.querySelectorAll("[data-axis]")].map(slider => Number(slider.value));
    page.socket.send(JSON.stringify({...message, velocity, sent: performance.now()}));
  }
}

for (const button of document.querySelectorAll("[data-request]")) {
  button.onclick = () => { zero(); send({request: button.dataset.request}); };
}
for (const slider of document.querySelectorAll("[data-axis]")) {
  slider.oninput = () => { slider.parentElement.querySelector("output").textContent = slider.value; };
}
function zero() {
  for (const slider of document.querySelectorAll("[data-axis]")) { slider.value = 0; slider.oninput(); }
}
place("zero").onclick = zero;
zero();

// --- Stopping: in its own connection, without a token ---------------------------------------------

function openStop() {
  const socket = new WebSocket(`ws://${location.host}/stop`);
  socket.onmessage = () => {
    page.stopPending = false;
    place("stop").className = "sent";
    say("connection", "stop received by the server");
  };
  page.stopSocket = socket;
  return socket;
}

function stop() {
  page.stopPending = true;
  place("stop").className = "sent";
  say("connection", "stop sent, no answer yet");
  trySending();
}

function trySending() {
  if (!page.stopPending) { return; }
  if (page.stopSocket && page.stopSocket.readyState === WebSocket.OPEN) {
    page.stopSocket.send("stop");
  } else {
    const socket = openStop();
    socket.onopen = () => socket.send("stop");
  }
  setTimeout(() => {
    if (page.stopPending) {
      say("connection", "stop sent, NO ANSWER: use the robot's power switch");
      page.stopSocket = null;  // a connection that does not answer is replaced
      trySending();
    }
  }, RETRY);
}

function confirmStop(text) {
  page.stops = page.snapshot.stops;
  place("stop").className = "confirmed";
  say("connection", text);
}

place("stop").addEventListener("pointerdown", event => { event.preventDefault(); stop(); });
place("stop").addEventListener("click", event => { if (event.detail === 0) { stop(); } });
for (const kind of ["keydown", "keyup"]) {
  addEventListener(kind, event => {
    if (event.key !== " " && event.key !== "Escape") { return; }
    event.preventDefault();
    event.stopPropagation();
    if (kind === "keydown" && !event.repeat && page.hello?.kind !== "log") { stop(); }
  }, {capture: true});
}

// The view is another page: with the keyboard's focus in it, Space and Escape would not stop.
addEventListener("blur", () => setTimeout(() => {
  if (document.activeElement === place("frame")) { place("frame").blur(); focus(); }
}, 0));

// --- Age of the picture ---------------------------------------------------------------------------

setInterval(() => {
  if (!document.hidden) { send({}); }
  if (!page.hello || page.hello.kind === "log" || page.ended) { return; }
  const now = performance.now();
  const picture = now - page.shownAt;
  const answer = Math.max(page.roundTrip, page.answeredAt ? now - page.answeredAt : 0);
  let text = "";
  if (picture > STALE) {
    text = `OLD PICTURE: nothing new for ${(picture / 1000).toFixed(1)} s.`;
  } else if (answer > STALE) {
    text = `SLOW CONNECTION: the answer takes ${(answer / 1000).toFixed(1)} s.`;
  } else if (now - page.movedAt > STALE) {
    text = `NO NEWS FROM THE ROBOT for ${((now - page.movedAt) / 1000).toFixed(1)} s.`;
  }
  document.body.classList.toggle("stale", text !== "");
  place("stale").hidden = text === "";
  say("stale", text && `${text} STOP still tries; the power switch always works.`);
}, HEARTBEAT);

// --- Recordings -----------------------------------------------------------------------------------

function playLog(hello) {
  place("drive").hidden = place("stop").hidden = true;
  place("player").hidden = false;
  say("connection", "a recording, no robot");
  say("lateness-note", "Time between commands beyond 1000 µs, of all ticks so far in the recording.");
  const seek = place("seek");
  let playing = true;
  seek.max = hello.frames.length - 1;
  seek.value = 0;
  const render = () => {
    const frame = hello.frames[seek.value];
    page.history = hello.frames.slice(Math.max(0, seek.value - 20 * WINDOW), Number(seek.value) + 1);
    show(frame);
    say("at", (frame.time - hello.frames[0].time).toFixed(2));
  };
  seek.oninput = () => { playing = false; say("play", "Play"); render(); };
  place("play").onclick = () => { playing = !playing; say("play", playing ? "Pause" : "Play"); };
  setInterval(() => {
    if (playing && Number(seek.value) < hello.frames.length - 1) { seek.value = Number(seek.value) + 1; render(); }
  }, 50);
  render();
}

openStop();
connect();
