// Draws a mapping: the repeated schedule, and a thread over time.

#include <algorithm>
#include <vector>

#include "fmt/format.h"
#include "kiln/targets/cgra/chart/chart.h"
#include "kiln/targets/cgra/graph/timing.h"

namespace kiln::cgra {
namespace {

constexpr int kLeft = 64, kTop = 48, kGap = 56, kCellWidth = 92, kCellHeight = 24, kMargin = 16;
constexpr size_t kShownBytes = 11;  // of a name in a box
// The width of a character of a title, and the characters of a title beside the graph's name.
constexpr int kTitleCharacter = 8;
constexpr size_t kTitleBytes = 46, kLeastNameBytes = 8;
// The colours of Okabe and Ito, which colour-blind readers tell apart, lightened for dark text.
constexpr std::string_view kColours[] = {"#9ecae9", "#f7c97f", "#8fd3bd", "#e7b3cf",
                                         "#f3ec9b", "#e9a58a", "#b5c9de", "#cfcfcf"};

// One box of the picture.
struct Box {
  std::string name;
  std::string text;  // the name as the box shows it
  Place place;
  int flow = 0;
};

// Escapes what SVG gives a meaning, and replaces what it forbids.
std::string SvgText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += code < 0x20 || code == 0x7f ? ' ' : c;
    }
  }
  return out;
}

// Cuts a name to a number of bytes, without splitting a UTF-8 character.
std::string Shown(const std::string& name, size_t bytes) {
  if (name.size() <= bytes) return name;
  size_t end = bytes - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end) + "…";
}

// Returns a node's name for a box: without the graph's name, with which compiled networks begin
// names, and of a path only the last part.
std::string ShortName(const ComputationGraph& graph, const std::string& name) {
  std::string_view rest = name;
  if (!graph.name.empty() && rest.starts_with(graph.name + ' '))
    rest.remove_prefix(graph.name.size() + 1);
  const size_t slash = rest.rfind('/');
  if (rest.size() > kShownBytes && slash != std::string_view::npos && slash + 1 < rest.size())
    rest.remove_prefix(slash + 1);
  return std::string(rest);
}

// The boxes, in the order of nodes, then of pass-throughs; -1 for nodes that have none.
struct Boxes {
  std::vector<Box> all;
  std::vector<int> of_node, of_pass;
};

Boxes BoxesOf(const ComputationGraph& graph, const Mapping& mapping, const Config& config) {
  Boxes boxes;
  const std::vector<int> flows = FlowsOf(graph, config);
  boxes.of_node.assign(graph.nodes.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!graph.TakesSlot(static_cast<int>(n)) || mapping.fused_into[n] >= 0) continue;
    boxes.of_node[n] = static_cast<int>(boxes.all.size());
    const std::string& name = graph.nodes[n].name;
    boxes.all.push_back({name, ShortName(graph, name), mapping.places[n], flows[n]});
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const int into = mapping.fused_into[n];
    if (into < 0) continue;
    boxes.of_node[n] = boxes.of_node[static_cast<size_t>(into)];
    if (boxes.of_node[n] < 0) continue;
    Box& box = boxes.all[static_cast<size_t>(boxes.of_node[n])];
    box.name = graph.nodes[n].name + " + " + box.name;
    box.text = ShortName(graph, graph.nodes[n].name) + " + " + box.text;
  }
  for (const PassThrough& pass : mapping.passes) {
    boxes.of_pass.push_back(static_cast<int>(boxes.all.size()));
    const auto node = static_cast<size_t>(pass.node);
    const std::string& name = graph.nodes[node].name;
    boxes.all.push_back({"→ " + name, "→ " + ShortName(graph, name), pass.place, flows[node]});
  }
  return boxes;
}

// A grid of tiles and rows, with its top at `y`.
class Grid {
 public:
  Grid(int y, int tiles, int rows) : y_(y), tiles_(tiles), rows_(rows) {}
  int bottom() const { return y_ + rows_ * kCellHeight; }
  int X(int tile) const { return kLeft + tile * kCellWidth; }
  int Y(int row) const { return y_ + row * kCellHeight; }

  std::string Draw(std::string_view title) const {
    std::string out = fmt::format("<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n",
                                  kMargin, y_ - 28, title);
    for (int tile = 0; tile < tiles_; ++tile) {
      out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">tile {}</text>\n",
                         X(tile) + kCellWidth / 2, y_ - 8, tile);
    }
    for (int row = 0; row < rows_; ++row) {
      out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                         Y(row) + 16, row);
    }
    for (int row = 0; row <= rows_; ++row) {
      out += fmt::format("<path d=\"M{} {}H{}\" stroke=\"#dddddd\"/>\n", kLeft, Y(row), X(tiles_));
    }
    for (int tile = 0; tile <= tiles_; ++tile) {
      out += fmt::format("<path d=\"M{} {}V{}\" stroke=\"#dddddd\"/>\n", X(tile), y_, bottom());
    }
    return out;
  }

  std::string DrawBox(const Box& box, int row, const std::string& detail) const {
    return fmt::format(
        "<g><title>{}, {}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\" "
        "fill=\"{}\" stroke=\"#555555\"/><text x=\"{}\" y=\"{}\" "
        "text-anchor=\"middle\">{}</text></g>\n",
        SvgText(box.name), detail, X(box.place.tile) + 3, Y(row) + 2, kCellWidth - 6,
        kCellHeight - 4, kColours[static_cast<size_t>(std::max(box.flow, 0)) % std::size(kColours)],
        X(box.place.tile) + kCellWidth / 2, Y(row) + 16, SvgText(Shown(box.text, kShownBytes)));
  }

 private:
  int y_, tiles_, rows_;
};

// Draws the way of a value from the end of its producer's box to the top of its consumer's.
std::string DrawArrow(const Grid& grid, const Place& from, const Place& to, bool dashed,
                      std::string_view id) {
  return fmt::format(
      "<path d=\"M{} {}L{} {}\" stroke=\"#333333\" fill=\"none\" "
      "marker-end=\"url(#{}head)\"{}/>\n",
      grid.X(from.tile) + kCellWidth / 2, grid.Y(from.issue + 1) - 2,
      grid.X(to.tile) + kCellWidth / 2, grid.Y(to.issue) + 2, id,
      dashed ? " stroke-dasharray=\"4 3\"" : "");
}

std::string DrawArrows(const ComputationGraph& graph, const Mapping& mapping, const Config& config,
                       const Boxes& boxes, const Grid& grid, std::string_view id) {
  std::string out;
  const auto place = [&](int box) { return boxes.all[static_cast<size_t>(box)].place; };
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    const GraphEdge& edge = graph.edges[e];
    const EdgeTiming timing = TimingOf(graph, config, edge);
    if (timing == EdgeTiming::kStored || timing == EdgeTiming::kResult || edge.distance > 0) {
      continue;
    }
    const int provider = mapping.provider[e];
    const int from = provider >= 0 ? boxes.of_pass[static_cast<size_t>(provider)]
                                   : boxes.of_node[static_cast<size_t>(edge.source)];
    const int to = boxes.of_node[static_cast<size_t>(edge.target)];
    if (from < 0 || to < 0 || from == to) continue;
    out += DrawArrow(grid, place(from), place(to), timing != EdgeTiming::kLink, id);
  }
  for (size_t p = 0; p < mapping.passes.size(); ++p) {
    const PassThrough& pass = mapping.passes[p];
    const int from = pass.from >= 0 ? boxes.of_pass[static_cast<size_t>(pass.from)]
                                    : boxes.of_node[static_cast<size_t>(pass.node)];
    if (from >= 0) out += DrawArrow(grid, place(from), place(boxes.of_pass[p]), false, id);
  }
  return out;
}

}  // namespace

std::string MappingSvg(const ComputationGraph& graph, const Mapping& mapping, const Config& config,
                       const ChartOptions& options) {
  const Boxes boxes = BoxesOf(graph, mapping, config);
  const int interval = mapping.initiation_interval;
  int latency = 1;
  for (const Box& box : boxes.all) {
    latency = std::max(latency, box.place.issue + config.pipeline_latency);
  }
  const Grid schedule(kTop + 24, config.tiles(), interval);
  const Grid thread(schedule.bottom() + kGap + 24, config.tiles(), latency);
  const int width = kLeft + config.tiles() * kCellWidth + kMargin;
  const int height = thread.bottom() + kMargin;
  const auto title_bytes = static_cast<size_t>(width / kTitleCharacter);
  const size_t name_bytes =
      std::max(kLeastNameBytes, title_bytes - std::min(title_bytes, kTitleBytes));
  std::string out = fmt::format(
      "<svg {6} viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<defs><marker id=\"{7}head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" "
      "markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#333333\"/></marker>"
      "</defs>\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"20\" font-size=\"14\">{3}: initiation interval {4}, latency {5} "
      "cycles</text>\n",
      width, height, kMargin, SvgText(Shown(graph.name, name_bytes)), interval, latency,
      options.id.empty() ? "xmlns=\"http://www.w3.org/2000/svg\"" : "class=\"paper\"", options.id);
  out += schedule.Draw("slots, repeated for every thread");
  out += thread.Draw("cycles of one thread");
  for (const Box& box : boxes.all) {
    const std::string detail = fmt::format("tile {}, slot {}, cycle {}", box.place.tile,
                                           box.place.issue % interval, box.place.issue);
    out += schedule.DrawBox(box, box.place.issue % interval, detail);
    out += thread.DrawBox(box, box.place.issue, detail);
  }
  if (options.arrows) out += DrawArrows(graph, mapping, config, boxes, thread, options.id);
  return out + "</svg>\n";
}

}  // namespace kiln::cgra
