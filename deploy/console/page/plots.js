"use strict";
// Plots of the page: bars of a histogram, lines of joints over the last seconds.

const WINDOW = 10;  // [s]
const COLOURS = ["#36c", "#c63", "#293"];  // hip sideways, hip forward, knee

function drawHistogram(canvas, counts, edges) {
  const context = canvas.getContext("2d");
  const {width, height} = canvas;
  const base = height - 22;
  const largest = Math.max(2, ...counts);
  context.clearRect(0, 0, width, height);
  context.font = "12px sans-serif";
  counts.forEach((count, place) => {
    const bar = width / counts.length;
    const tall = count ? Math.max(2, base * Math.log1p(count) / Math.log1p(largest)) : 0;
    context.fillStyle = edges[place - 1] >= 1000 ? "#c00" : "#2a7";
    context.fillRect(place * bar + 2, base - tall, bar - 4, tall);
    context.fillStyle = "#888";
    const name = place < edges.length ? `≤ ${edges[place]}` : "more";
    context.fillText(name, place * bar + 2, height - 8);
  });
}

function drawLeg(canvas, leg, joints, history) {
  const context = canvas.getContext("2d");
  const {width, height} = canvas;
  const end = history.length ? history[history.length - 1].time : 0;
  const x = time => width * (1 - (end - time) / WINDOW);
  const y = angle => height / 2 - angle * height / 6.4;  // 3.2 rad up and down
  context.clearRect(0, 0, width, height);
  context.strokeStyle = "#8886";
  context.beginPath();
  context.moveTo(0, y(0));
  context.lineTo(width, y(0));
  context.stroke();
  context.fillStyle = "#888";
  context.font = "13px sans-serif";
  context.fillText(joints[3 * leg].split("_")[0], 4, 14);
  COLOURS.forEach((colour, place) => {
    const joint = 3 * leg + place;
    context.strokeStyle = context.fillStyle = colour;
    context.beginPath();
    for (const sample of history) {
      if (sample.position) { context.lineTo(x(sample.time), y(sample.position[joint])); }
    }
    context.stroke();
    for (const sample of history) {
      if (sample.target) { context.fillRect(x(sample.time), y(sample.target[joint]), 2, 2); }
    }
  });
}
