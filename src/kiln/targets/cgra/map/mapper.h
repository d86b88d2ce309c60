// The interface of all mappers, and the table of them.
#ifndef KILN_TARGETS_CGRA_MAP_MAPPER_H_
#define KILN_TARGETS_CGRA_MAP_MAPPER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/mapping.h"

namespace kiln::cgra {

struct MapOptions {
  int initiation_interval = 0;  // 0: the least that the mapper finds
  uint64_t seed = 1;
  // Steps after which the search ends with the best so far, in the mapper's own unit (nodes of the
  // search, evaluated mappings). The same steps give the same result on every machine. 0: no limit.
  int64_t steps = 0;
  double seconds = 0;  // wall time after which it ends; 0: no limit. Results then depend on speed.
  bool fuse = true;    // whether multiplications and additions may share an instruction
  // Called with every better mapping that is found. May be empty.
  std::function<void(const Mapping& better, double seconds)> on_better = nullptr;
};

// A better mapping on the way, for curves.
struct MapProgress {
  double seconds = 0;
  int64_t steps = 0;
  int initiation_interval = 0, latency = 0;
};

// The space of MapResult without any restriction.
inline constexpr std::string_view kAllMappings = "all mappings";

struct MapResult {
  std::optional<Mapping> mapping;  // nothing: none was found, or none exists
  int latency = 0;                 // cycles
  // What follows holds for the mappings of a space, which a mapping outside may beat.
  std::string space;  // "all mappings without additional pass-throughs"; or kAllMappings
  // No mapping has a smaller initiation interval, and none of the mapping's interval has a smaller
  // latency. Mappers that prove nothing give the bounds of LeastInterval and LeastLatency.
  int interval_bound = 1, latency_bound = 0;
  std::string interval_why, latency_why;  // why, in the user's names
  bool optimal = false;     // proved: least interval, and least latency at that interval
  bool impossible = false;  // proved: there is no mapping (at the asked interval, if one was)
  // Why there is none without additional pass-throughs, among what the mapper looks at, where there
  // may be one with them; else "".
  std::string none_without_passes;
  int64_t steps = 0;
  double seconds = 0;
  std::vector<MapProgress> progress;
};

// A mapper finds a mapping with a small initiation interval and, at that interval, a small latency.
// Map keeps nothing between calls, and its result depends on the arguments alone unless
// MapOptions::seconds limits the time.
class Mapper {
 public:
  virtual ~Mapper() = default;
  // Maps a graph that VerifyAndSort accepted. A graph without a mapping is no error. Errors: those
  // of BuildProblem; options that make no sense.
  virtual StatusOr<MapResult> Map(const ComputationGraph& graph, const Config& config,
                                  const MapOptions& options) const = 0;
};

// A row of the table of mappers.
struct MapperRow {
  std::string_view name;  // "exact"
  std::string_view what;  // one line for --help
  std::unique_ptr<Mapper> (*make)();
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_MAPPER_H_
