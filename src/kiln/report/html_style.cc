// The style sheet and the head of the HTML reports.
#include <fmt/format.h>

#include "kiln/report/html_parts.h"
#include "kiln/report/text.h"

namespace kiln::html {

// Returns the style sheet. The first eight colours are Okabe's and Ito's, which colour-blind
// readers can tell apart, darkened for text and brightened for dark pages. Eight more follow for
// pictures that need them, such as the causes for which units wait.
std::string_view Style() {
  return R"css(
:root {
  color-scheme: light dark;
  --page: #ffffff; --card: #f6f7f9; --ink: #1b1f24; --faint: #626b76; --line: #dfe3e8; --good: #1a7f4b; --bad: #b3261e;
  --u0: #0072b2; --u1: #009e73; --u2: #d98200; --u3: #b0578f; --u4: #3f9fd0; --u5: #c4511a; --u6: #8a8000; --u7: #5b5fc7;
  --u8: #7a4a21; --u9: #e377c2; --u10: #17505e; --u11: #a6c34c;
  --u12: #e3a98f; --u13: #6b1d4f; --u14: #23286e; --u15: #86cfdc;
  --host: #8a929c; --idle: #e7eaee;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --card: #1d2127; --ink: #e6e9ed; --faint: #9aa4b0; --line: #323943; --good: #5fd39a; --bad: #ff8a80;
    --u0: #4aa8e0; --u1: #2fc79d; --u2: #f0a93a; --u3: #d98bbd; --u4: #7cc4ea; --u5: #ee7f4b; --u6: #c9be3c; --u7: #9a9df0;
    --u8: #b98a5e; --u9: #f3a6dd; --u10: #4f9aad; --u11: #cbe37a;
    --u12: #f4d3c2; --u13: #b0568c; --u14: #5f67d0; --u15: #bfeaf2;
    --host: #77808b; --idle: #2a3038;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; font-weight: 650; margin: 0 0 .3rem; letter-spacing: -.01em; overflow-wrap: anywhere; }
h1 .on { color: var(--faint); font-weight: 400; }
h2 { font-size: 1.12rem; font-weight: 650; margin: 2.6rem 0 .8rem; }
p { margin: .3rem 0; max-width: 75ch; }
.faint, caption, .note { color: var(--faint); }
.note { font-size: .88rem; }
code, pre { font: .86em/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; overflow-x: auto; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: .8rem; margin: 1.6rem 0 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem; min-width: 0; overflow-wrap: anywhere; }
.card .label { color: var(--faint); font-size: .82rem; }
.card .figure { font-size: 1.5rem; font-weight: 620; line-height: 1.3; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.card .detail { color: var(--faint); font-size: .82rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .34rem .7rem .34rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--faint); font-weight: 550; white-space: nowrap; border-bottom-color: var(--faint); }
td.n, th.n { text-align: right; white-space: nowrap; }
td.name { overflow-wrap: anywhere; min-width: 10.5rem; }
td.long { min-width: 9rem; }
table.runs th.n { white-space: normal; min-width: 6.2rem; overflow-wrap: anywhere; }
table.runs td.words { text-align: right; overflow-wrap: anywhere; }
table.runs td.n .faint { display: block; }
td.n svg { margin-left: auto; }
tr.host td { color: var(--faint); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 0; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
svg { display: block; max-width: 100%; height: auto; }
svg text { fill: var(--ink); font: 12px system-ui, -apple-system, "Segoe UI", Arial, sans-serif; }
svg text.faint { fill: var(--faint); font-size: 11px; }
svg text.on-bar { fill: var(--page); font-size: 11px; }
svg.paper { max-width: none; }
svg.paper text { fill: #1b1f24; }
svg .axis { stroke: var(--line); stroke-width: 1; }
svg .roof { stroke: var(--ink); stroke-width: 1.6; }
svg .network { fill: none; stroke: var(--ink); stroke-width: 2; }
svg .point { fill-opacity: .72; stroke: var(--page); stroke-width: 1; }
.u0 { fill: var(--u0); } .u1 { fill: var(--u1); } .u2 { fill: var(--u2); } .u3 { fill: var(--u3); }
.u4 { fill: var(--u4); } .u5 { fill: var(--u5); } .u6 { fill: var(--u6); } .u7 { fill: var(--u7); }
.u8 { fill: var(--u8); } .u9 { fill: var(--u9); } .u10 { fill: var(--u10); }
.u11 { fill: var(--u11); } .u12 { fill: var(--u12); } .u13 { fill: var(--u13); }
.u14 { fill: var(--u14); } .u15 { fill: var(--u15); }
.host { fill: var(--host); } .idle { fill: var(--idle); }
.odd { fill-opacity: .62; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .84rem; color: var(--faint); margin-top: .5rem; }
.legend svg { display: inline-block; vertical-align: -1px; margin-right: .35rem; }
summary { cursor: pointer; color: var(--faint); }
footer { margin-top: 3rem; color: var(--faint); font-size: .84rem; border-top: 1px solid var(--line); padding-top: .8rem; }
@media print {
  :root { --page: #fff; --card: #fff; --ink: #000; --faint: #444; --line: #bbb; --idle: #eee; }
  body { font-size: 10pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; }
  .card, tr, svg { break-inside: avoid; }
  h2 { break-after: avoid; }
}
)css";
}

std::string PageHead(std::string_view title, std::string_view heading) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}</title><style>{}</style></head><body><main>\n<h1>{}</h1>\n",
      EscapeHtml(title), Style(), heading);
}

}  // namespace kiln::html
