#include "kiln/targets/interface/difference.h"

#include <algorithm>

#include "fmt/format.h"

namespace kiln {

std::optional<size_t> FirstDifferent(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() && y == b.end()) return std::nullopt;
  return static_cast<size_t>(x - a.begin());
}

CycleWindow WindowAround(size_t index, const std::vector<int64_t>& expected,
                         const std::vector<int64_t>& actual, int64_t latency) {
  constexpr size_t kBefore = 2;
  CycleWindow window;
  if (index >= kBefore && index - kBefore < actual.size()) window.begin = actual[index - kBefore];
  for (const std::vector<int64_t>* events : {&expected, &actual}) {
    if (events->empty()) continue;
    window.end = std::max(window.end, (*events)[std::min(index, events->size() - 1)]);
  }
  window.end += 2 * latency;
  return window;
}

std::vector<std::string> MemoryArguments(const RtlOptions& options, uint64_t seed) {
  std::vector<std::string> arguments = {"--seed", std::to_string(seed)};
  const auto add = [&](const char* flag, std::string value) {
    arguments.insert(arguments.end(), {flag, std::move(value)});
  };
  if (options.stall_probability > 0) add("--stalls", fmt::format("{}", options.stall_probability));
  if (options.dram_bytes_per_cycle > 0)
    add("--dram", fmt::format("{}", options.dram_bytes_per_cycle));
  if (options.dram_row_miss > 0) add("--row-miss", std::to_string(options.dram_row_miss));
  if (options.memory_latency > 0) add("--latency", std::to_string(options.memory_latency));
  if (options.most_cycles > 0) add("--limit", std::to_string(options.most_cycles));
  return arguments;
}

std::vector<std::string> WaveArguments(const WaveOptions& wave) {
  if (wave.file.empty()) return {};
  return {"--wave",      wave.file.string(),
          "--wave-from", std::to_string(wave.window.begin),
          "--wave-to",   std::to_string(wave.window.end)};
}

}  // namespace kiln
