// Estimates the gates of modules from operator counts and decides which boundaries to keep.

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

// The estimated gates of a module: all gates, and those of arithmetic operators.
struct Gates {
  int64_t all = 0, arithmetic = 0;
};

// The decision for one design.
class BoundarySearch {
 public:
  BoundarySearch(const NetlistStatistics& statistics, const std::string& top,
                 const std::map<std::string, int64_t>& measured)
      : statistics_(statistics), measured_(measured) {
    for (std::string& module : SequentialModules(statistics)) kept_.insert(std::move(module));
    kept_.insert(top);
    Order(top);
  }

  // Walks the hierarchy twice: top down to decide what is kept, then bottom up to classify it.
  Boundaries Find() {
    // From the top down, so that the number of copies of a module is known when it is considered.
    for (auto module = order_.rbegin(); module != order_.rend(); ++module) {
      // Merging a module into its users maps it once per copy instead of once.
      if (!kept_.contains(*module) &&
          GatesOf(*module).all * (copies_[*module] - 1) > kCopiedGates) {
        kept_.insert(*module);
        if (GatesOf(*module).all <= kDoubtfulGates && !measured_.contains(*module))
          doubtful_.insert(*module);
      }
      // The measurement of a small module includes the modules inside it.
      if (!kept_.contains(*module) && measured_.contains(*module)) continue;
      const int64_t copies = kept_.contains(*module) ? 1 : copies_[*module];
      for (const auto& [cell, count] : statistics_.at(*module).cells) {
        if (statistics_.contains(cell)) copies_[cell] += count * copies;
      }
    }
    Boundaries boundaries;
    const std::vector<std::string> stateful = StatefulModules(statistics_);
    gates_.clear();  // from now on without the kept modules
    for (const std::string& module : order_) {
      if (!kept_.contains(module)) continue;
      boundaries.kept.push_back(module);
      if (module != order_.back() &&
          std::find(stateful.begin(), stateful.end(), module) == stateful.end()) {
        boundaries.stateless.push_back(module);
        if (doubtful_.contains(module)) boundaries.doubtful.push_back(module);
      }
      const Gates gates = GatesOf(module);
      if (gates.all > kLargeGates && gates.arithmetic > kArithmeticGates)
        boundaries.large.push_back(module);
    }
    return boundaries;
  }

 private:
  // Orders the modules below a module so that each precedes those that use it.
  void Order(const std::string& module) {
    if (!seen_.insert(module).second) return;
    for (const auto& [cell, count] : statistics_.at(module).cells) {
      if (statistics_.contains(cell)) Order(cell);
    }
    order_.push_back(module);
  }
  // Returns the gates of a module and of the modules that become part of it.
  Gates GatesOf(const std::string& module) {
    if (const auto known = gates_.find(module); known != gates_.end()) return known->second;
    constexpr int64_t kGatesPerMemoryBit = 3;  // the multiplexers that select a word
    if (const auto gates = measured_.find(module); gates != measured_.end()) {
      return gates_[module] = {.all = gates->second, .arithmetic = 0};
    }
    Gates gates{.all = kGatesPerMemoryBit * statistics_.at(module).memory_bits};
    for (const auto& [cell, count] : statistics_.at(module).cells) {
      if (!statistics_.contains(cell)) {
        gates.all += count * GateEstimate(cell);
        gates.arithmetic += count * ArithmeticEstimate(cell);
      } else if (!kept_.contains(cell)) {
        const Gates below = GatesOf(cell);
        gates.all += count * below.all;
        gates.arithmetic += count * below.arithmetic;
      }
    }
    return gates_[module] = gates;
  }

  const NetlistStatistics& statistics_;
  const std::map<std::string, int64_t>& measured_;
  std::set<std::string> kept_, doubtful_, seen_;
  std::vector<std::string> order_;         // each module before those that use it
  std::map<std::string, int64_t> copies_;  // number of instances in kept modules
  std::map<std::string, Gates> gates_;     // results of GatesOf
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
  constexpr int64_t kAdder = 5, kMultiplexer = 3;  // gates per bit
  // The width is that of the cell's widest port; for a product this is the result.
  if (is_one_of({"$mul"})) return kAdder * (width / 2) * (width / 2);
  if (is_one_of({"$div", "$mod"})) return kAdder * width * width;
  if (is_one_of({"$shl", "$shr", "$sshl", "$sshr", "$shift"})) {
    return kMultiplexer * width * std::bit_width(static_cast<uint64_t>(width));
  }
  if (is_one_of({"$add", "$sub", "$neg", "$alu"})) return kAdder * width;
  if (is_one_of({"$mux", "$pmux", "$shiftx"})) return kMultiplexer * width;
  return width;
}

int64_t ArithmeticEstimate(const std::string& cell) {
  for (const char* type : {"$add_", "$sub_", "$neg_", "$alu_", "$mul_", "$div_", "$mod_"}) {
    if (cell.starts_with(type)) return GateEstimate(cell);
  }
  return 0;
}

Boundaries FindBoundaries(const NetlistStatistics& statistics, const std::string& top,
                          const std::map<std::string, int64_t>& measured) {
  return BoundarySearch(statistics, top, measured).Find();
}

}  // namespace kiln::hardware
