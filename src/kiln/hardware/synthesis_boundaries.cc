#include "kiln/hardware/synthesis_boundaries.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace kiln::hardware {
namespace {

// What of a design is mapped together.
class BoundarySearch {
 public:
  BoundarySearch(const NetlistStatistics& statistics, const std::string& top) : statistics_(statistics), top_(top) {
    for (std::string& module : SequentialModules(statistics)) kept_.insert(std::move(module));
    kept_.insert(top);
  }

  Boundaries Find() {
    std::map<std::string, bool> seen;
    Order(top_, &seen);
    // From the top down, so that it is known where a module's copies would go.
    for (auto module = order_.rbegin(); module != order_.rend(); ++module) {
      if (!kept_.contains(*module) && Gates(*module) * (copies_[*module] - 1) > kCopiedGates) kept_.insert(*module);
      const int64_t copies = kept_.contains(*module) ? 1 : copies_[*module];
      for (const auto& [cell, count] : statistics_.at(*module).cells) {
        if (statistics_.contains(cell)) copies_[cell] += count * copies;
      }
    }
    Boundaries boundaries;
    gates_.clear();  // now without what is kept
    for (const std::string& module : order_) {
      if (!kept_.contains(module)) continue;
      boundaries.kept.push_back(module);
      if (Gates(module) > kLargeGates) boundaries.large.push_back(module);
    }
    return boundaries;
  }

 private:
  // Modules below a module, each before those that use it.
  void Order(const std::string& module, std::map<std::string, bool>* seen) {
    if (std::exchange((*seen)[module], true)) return;
    for (const auto& [cell, count] : statistics_.at(module).cells) {
      if (statistics_.contains(cell)) Order(cell, seen);
    }
    order_.push_back(module);
  }
  // Of a module and what becomes part of it.
  int64_t Gates(const std::string& module) {
    if (const auto known = gates_.find(module); known != gates_.end()) return known->second;
    constexpr int64_t kGatesPerMemoryBit = 3;  // to choose a word
    int64_t gates = kGatesPerMemoryBit * statistics_.at(module).memory_bits;
    for (const auto& [cell, count] : statistics_.at(module).cells) {
      if (!statistics_.contains(cell)) {
        gates += count * GateEstimate(cell);
      } else if (!kept_.contains(cell)) {
        gates += count * Gates(cell);
      }
    }
    return gates_[module] = gates;
  }

  const NetlistStatistics& statistics_;
  const std::string& top_;
  std::set<std::string> kept_;
  std::vector<std::string> order_;
  std::map<std::string, int64_t> copies_, gates_;
};

}  // namespace

int64_t GateEstimate(const std::string& cell) {
  const size_t line = cell.rfind('_');
  if (line == std::string::npos || !cell.starts_with('$') || KeepsState(cell)) return 0;
  int64_t width = 0;
  const char* const end = cell.data() + cell.size();
  if (std::from_chars(cell.data() + line + 1, end, width).ptr != end) return 0;
  const std::string_view type = std::string_view(cell).substr(0, line);
  const auto is_one_of = [type](std::initializer_list<std::string_view> types) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  constexpr int64_t kAdder = 5, kMultiplexer = 3;  // gates a bit
  // The width is the greatest of a cell's ports': a product's, not its factors'.
  if (is_one_of({"$mul"})) return kAdder * (width / 2) * (width / 2);
  if (is_one_of({"$div", "$mod"})) return kAdder * width * width;
  if (is_one_of({"$shl", "$shr", "$sshl", "$sshr", "$shift"})) {
    return kMultiplexer * width * std::bit_width(static_cast<uint64_t>(width));
  }
  if (is_one_of({"$add", "$sub", "$neg", "$alu"})) return kAdder * width;
  if (is_one_of({"$mux", "$pmux", "$shiftx"})) return kMultiplexer * width;
  return width;
}

Boundaries FindBoundaries(const NetlistStatistics& statistics, const std::string& top) {
  return BoundarySearch(statistics, top).Find();
}

}  // namespace kiln::hardware
