// Fuzz target: passes any text to the reader of mappings, as one of several graphs. It must reject
// the text with one line, or the mapping must survive a round trip, and the checker must give a
// verdict on it for machines of several modes.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/support/check.h"
#include "kiln/targets/cgra/check/check.h"
#include "kiln/targets/cgra/graph/mapping_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"

namespace {

using namespace kiln::cgra;  // NOLINT: a program of one file

std::array<Config, 4> MakeMachines() {
  std::array<Config, 4> machines;
  machines[1].relaxed_distance = true;
  machines[1].rows = machines[1].columns = 4;
  machines[1].tile_period = 2;
  machines[2].feedback = machines[2].issue_later = machines[2].asynchronous_loads = false;
  machines[2].wait_limit = 3;
  machines[3].one_output = machines[3].every_source_starts = machines[3].cut_loops = true;
  machines[3].columns = 64;
  return machines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::array<ComputationGraph, 3> graphs = {
      *MakeNamedGraph("distance"), *MakeNamedGraph("fir-4"), *MakeNamedGraph("fft")};
  static const std::array<Config, 4> machines = MakeMachines();
  for (const ComputationGraph& graph : graphs) {
    const auto mapping = ParseMapping(text, "fuzz", graph);
    if (!mapping.ok()) continue;
    const auto again = ParseMapping(PrintMapping(*mapping, graph), "again", graph);
    KILN_CHECK(again.ok() && *again == *mapping);
    for (const Config& machine : machines) {
      const Verdict verdict = CheckMapping(graph, machine, *mapping);
      KILN_CHECK(verdict.legal() == PrintVerdict(verdict).empty());
    }
  }
  return 0;
}
